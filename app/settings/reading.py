"""How settings are read from the environment, and how a mistake in them is told."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class SettingsError(SystemExit):
    """Settings that can't be used; the message names each variable, what is wrong and the fix."""


class Settings(BaseSettings):
    """What every kind of settings is: read once from `R4P_…`, then fixed."""

    model_config = SettingsConfigDict(env_prefix="R4P_", frozen=True, extra="ignore")


Kind = TypeVar("Kind", bound=Settings)


def load(kind: type[Kind]) -> Kind:
    """Settings of one kind from the environment. Raises SettingsError with one line per mistake."""
    try:
        return kind()
    except ValidationError as error:
        raise _refusal([_line(kind, problem) for problem in error.errors()]) from None


def check(*kinds: type[Settings]) -> None:
    """Raises SettingsError with every mistake in settings of these kinds at once."""
    lines = []
    for kind in kinds:
        try:
            kind()
        except ValidationError as error:
            lines += [_line(kind, problem) for problem in error.errors()]
    if lines:
        raise _refusal(list(dict.fromkeys(lines)))


def _refusal(lines: list[str]) -> SettingsError:
    return SettingsError("r4p: cannot start:\n" + "\n".join(lines))


def _line(kind: type[Settings], problem: Mapping[str, object]) -> str:
    location = problem["loc"]
    name = str(location[0]) if isinstance(location, tuple) and location else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "missing":
        message = "is not set"
    if not name:
        return f"  {message}"
    hint = kind.model_fields[name].annotation
    return f"  R4P_{name.upper()}: {message} (expected {getattr(hint, '__name__', hint)})"
