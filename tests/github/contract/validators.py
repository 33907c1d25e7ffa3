"""Compiled JSON Schema validators for the parts of one OpenAPI document, made when first asked for."""

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind

from tests.github.contract.dialect import Schema, to_json_schema

MAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Validators:
    """Validators over one document's `components.schemas` and whatever is inlined elsewhere."""

    base: str
    registry: jsonschema_rs.Registry
    _compiled: dict[str, jsonschema_rs.Draft202012Validator] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, schemas: dict[str, Schema]) -> "Validators":
        """`schemas` maps names to OpenAPI schemas, which may refer to each other as components."""
        base = f"urn:github:{name}"
        converted = {key: to_json_schema(schema, base) for key, schema in schemas.items()}
        document: dict[str, Any] = {"components": {"schemas": converted}}
        return cls(base, jsonschema_rs.Registry([(base, document)]))

    def errors(self, key: str, schema: Schema, value: object) -> list[str]:
        """List the problems of a value as `path: message`; `key` names the schema uniquely."""
        problems = []
        for error in self._validator(key, schema).iter_errors(value):
            path = "/".join(str(step) for step in error.instance_path)
            problems.append(f"/{path}: {shorten(error.message)}")
            if len(problems) == MAX_ERRORS:
                break
        return problems

    def find_undeclared(
        self, schema: Schema, value: object
    ) -> tuple[list[str | int], list[str]] | None:
        """Return the innermost object with undeclared keys, and those keys, or None."""
        problems = [
            (error.instance_path, list(error.kind.unexpected))
            for error in self._validator(json.dumps(schema), schema).iter_errors(value)
            if isinstance(error.kind, ValidationErrorKind.UnevaluatedProperties)
        ]
        return max(problems, key=lambda item: len(item[0]), default=None)

    def accepts(self, key: str, schema: Schema, value: object) -> bool:
        """Return whether the value has no error."""
        return self._validator(key, schema).is_valid(value)

    def _validator(self, key: str, schema: Schema) -> jsonschema_rs.Draft202012Validator:
        if key not in self._compiled:
            self._compiled[key] = jsonschema_rs.Draft202012Validator(
                to_json_schema(schema, self.base), registry=self.registry, validate_formats=True
            )
        return self._compiled[key]


def shorten(message: str, limit: int = 300) -> str:
    """Shorten a message by the middle of a long quoted value."""
    if len(message) <= limit:
        return message
    half = limit // 2
    return f"{message[:half]} … {message[-half:]}"
