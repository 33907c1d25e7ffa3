"""Reads verified but hostile JSON: each value is checked, cleaned and cut to its limit (pure).

`app.events.parser` knows what the values mean.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from app.values.identifiers import CommitSha

BODY_LIMIT = 65_536
"""Most characters that GitHub allows in a comment or an issue's text."""

_INT64_MAX = 2**63 - 1
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number"}


class UnreadableError(ValueError):
    """A webhook payload differs from GitHub's documentation. The message names the field."""


def clean_text(text: str, limit: int) -> str:
    """Return a text cut to `limit` characters, without NUL and lone surrogates.

    PostgreSQL could not store those.
    """
    kept = text[:limit]
    if kept.isascii() and "\0" not in kept:
        return kept
    return kept.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def read_payload(body: bytes) -> "Payload":
    """Return the JSON object in a webhook's body. Raises UnreadableError if the body holds anything else."""
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
    """One JSON object of a webhook payload, with its path in the payload.

    A reader raises UnreadableError when a field is missing or of another kind. Readers named `find_…` return None for
    null and for a missing field.
    """

    _fields: dict[str, object]
    _path: str = ""

    def get_object(self, name: str) -> "Payload":
        return self.find_object(name) or self._refuse(name, dict)

    def find_object(self, name: str) -> "Payload | None":
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._refuse(name, dict)
        return Payload(value, f"{self._path}{name}.")

    def list_objects(self, name: str) -> Iterator["Payload"]:
        """Yield the JSON objects in the list of the field `name`. A missing list is empty."""
        for place, value in enumerate(self._get_list(name)):
            if not isinstance(value, dict):
                self._refuse(f"{name}[{place}]", dict)
            yield Payload(value, f"{self._path}{name}[{place}].")

    def list_texts(self, name: str, limit: int) -> Iterator[str]:
        """Yield the texts in the list of the field `name`, each cut to `limit` characters. A missing list is empty."""
        for place, value in enumerate(self._get_list(name)):
            if not isinstance(value, str):
                self._refuse(f"{name}[{place}]", str)
            yield clean_text(value, limit)

    def get_text(self, name: str, limit: int) -> str:
        value = self.find_text(name, limit)
        return value if value is not None else self._refuse(name, str)

    def find_text(self, name: str, limit: int) -> str | None:
        value = self._fields.get(name)
        if value is None or isinstance(value, str):
            return value if value is None else clean_text(value, limit)
        return self._refuse(name, str)

    def get_number(self, name: str) -> int:
        """Return the whole number in the field `name`, 0 to 2⁶³ - 1. Raises UnreadableError for other values."""
        value = self._fields.get(name)
        if type(value) is not int or not 0 <= value <= _INT64_MAX:
            return self._refuse(name, int)
        return value

    def get_flag(self, name: str) -> bool:
        """Return the boolean in the field `name`. Raises UnreadableError for a value of another type.

        A null or missing field means False, because older GitHub Enterprise releases omit fields.
        """
        value = self._fields.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        return self._refuse(name, bool)

    def get_sha(self, name: str) -> CommitSha:
        return self.find_sha(name) or self._refuse(name, str)

    def find_sha(self, name: str) -> CommitSha | None:
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not _SHA.fullmatch(value):
            raise UnreadableError(f"{self._path}{name} is not a commit SHA")
        return CommitSha(value)

    def find_time(self, name: str) -> datetime | None:
        """Return the time in the field `name` in UTC; None if it is missing or unreadable.

        An unreadable time is no error: the time of the arrival takes its place.
        """
        value = self._fields.get(name)
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
            return moment.astimezone(UTC) if moment and moment.tzinfo else None
        except (ValueError, OverflowError):
            return None

    def _get_list(self, name: str) -> list[object]:
        value = self._fields.get(name)
        if value is None:
            return []
        return value if isinstance(value, list) else self._refuse(name, list)

    def _refuse(self, name: str, kind: type) -> NoReturn:
        # An item of a list always exists here; only a field can be missing.
        there = name.endswith("]") or self._fields.get(name) is not None
        state = "malformed" if there else "missing"
        raise UnreadableError(f"{self._path}{name} is {state}: it should be {_KINDS[kind]}")
