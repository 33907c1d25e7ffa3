"""Reads verified but hostile JSON: every value taken out is checked, cleaned and capped (pure).

What the values mean is said in `app.events.parser`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from app.values.identifiers import CommitSha

BODY_LIMIT = 65_536
"""Characters GitHub allows in a comment or issue body."""

_INT64_MAX = 2**63 - 1
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number"}


class UnreadableError(ValueError):
    """The payload is not what GitHub documents; the message names the field."""


def clean(text: str, limit: int) -> str:
    """`text` as PostgreSQL and UTF-8 can hold it: no NUL, no lone surrogate, at most `limit` long."""
    kept = text[:limit]
    if kept.isascii() and "\0" not in kept:
        return kept
    return kept.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def read(body: bytes) -> "Payload":
    """The object in `body`. Raises UnreadableError for anything else, whatever it is made of."""
    try:
        value = json.loads(body.decode("utf-8"))
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
    except ValueError as error:
        raise UnreadableError(f"not JSON in UTF-8 ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise UnreadableError("not a JSON object")
    return Payload(value)


@dataclass(frozen=True, slots=True)
class Payload:
    """One object of the payload and the path that leads to it.

    Each reader raises UnreadableError when the field is missing or of another kind; those that
    may answer None do so for null and for a missing field.
    """

    _fields: dict[str, object]
    _path: str = ""

    def part(self, name: str) -> "Payload":
        return self.maybe_part(name) or self._refuse(name, dict)

    def maybe_part(self, name: str) -> "Payload | None":
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._refuse(name, dict)
        return Payload(value, f"{self._path}{name}.")

    def parts(self, name: str) -> Iterator["Payload"]:
        """The objects of a list; a missing list is an empty one."""
        for place, value in enumerate(self._list(name)):
            if not isinstance(value, dict):
                self._refuse(f"{name}[{place}]", dict)
            yield Payload(value, f"{self._path}{name}[{place}].")

    def texts(self, name: str, limit: int) -> Iterator[str]:
        """The texts of a list; a missing list is an empty one."""
        for place, value in enumerate(self._list(name)):
            if not isinstance(value, str):
                self._refuse(f"{name}[{place}]", str)
            yield clean(value, limit)

    def text(self, name: str, limit: int) -> str:
        value = self.maybe_text(name, limit)
        return value if value is not None else self._refuse(name, str)

    def maybe_text(self, name: str, limit: int) -> str | None:
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value if value is None else clean(value, limit)
        return self._refuse(name, str)

    def number(self, name: str) -> int:
        """A whole number from 0 up to what a 64-bit column holds."""
        value = self._fields.get(name)
        if type(value) is not int or not 0 <= value <= _INT64_MAX:
            return self._refuse(name, int)
        return value

    def flag(self, name: str) -> bool:
        """True or false; null and missing are false, as in older GitHub Enterprise releases."""
        value = self._fields.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        return self._refuse(name, bool)

    def sha(self, name: str) -> CommitSha:
        return self.maybe_sha(name) or self._refuse(name, str)

    def maybe_sha(self, name: str) -> CommitSha | None:
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not _SHA.fullmatch(value):
            raise UnreadableError(f"{self._path}{name} is not a commit SHA")
        return CommitSha(value)

    def moment(self, name: str) -> datetime | None:
        """A point in time, in UTC; None as well when it can't be read, for nothing depends on it."""
        value = self._fields.get(name)
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
            return moment.astimezone(UTC) if moment and moment.tzinfo else None
        except (ValueError, OverflowError):
            return None

    def _list(self, name: str) -> list[object]:
        value = self._fields.get(name)
        if value is None:
            return []
        return value if isinstance(value, list) else self._refuse(name, list)

    def _refuse(self, name: str, kind: type) -> NoReturn:
        # A place in a list isn't a field: it is there, or it would not be refused.
        there = name.endswith("]") or self._fields.get(name) is not None
        state = "malformed" if there else "missing"
        raise UnreadableError(f"{self._path}{name} is {state}: it should be {_KINDS[kind]}")
