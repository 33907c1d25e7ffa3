"""JSON as GitHub writes it: UTF-8, no NaN, no key twice (pure)."""

import json
from typing import Any


class NotJson(ValueError):
    """The bytes are not strict JSON; the message gives the reason."""


def parse(body: bytes) -> Any:
    """Parse strict JSON; raises NotJson."""
    try:
        return json.loads(body.decode(), parse_constant=_refuse, object_pairs_hook=_once)
    except ValueError as error:  # also UnicodeDecodeError
        raise NotJson(f"body is not JSON: {error}") from error


def _refuse(name: str) -> None:
    raise NotJson(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise NotJson(f"keys occur twice: {sorted({n for n in names if names.count(n) > 1})}")
    return value
