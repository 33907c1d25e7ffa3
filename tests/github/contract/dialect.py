"""GitHub's OpenAPI schemas as JSON Schema draft 2020-12; no file and no validator lives here."""

from collections.abc import Callable, Iterator
from typing import Any

_NULL: dict[str, Any] = {"type": "null"}

Schema = dict[str, Any]

_MAPS_OF_SCHEMAS = ("properties", "patternProperties")
_LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf")
_SCHEMAS = ("items", "additionalProperties", "not")
_COMBINATORS = frozenset(_LISTS_OF_SCHEMAS) | {"$ref"}


def rewrite(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a copy in which `change` was applied to every schema, innermost first.

    Names of properties are never taken for keywords: a property called `nullable` or
    `description` stays.
    """
    copy: Schema = {}
    for key, value in schema.items():
        if key in _MAPS_OF_SCHEMAS:
            copy[key] = {name: rewrite(child, change) for name, child in value.items()}
        elif key in _LISTS_OF_SCHEMAS:
            copy[key] = [rewrite(child, change) for child in value]
        elif key in _SCHEMAS and isinstance(value, dict):
            copy[key] = rewrite(value, change)
        else:
            copy[key] = value
    return change(copy)


def references(schema: Schema) -> Iterator[str]:
    """Every `$ref` in the schema, in order of appearance, repetitions included."""
    targets: list[str] = []

    def note(node: Schema) -> Schema:
        if "$ref" in node:
            targets.append(node["$ref"])
        return node

    rewrite(schema, note)
    yield from targets


def without_nullable(schema: Schema) -> Schema:
    """An OpenAPI 3.0 schema with `nullable: true` spelt as a union with null.

    GitHub marks enums nullable without listing null among the values, which by the letter of
    OpenAPI 3.0.3 would forbid null; what GitHub sends and documents is that null is allowed.
    """
    if "nullable" not in schema:
        return schema
    plain = {key: value for key, value in schema.items() if key != "nullable"}
    if not schema["nullable"]:
        return plain
    if _COMBINATORS & plain.keys():
        return {"anyOf": [plain, _NULL]}
    if "enum" in plain and None not in plain["enum"]:
        plain["enum"] = [*plain["enum"], None]
    if "type" in plain:
        plain["type"] = [plain["type"], "null"]
    return plain


def absolute_references(schema: Schema, base: str) -> Schema:
    """A schema whose `#/...` reference names the document it points into."""
    if str(schema.get("$ref", "")).startswith("#"):
        return {**schema, "$ref": base + schema["$ref"]}
    return schema


def to_json_schema(schema: Schema, base: str) -> Schema:
    """The schema as draft 2020-12; `base` is the URI under which its document is registered."""
    return rewrite(schema, lambda node: absolute_references(without_nullable(node), base))
