"""How settings are read from the environment, and how a mistake in them is told."""

import sys
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.settings.environment import variables
from app.settings.foreign_variables import OTHER_NAMES, PREFIX, is_service_link
from app.values.suggestion import nearest

USAGE = 2
"""The exit code of the command line for what the person who started it can put right."""


class SettingsError(SystemExit):
    """Settings that can't be used; the message names each variable, what is wrong and the fix."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = USAGE


class Settings(BaseSettings):
    """What every kind of settings is: read once from `R4P_…`, then fixed."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", use_attribute_docstrings=True
    )


Kind = TypeVar("Kind", bound=Settings)


def load(kind: type[Kind]) -> Kind:
    """Settings of one kind from the environment. Raises SettingsError with one line per mistake."""
    check()
    try:
        return kind()
    except ValidationError as error:
        refuse(_lines(kind, error))


def check(*kinds: type[Settings], further: list[str] | None = None) -> None:
    """Raises SettingsError with every mistake in settings of these kinds at once, and the further ones."""
    if lines := [*_unknown(), *mistakes(*kinds), *(further or [])]:
        refuse(list(dict.fromkeys(lines)))


def mistakes(*kinds: type[Settings]) -> list[str]:
    """What is wrong with settings of these kinds, one line per mistake."""
    lines = []
    for kind in kinds:
        try:
            kind()
        except ValidationError as error:
            lines += _lines(kind, error)
    return lines


def refuse(lines: list[str]) -> NoReturn:
    """Print the mistakes and raise SettingsError.

    Python prints no message of a SystemExit that has a number as its exit code.
    """
    message = "\n".join(["r4p: cannot start:", *(f"  {line}" for line in lines)])
    sys.stderr.write(f"{message}\n")
    raise SettingsError(message)


def known_names() -> frozenset[str]:
    """Every `R4P_…` name that has a use, in capitals."""
    return frozenset(_setting_names()) | OTHER_NAMES


def _setting_names() -> list[str]:
    return [
        f"{PREFIX}{name.upper()}" for kind in _kinds(Settings) for name in sorted(kind.model_fields)
    ]


def _kinds(kind: type[Settings]) -> Iterator[type[Settings]]:
    for one in kind.__subclasses__():
        yield one
        yield from _kinds(one)


def _unknown() -> list[str]:
    """Variables with our prefix that nothing reads: most are typing errors."""
    names, known = _setting_names(), known_names()
    ours = {name: value for name, value in variables().items() if name.upper().startswith(PREFIX)}
    return [
        f"{name}: no setting has this name; {_fix(name.upper(), names)}"
        for name, value in sorted(ours.items())
        if name.upper() not in known and not is_service_link(name, value)
    ]


def _fix(name: str, names: list[str]) -> str:
    bare = [one.removeprefix(PREFIX) for one in names]
    near = nearest(name.removeprefix(PREFIX), bare)
    return f"did you mean {PREFIX}{near}?" if near else "unset it"


def _lines(kind: type[Settings], error: ValidationError) -> list[str]:
    problems = error.errors(include_url=False)
    return list(dict.fromkeys(_line(kind, problem) for problem in problems))


def _line(kind: type[Settings], problem: ErrorDetails) -> str:
    """One mistake; the values of secrets are not shown."""
    own = str(problem["msg"]).removeprefix("Value error, ")
    if not problem["loc"]:
        return own
    field = str(problem["loc"][0])
    name = f"{PREFIX}{field.upper()}"
    if problem["type"] == "value_error":
        return f"{name}: {own}"
    schema = kind.model_json_schema()
    expected = _form(schema["properties"][field], schema)
    if problem["type"] == "missing":
        meaning = (kind.model_fields[field].description or "").rstrip(".")
        return f"{name}: is not set: give {expected}" + (f" ({meaning})" if meaning else "")
    verb = "choose" if " or " in expected else "give"
    return f"{name}: can't be {problem['input']!r}: {verb} {expected}"


def _form(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What a value looks like, by its JSON Schema."""
    if "anyOf" in field:
        return _form(next(one for one in field["anyOf"] if one.get("type") != "null"), schema)
    if "$ref" in field or "allOf" in field:
        reference = field.get("$ref") or field["allOf"][0]["$ref"]
        return _form(schema["$defs"][reference.rpartition("/")[2]], schema)
    if "enum" in field:
        *most, last = field["enum"]
        return f"{', '.join(most)} or {last}"
    match field.get("type"):
        case "boolean":
            return "true or false"
        case "integer" | "number":
            return _number(field)
        case _:
            return "a text"


def _number(field: dict[str, Any]) -> str:
    kind = "a whole number" if field["type"] == "integer" else "a number"
    least, most, above = (field.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f"{kind} from {least:g} to {most:g}"
    if least is not None:
        return f"{kind} of at least {least:g}"
    return kind if above is None else f"{kind} greater than {above:g}"
