"""Bring an older example up to a newer schema: keep its values and fill in the missing ones."""

import json
from dataclasses import dataclass
from typing import Any

from tests.github.contract.dialect import Schema
from tests.github.contract.validators import Validators

_BY_FORMAT = {
    "uri": "https://api.github.com/",
    "uri-template": "https://api.github.com/{/id}",
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "email": "octocat@github.com",
}
_BY_TYPE: dict[str, Any] = {"string": "", "integer": 1, "number": 1, "boolean": False, "null": None}


class CannotComplete(Exception):
    """No value could be built that the schema accepts."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Builds values for the schemas of one document (OpenAPI, annotations such as `example` kept)."""

    schemas: dict[str, Schema]
    validators: Validators

    def complete(self, schema: Schema, value: Any) -> Any:
        """Change the value only where the schema refuses it; raises CannotComplete."""
        built = self._complete(schema, value)
        if not self._accepts(schema, built):
            errors = self.validators.errors(_key(schema), schema, built)
            raise CannotComplete(f"{errors[:5]}")
        return built

    def _complete(self, schema: Schema, value: Any) -> Any:
        schema = self._resolve(schema)
        if self._accepts(schema, value):
            return value
        for branches in (schema.get("oneOf"), schema.get("anyOf")):
            if branches:
                value = self._first_fitting(branches, value)
        for part in schema.get("allOf", ()):
            value = self._complete(part, value)
        if isinstance(value, dict) and _allows(schema, "object"):
            return self._object(schema, value)
        if isinstance(value, list) and _allows(schema, "array"):
            return [self._complete(schema.get("items", {}), item) for item in value]
        return value if self._accepts(schema, value) else self._invent(schema)

    def _object(self, schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
        properties: dict[str, Schema] = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False
        built = {
            name: self._complete(properties[name], item) if name in properties else item
            for name, item in value.items()
            if name in properties or not closed
        }
        for name in schema.get("required", ()):
            if name not in built:
                built[name] = self._invent(properties.get(name, {}))
        return built

    def _first_fitting(self, branches: list[Schema], value: Any) -> Any:
        """Fit the first branch that keeps the value's type, or else the first that fits."""
        tried = [(branch, self._complete(branch, value)) for branch in branches]
        fitting = [candidate for branch, candidate in tried if self._accepts(branch, candidate)]
        return next((item for item in fitting if type(item) is type(value)), (*fitting, value)[0])

    def _invent(self, schema: Schema) -> Any:
        """Invent a small value that the schema accepts: GitHub's own example first, then null."""
        schema = self._resolve(schema)
        for candidate in (*_list_offers(schema), None):
            if self._accepts(schema, candidate):
                return candidate
        for branches in (schema.get("oneOf"), schema.get("anyOf")):
            if branches:
                return self._invent(branches[0])
        if _allows(schema, "object") or "allOf" in schema:
            return self._complete_from_nothing(schema)
        return []

    def _complete_from_nothing(self, schema: Schema) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for part in schema.get("allOf", ()):
            built |= self._complete_from_nothing(self._resolve(part))
        return self._object(schema, built)

    def _resolve(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def _accepts(self, schema: Schema, value: Any) -> bool:
        return self.validators.accepts(_key(schema), schema, value)


def _list_offers(schema: Schema) -> list[Any]:
    offered = [schema[key] for key in ("example", "default") if key in schema]
    offered += schema.get("examples", [])
    if "enum" in schema:
        offered.append(schema["enum"][0])
    if "format" in schema and schema["format"] in _BY_FORMAT:
        offered.append(_BY_FORMAT[schema["format"]])
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name in _BY_TYPE:
            offered.append(_BY_TYPE[name])
    return offered


def _allows(schema: Schema, name: str) -> bool:
    """Return whether a value of that type may fit; properties without a type mean an object."""
    if "type" not in schema:
        return name == "object" and "properties" in schema
    types = schema["type"]
    return name in types if isinstance(types, list) else name == types


def _key(schema: Schema) -> str:
    return json.dumps(schema, sort_keys=True)
