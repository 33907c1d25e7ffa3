"""This module reads frozen dataclasses from untrusted JSON and refuses a value whose type does not fit (pure).

A field's key in JSON is its name, or `metadata["key"]` of the field. `dump` writes what `read` reads.

Pydantic's TypeAdapter would need a configuration on every dataclass to refuse unknown fields, and an annotation on
every number to refuse NaN and numbers beyond 2**53.
"""

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

MAX_INTEGER = 2**53
"""The largest whole number that every JSON reader represents exactly."""
MAX_DEPTH = 16
"""The deepest nesting of a field of type Any."""


def read(kind: type[T], value: Any) -> T:
    """Build an instance of the dataclass `kind` from `value`, the parsed JSON of an instance's `dump`.

    Fields may be dataclasses, text, numbers, booleans, `StrEnum`s, tuples and mappings of these, Any, and each of them
    or None. Raises ValueError or TypeError that name the field and its value.
    """
    result: T = _read_record(kind, value)
    return result


def _read_record(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{kind.__name__} is {_shorten(value)}, not an object")
    known_keys = _get_fields(kind)
    if unknown := [key for key in value if key not in known_keys]:
        raise ValueError(f"{kind.__name__} has no field {_shorten(unknown[0])}")
    items = {known_keys[key][0]: _read_field(kind, key, item) for key, item in value.items()}
    return kind(**items)


def dump(value: Any) -> Any:
    """Return a dataclass instance as plain data for JSON, as `asdict` does, with the fields' keys."""
    if is_dataclass(value):
        return {get_key(field): dump(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: dump(item) for key, item in value.items()}
    return [dump(item) for item in value] if isinstance(value, list | tuple) else value


def get_key(field: Field[Any]) -> str:
    """Return the key of a dataclass's field in JSON."""
    return str(field.metadata.get("key", field.name))


def _read_field(kind: Any, key: str, value: Any) -> Any:
    try:
        return _read_value(_get_fields(kind)[key][1], value)
    except _WrongType as error:
        raise TypeError(f"{kind.__name__}.{key} holds {_shorten(error.args[0])}") from None


@cache
def _get_fields(kind: Any) -> dict[str, tuple[str, Any]]:
    """Return (name, type) of each field by its key in JSON."""
    hints = get_type_hints(kind)
    return {get_key(field): (field.name, hints[field.name]) for field in fields(kind)}


class _WrongType(Exception):
    """A value has the wrong type. The argument is the value."""


def _read_value(hint: Any, value: Any) -> Any:
    hint = getattr(hint, "__supertype__", hint)  # of a NewType
    inner = get_args(hint)
    match get_origin(hint) or hint:
        case kind if kind is Any:
            return _check_depth(value, MAX_DEPTH)
        case kind if kind is UnionType:
            return None if value is None and NoneType in inner else _read_value(inner[0], value)
        case kind if kind is tuple:
            return _read_items(inner, value)
        case kind if kind is Mapping:
            return {
                name: _read_value(inner[1], item)
                for name, item in _require_type(dict, value).items()
            }
        case kind:
            return _read_record(kind, value) if is_dataclass(kind) else _read_scalar(kind, value)


def _read_items(inner: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    items = _require_type(list, value)
    hints = inner[:1] * len(items) if inner[-1] is Ellipsis else inner
    if len(items) != len(hints):
        raise _WrongType(value)
    return tuple(_read_value(hint, item) for hint, item in zip(hints, items, strict=True))


def _read_scalar(kind: type, value: Any) -> Any:
    """Read text, a boolean or a number. A whole number may stand for a float, a boolean for neither."""
    if issubclass(kind, StrEnum):
        return kind(_require_type(str, value))
    if kind in {str, bool}:
        return _require_type(kind, value)
    is_number = isinstance(value, int if kind is int else int | float)
    # A bool is an int in Python, so it is excluded first.
    if isinstance(value, bool) or not is_number or not abs(value) <= MAX_INTEGER:  # False for NaN
        raise _WrongType(value)
    return value


def _require_type(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _WrongType(value)
    return value


def _check_depth(value: Any, depth: int) -> Any:
    """Refuse JSON that is too deep to be copied or written again."""
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        if not depth:
            raise _WrongType(value)
        for item in items:
            _check_depth(item, depth - 1)
    return value


def _shorten(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:79]}…"
