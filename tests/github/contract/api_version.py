"""Versions of GitHub's REST API: the stored one, and what the next one drops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.github.contract.dialect import Schema, rewrite
from tests.github.contract.documents import read_json

STORED: Final = "2022-11-28"
"""The version that `rest.json` and `webhooks.json.xz` describe."""
NEXT: Final = "2026-03-10"


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """A version of the API, as changes of the stored one. The stored version has no changes."""

    name: str
    patches: Mapping[str, Sequence[Schema]]
    """JSON merge patches (RFC 7396) by the name of the REST schema."""
    webhook_fields: frozenset[str]
    """Fields that deliveries lack."""

    @classmethod
    def load(cls, name: str) -> "ApiVersion":
        """Read the changes that lead to the version `name`."""
        if name == STORED:
            return cls(name, {}, frozenset())
        changes = read_json(f"changes-{name}.json")
        return cls(name, changes["schemas"], frozenset(changes["webhook_fields"]))

    @property
    def rest_fields(self) -> frozenset[str]:
        """Fields that answers lack."""
        return frozenset(
            field
            for patches in self.patches.values()
            for patch in patches
            for field, change in patch["properties"].items()
            if change is None
        )

    def upgrade_rest(self, schemas: Mapping[str, Schema]) -> dict[str, Schema]:
        """Return the stored REST schemas as this version has them."""
        upgraded = dict(schemas)
        for name, patches in self.patches.items():
            for patch in patches:
                upgraded[name] = merge(upgraded[name], patch)
        return upgraded

    def upgrade_webhook(self, schema: Schema) -> Schema:
        """Return a stored schema of a delivery as this version has it."""
        return rewrite(schema, self._drop_webhook_fields) if self.webhook_fields else schema

    def _drop_webhook_fields(self, node: Schema) -> Schema:
        kept = dict(node)
        if "properties" in node:
            kept["properties"] = {
                name: item
                for name, item in node["properties"].items()
                if name not in self.webhook_fields
            }
        if "required" in node:
            kept["required"] = [
                name for name in node["required"] if name not in self.webhook_fields
            ]
        return kept


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396): null removes a key, and a list replaces a list."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), change)
    return merged


def drop_fields(value: Any, names: frozenset[str]) -> Any:
    """Return a JSON value without the keys `names`, at every depth."""
    if isinstance(value, dict):
        return {k: drop_fields(item, names) for k, item in value.items() if k not in names}
    if isinstance(value, list):
        return [drop_fields(item, names) for item in value]
    return value
