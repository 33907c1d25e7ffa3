"""Makes schemas refuse keys they do not declare (pure).

GitHub's schemas allow any further key, so a misspelt optional key would pass. An answer that we
make up ourselves has no business with keys GitHub does not document.
"""

from collections.abc import Iterator, Mapping

from tests.github.contract.dialect import Schema, rewrite

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")


def close(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Close every level of the schema below its own; the schema that refers to it closes that one."""
    return rewrite(schema, lambda node: _with_closed_children(node, schemas))


def close_root(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Close the schema at all levels."""
    return _close_level(close(schema, schemas), schemas)


def _with_closed_children(node: Schema, schemas: Mapping[str, Schema]) -> Schema:
    changed = dict(node)
    if "properties" in node:
        properties = node["properties"]
        changed["properties"] = {
            name: _close_level(item, schemas) for name, item in properties.items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            changed[key] = _close_level(node[key], schemas)
    return changed


def _close_level(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Close one level, unless an alternative is an object without declared properties."""
    objects = [item for item in _leaves(schema, schemas, frozenset()) if _may_be_object(item)]
    if "additionalProperties" in schema or not objects:
        return schema
    if all(item.get("properties") for item in objects):
        return {**schema, "unevaluatedProperties": False}
    return schema


def _may_be_object(schema: Schema) -> bool:
    return "enum" not in schema and "object" in schema.get("type", "object")


def _leaves(
    schema: Schema, schemas: Mapping[str, Schema], seen: frozenset[str]
) -> Iterator[Schema]:
    """Return the alternatives of a schema, with references followed."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        yield from _leaves(schemas[name], schemas, seen | {name})
    parts = [part for key in _ALTERNATIVES for part in schema.get(key, ())]
    for part in parts:
        yield from _leaves(part, schemas, seen)
    if not name and (not parts or "properties" in schema):
        yield schema
