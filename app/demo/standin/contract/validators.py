"""Compiled JSON Schema validators for the parts of one OpenAPI document, made when first asked for."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from app.demo.standin.contract.dialect import to_json_schema

MAX_ERRORS = 20


def pointer(*keys: str) -> str:
    """A JSON pointer as a URI fragment, every key escaped."""
    escaped = (key.replace("~", "~0").replace("/", "~1") for key in keys)
    return "#/" + "/".join(quote(key, safe="~") for key in escaped)


@dataclass(frozen=True, slots=True)
class Validators:
    """Validators over one document's `components.schemas` and whatever is inlined elsewhere."""

    base: str
    registry: jsonschema_rs.Registry
    _compiled: dict[str, jsonschema_rs.Draft202012Validator] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, schemas: dict[str, Any]) -> "Validators":
        """`schemas` maps names to OpenAPI schemas, which may refer to each other as components."""
        base = f"urn:github:{name}"
        converted = {key: to_json_schema(schema, base) for key, schema in schemas.items()}
        document: dict[str, Any] = {"components": {"schemas": converted}}
        return cls(base, jsonschema_rs.Registry([(base, document)]))

    def errors(self, key: str, schema: dict[str, Any], value: object) -> list[str]:
        """What is wrong with the value, one `path: message` each; `key` names the schema uniquely."""
        found = []
        for error in self._validator(key, schema).iter_errors(value):
            path = "/".join(str(step) for step in error.instance_path)
            found.append(f"/{path}: {shortened(error.message)}")
            if len(found) == MAX_ERRORS:
                break
        return found

    def accepts(self, key: str, schema: dict[str, Any], value: object) -> bool:
        """Whether the value has no error."""
        return self._validator(key, schema).is_valid(value)

    def _validator(self, key: str, schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
        if key not in self._compiled:
            self._compiled[key] = jsonschema_rs.Draft202012Validator(
                to_json_schema(schema, self.base), registry=self.registry, validate_formats=True
            )
        return self._compiled[key]


def shortened(message: str, limit: int = 300) -> str:
    """The message without the middle of a quoted value that would fill the screen."""
    if len(message) <= limit:
        return message
    half = limit // 2
    return f"{message[:half]} … {message[-half:]}"
