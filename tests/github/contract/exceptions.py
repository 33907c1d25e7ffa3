"""Answers that GitHub gives without declaring them, and the form of their bodies (pure)."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Body(StrEnum):
    """The kind of body of an answer without a JSON schema."""

    NONE = "none"
    ERROR = "error"
    """A JSON object with GitHub's `message`."""
    DIFF = "diff"
    PATCH = "patch"
    HTML = "html"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class DeclaredElsewhere:
    """An entry of `exceptions.toml`."""

    id: str
    operations: frozenset[str]
    statuses: frozenset[int]
    media_types: frozenset[str]
    body: Body
    link: str
    """Where GitHub, or somebody who met it, documents the answer."""

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> "DeclaredElsewhere":
        """Raises KeyError if the entry lacks a field, ValueError if its body kind is unknown."""
        return cls(
            id=entry["id"],
            operations=frozenset(entry["operations"]),
            statuses=frozenset(entry["statuses"]),
            media_types=frozenset(entry["media_types"]),
            body=Body(entry["body"]),
            link=entry["link"],
        )

    def covers(self, operation_id: str, status: int, media_type: str) -> bool:
        """Return whether the entry covers this answer; "" stands for no media type."""
        return (
            status in self.statuses
            and (operation_id in self.operations or "*" in self.operations)
            and (media_type in self.media_types or self.body is Body.NONE)
        )


DECLARED_TEXTS = {
    "application/vnd.github.diff": Body.DIFF,
    "application/vnd.github.patch": Body.PATCH,
    "application/vnd.github.sha": Body.TEXT,
}
"""Declared media types that are not JSON, though their schema may say string."""


def find(
    entries: Iterable[DeclaredElsewhere], operation_id: str, status: int, media_type: str
) -> DeclaredElsewhere | None:
    """Return the first entry that covers the answer."""
    return next((item for item in entries if item.covers(operation_id, status, media_type)), None)


def check_body(kind: Body, body: bytes) -> list[str]:
    """List the problems of a body that no schema describes."""
    if kind is Body.NONE:
        return ["has a body, but must have none"] if body else []
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return [f"body is not UTF-8: {error}"]
    if kind is Body.ERROR:
        return check_error(text)
    starts = {Body.DIFF: "diff --git ", Body.PATCH: "From ", Body.HTML: "<"}
    if kind in starts and text and not text.lstrip().startswith(starts[kind]):
        return [f"body should start with {starts[kind]!r}, not {text[:20]!r}"]
    return []


def check_error(text: str) -> list[str]:
    """List the problems of an error body."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return [f"body is not JSON: {error}"]
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return ["an error body must be an object with a string `message`"]
    wrong = [
        key
        for key in ("documentation_url", "status")
        if key in value and not isinstance(value[key], str)
    ]
    return [f"/{key}: must be a string in an error body" for key in wrong]
