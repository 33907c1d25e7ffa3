"""JSON as GitHub writes it: UTF-8, no NaN, no key twice (pure)."""

import json
from typing import Any


class NotJson(ValueError):
    """The bytes are not such JSON; the message says why."""


def parse(body: bytes) -> Any:
    """The value; raises NotJson."""
    try:
        return json.loads(body.decode(), parse_constant=_refused, object_pairs_hook=_once)
    except ValueError as error:  # also UnicodeDecodeError
        raise NotJson(f"body is not JSON: {error}") from error


def _refused(name: str) -> None:
    raise NotJson(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise NotJson(f"keys occur twice: {sorted({n for n in names if names.count(n) > 1})}")
    return value
