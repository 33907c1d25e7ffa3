"""Makes schemas refuse keys they do not declare (pure).

GitHub's schemas allow any further key, so a misspelt optional key would pass. An answer that we
make up ourselves has no business with keys GitHub does not document.
"""

from collections.abc import Iterator, Mapping

from tests.github.contract.dialect import Schema, rewrite

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")


def close(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """The schema with everything below its own level closed; its own level is the referrer's."""
    return rewrite(schema, lambda node: _with_closed_children(node, schemas))


def close_root(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """The schema closed at all levels."""
    return _closed(close(schema, schemas), schemas)


def _with_closed_children(node: Schema, schemas: Mapping[str, Schema]) -> Schema:
    changed = dict(node)
    if "properties" in node:
        properties = node["properties"]
        changed["properties"] = {name: _closed(item, schemas) for name, item in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            changed[key] = _closed(node[key], schemas)
    return changed


def _closed(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Not closed if some alternative is an object of no stated properties: anything goes there."""
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
    """The schemas without alternatives that this one is made of, references followed."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        yield from _leaves(schemas[name], schemas, seen | {name})
    parts = [part for key in _ALTERNATIVES for part in schema.get(key, ())]
    for part in parts:
        yield from _leaves(part, schemas, seen)
    if not name and (not parts or "properties" in schema):
        yield schema
