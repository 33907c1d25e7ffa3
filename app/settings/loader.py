"""Reads settings from the environment and describes mistakes in them."""

import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.settings.environment import read_environment
from app.values.text_matching import find_nearest

PREFIX = "R4P_"
OTHER_NAMES = frozenset(
    {
        "R4P_BENCH_PEERS",  # the benches: virtual environments of peers
        "R4P_DATA",  # tests and benches: the folder of the large data
        "R4P_PRIVATE_KEY_FILE",  # deploy/compose.yaml: the file that becomes a secret
        "R4P_WRITER_PRIVATE_KEY_FILE",  # likewise
    }
)
"""Variables with our prefix that are no settings."""
REMOVED = {
    "R4P_AGENT_SANDBOX": "agents always run in bubblewrap now: unset it, and let `r4p doctor` check that bubblewrap "
    "works where this worker runs"
}
"""Settings of earlier versions, and what to do instead."""
_SERVICE = re.compile(
    r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$"
)
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def is_service_link(name: str, value: str) -> bool:
    """Report whether Kubernetes, and not the operator, set the environment variable `name` to `value`.

    Kubernetes sets such variables in every pod for a service called `r4p` or `r4p-…`.
    """
    if _SERVICE.search(f"_{name}"):
        return True
    return name.endswith("_PORT") and _ADDRESS.match(value) is not None


USAGE = 2
"""Exit code for a mistake that the user of the command can fix."""


class SettingsError(SystemExit):
    """The settings are unusable. The message names each variable, its mistake and the fix."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = USAGE


class Settings(BaseSettings):
    """Base of all settings: read once from `R4P_…`, then frozen."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )


Kind = TypeVar("Kind", bound=Settings)


def load(kind: type[Kind]) -> Kind:
    """Return the settings class `kind` with its values from the environment.

    Raises SettingsError with one line for each mistake, unknown names included.
    """
    check(kind)
    return kind()


def check(*kinds: type[Settings], further: list[str] | None = None) -> None:
    """Raise SettingsError if the environment has mistakes for the settings classes `kinds`, or if `further` holds some.

    `further` holds mistakes that the caller knows, one line each. A variable `R4P_…` that no setting reads is a mistake
    too. The error's message lists all mistakes.
    """
    if lines := list_mistakes(*kinds, further=further):
        refuse(lines)


def list_mistakes(*kinds: type[Settings], further: list[str] | None = None) -> list[str]:
    """Return what `check` would refuse, one line each; empty: nothing."""
    lines = [*_describe_unknown(), *find_mistakes(*kinds), *(further or [])]
    return list(dict.fromkeys(lines))


def find_mistakes(*kinds: type[Settings]) -> list[str]:
    """Return the mistakes in the environment for the settings classes `kinds`, one line each; empty: none."""
    lines = []
    for kind in kinds:
        try:
            kind()
        except ValidationError as error:
            lines += _describe_mistakes(kind, error)
    return lines


def refuse(lines: list[str]) -> NoReturn:
    """Print the mistakes in `lines` to standard error, and raise SettingsError with them.

    Python itself prints no message for a SystemExit whose exit code is a number.
    """
    message = "\n".join(["r4p: cannot start:", *(f"  {line}" for line in lines)])
    sys.stderr.write(f"{message}\n")
    raise SettingsError(message)


def list_known_names() -> frozenset[str]:
    """Return every name of an environment variable `R4P_…` that has a meaning, in capitals."""
    return frozenset(_list_setting_names()) | OTHER_NAMES


def _list_setting_names() -> list[str]:
    return [
        f"{PREFIX}{name.upper()}"
        for kind in _walk_kinds(Settings)
        for name in sorted(kind.model_fields)
    ]


def _walk_kinds(kind: type[Settings]) -> Iterator[type[Settings]]:
    for child in kind.__subclasses__():
        yield child
        yield from _walk_kinds(child)


def _describe_unknown() -> list[str]:
    """Describe variables with our prefix that nothing reads. Most are typing errors."""
    names, used = _list_setting_names(), list_known_names()
    own = {
        name: value for name, value in read_environment().items() if name.upper().startswith(PREFIX)
    }
    return [
        f"{name}: {REMOVED.get(name.upper()) or f'no setting has this name: {_suggest(name.upper(), names)}'}"
        for name, value in sorted(own.items())
        if name.upper() not in used and not is_service_link(name, value)
    ]


def _suggest(name: str, names: list[str]) -> str:
    bare = [setting.removeprefix(PREFIX) for setting in names]
    near = find_nearest(name.removeprefix(PREFIX), bare)
    return f"did you mean {PREFIX}{near}?" if near else "unset it"


def _describe_mistakes(kind: type[Settings], error: ValidationError) -> list[str]:
    problems = error.errors(include_url=False)
    return list(dict.fromkeys(_describe_mistake(kind, problem) for problem in problems))


def _describe_mistake(kind: type[Settings], problem: ErrorDetails) -> str:
    """Describe one mistake without the values of secrets."""
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
    """Describe the form of a value by its JSON Schema."""
    if "anyOf" in field:
        return _form(next(form for form in field["anyOf"] if form.get("type") != "null"), schema)
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
            return _describe_number(field)
        case _:
            return "a text"


def _describe_number(field: dict[str, Any]) -> str:
    kind = "a whole number" if field["type"] == "integer" else "a number"
    least, most, above = (field.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f"{kind} from {least:g} to {most:g}"
    if least is not None:
        return f"{kind} of at least {least:g}"
    return kind if above is None else f"{kind} greater than {above:g}"
