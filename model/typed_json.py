"""Frozen values from JSON that anybody may have written: every field holds its type, or all of it is refused (pure)."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

MOST = 2**53
"""The largest whole number that every reader of JSON knows exactly."""
DEEPEST = 16
"""How deep JSON of no particular type may be."""


def read(kind: type[T], value: Any) -> T:
    """A value of that dataclass from what `json.loads` made of its `asdict`.

    Fields may be dataclasses, text, numbers, truths, `StrEnum`s, tuples and mappings of these, Any, and any of them
    or None. Raises ValueError or TypeError that say which field holds what it can't.
    """
    made: T = _record(kind, value)
    return made


def _record(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{kind.__name__} is {_shown(value)}, and no object")
    hints = _hints(kind)
    if unknown := [name for name in value if name not in hints]:
        raise ValueError(f"{kind.__name__} has no field {_shown(unknown[0])}")
    return kind(**{name: _field(kind, name, hints[name], one) for name, one in value.items()})


def _field(kind: Any, name: str, hint: Any, value: Any) -> Any:
    try:
        return _value(hint, value)
    except _Other as other:
        raise TypeError(f"{kind.__name__}.{name} holds {_shown(other.args[0])}") from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


class _Other(Exception):
    """A value that is not of the type; the value."""


def _value(hint: Any, value: Any) -> Any:
    inner = get_args(hint)
    match get_origin(hint) or hint:
        case kind if kind is Any:
            return _plain(value, DEEPEST)
        case kind if kind is UnionType:
            return None if value is None and NoneType in inner else _value(inner[0], value)
        case kind if kind is tuple:
            return _items(inner, value)
        case kind if kind is Mapping:
            return {name: _value(inner[1], one) for name, one in _of(dict, value).items()}
        case kind:
            return _record(kind, value) if is_dataclass(kind) else _scalar(kind, value)


def _items(inner: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    items = _of(list, value)
    hints = inner[:1] * len(items) if inner[-1] is Ellipsis else inner
    if len(items) != len(hints):
        raise _Other(value)
    return tuple(_value(hint, one) for hint, one in zip(hints, items, strict=True))


def _scalar(kind: type, value: Any) -> Any:
    """Whole numbers do for others, truths for none."""
    if issubclass(kind, StrEnum):
        return kind(_of(str, value))
    if kind in {str, bool}:
        return _of(kind, value)
    is_number = isinstance(value, int if kind is int else int | float)
    if isinstance(value, bool) or not is_number or not abs(value) <= MOST:  # as no NaN is
        raise _Other(value)
    return value


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _Other(value)
    return value


def _plain(value: Any, depth: int) -> Any:
    """JSON that is not too deep for whoever copies it or writes it again."""
    inside = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        if not depth:
            raise _Other(value)
        for one in inside:
            _plain(one, depth - 1)
    return value


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:79]}…"
