"""`.github/r4p.yml` becomes a RepoConfig, or a list of what is wrong with it (pure).

Which file is read, and that it comes from the default branch only, is the caller's affair.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails

from app.settings import yaml_document
from app.settings.yaml_document import Document
from app.values.suggestion import nearest

FILE = ".github/r4p.yml"
MAX_VOTES = 32
MAX_ALTERNATIVES = 3
_INSIDE = "alternatives_budget"
"""The one key that holds keys."""


class Mode(StrEnum):
    """How much of a verdict the world sees."""

    SHADOW = "shadow"
    """Judge and keep; publish only what somebody asked for by command."""
    ADVISORY = "advisory"
    """Publish; no check ever fails."""
    ENFORCE = "enforce"
    """Publish; the check of an incorrect patch fails."""


class TriggerKind(StrEnum):
    """What may start a judgement."""

    PULL_REQUEST = "pull_request"
    """Any change of an issue or of its pull requests."""
    COMMAND = "command"
    """`/r4p verify`."""


class Comments(StrEnum):
    """When the one comment on the issue is written."""

    ALL = "all"
    """After every judgement, also when all it says is that nothing can be said."""
    OUTCOMES = "outcomes"
    """When at least one patch was found correct or incorrect."""
    NONE = "none"
    """Only when somebody asked by command; otherwise the check runs speak alone."""


class Alternatives(StrEnum):
    """Whether the bot's own agent writes patches beside the pull requests."""

    OFF = "off"
    """Only where `/r4p propose` asks for one."""
    FILL = "fill"
    """As many as a group of four has free seats."""


class Training(StrEnum):
    """What issues, patches and their outcomes may be used for."""

    OFF = "off"
    """Nothing is learnt from them, and they are not handed out."""
    EXPORT = "export"
    """They may be written to a file, for people to measure by."""
    ON = "on"
    """And the bot's model may learn from them."""


Glob = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Login = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _truth(written: object) -> object:
    """A word of the file as what it says; anything else as it is."""
    return (
        {"true": True, "false": False}.get(written, written)
        if isinstance(written, str)
        else written
    )


class AlternativesBudget(BaseModel):
    """What alternatives may cost a repository in a day (UTC)."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    tokens: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 200_000
    """Read and written by the agent's model; what its server had in its cache is not counted."""
    seconds: Annotated[int, Field(ge=0, le=86_400, strict=True)] = 3_600
    """Of agents at work; of two side by side both count."""


class RepoConfig(BaseModel):
    """What a repository decides about the bot."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="R4P bot's settings of one repository: .github/r4p.yml on the default branch",
    )

    version: Annotated[int, Field(ge=1, le=1, strict=True)]
    """Version of this file's format."""
    mode: Mode = Mode.SHADOW
    """`shadow`: judge, publish only what was asked for by command. `advisory`: publish, no check
    ever fails. `enforce`: publish, the check of an incorrect patch fails."""
    triggers: Annotated[tuple[TriggerKind, ...], Field(min_length=1, max_length=2)] = (
        TriggerKind.PULL_REQUEST,
        TriggerKind.COMMAND,
    )
    """What may start a judgement: changes of pull requests and issues, or only `/r4p verify`."""
    min_candidates: Annotated[int, Field(ge=1, le=16, strict=True)] = 2
    """Judge an issue by itself only from this many open pull requests on; a command always may."""
    quiet_minutes: Annotated[int, Field(ge=0, le=1_440, strict=True)] = 10
    """How long nothing must have changed before the bot starts by itself."""
    votes: Annotated[int, Field(ge=1, le=MAX_VOTES, strict=True)] = 4
    """How often each group is judged, each time in another order."""
    comments: Comments = Comments.OUTCOMES
    """When the one comment is written. `all`: after every judgement. `outcomes`: when a patch was
    found correct or incorrect. `none`: only when asked by command."""
    paths: Annotated[tuple[Glob, ...], Field(max_length=100)] = ()
    """Only judge pull requests that touch one of these; `**` crosses folders. Empty: all."""
    ignore_authors: Annotated[tuple[Login, ...], Field(max_length=100)] = ()
    """Logins whose pull requests are never judged; a bot's login ends in `[bot]`."""
    alternatives: Alternatives | Annotated[int, Field(ge=1, le=MAX_ALTERNATIVES, strict=True)] = (
        Alternatives.OFF
    )
    """Patches that the bot's own agent writes, to be judged beside the pull requests. `off`: only
    when `/r4p propose` asks for one. `fill`: one for each free seat in a group of four. 1 to 3:
    that many. With any but `off` a single pull request is enough to start."""
    alternatives_budget: AlternativesBudget = AlternativesBudget()
    """What these may cost in a day (UTC), for the whole repository; holds for `/r4p propose` too."""

    draft_pull_requests: Annotated[bool, BeforeValidator(_truth), Field(strict=True)] = False
    """Let `/r4p open A1` open an alternative as a draft pull request, where the operator has given the
    bot a second App that may write code."""
    training: Training = Training.OFF
    """What judged issues, their patches and what became of them may be used for. `off`: nothing.
    `export`: a file for people to measure by. `on`: the bot's model may learn from them too."""


WITHOUT_FILE = RepoConfig(version=1)
"""What holds for a repository that has no file: it is watched in silence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the file."""

    line: int | None
    """Counted from 1; None: the file as a whole."""
    message: str

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class ConfigError:
    """The file can't be used; the last good one stays in force."""

    problems: tuple[Problem, ...]


def parse(text: str) -> RepoConfig | ConfigError:
    """The configuration in a file's text, whatever is written there."""
    try:
        document = yaml_document.read(text)
    except yaml_document.RefusedError as refusal:
        return ConfigError((Problem(refusal.line, str(refusal)),))
    try:
        return RepoConfig.model_validate(document.values)
    except ValidationError as error:
        found = (_problem(detail, document) for detail in error.errors())
        return ConfigError(tuple(dict.fromkeys(found)))  # each way to read a value complains of it


def json_schema() -> dict[str, Any]:
    """The JSON Schema that editors use; published as `app/settings/repo_config.schema.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **RepoConfig.model_json_schema(),
    }


def _problem(detail: ErrorDetails, document: Document) -> Problem:
    place = detail["loc"]
    key = str(place[0])
    if detail["type"] == "missing":
        return Problem(None, f"`{key}` is missing: add `{key}: 1`")
    line = document.line(*place)
    if detail["type"] == "extra_forbidden":
        *around, name = map(str, place)
        return Problem(line, f"unknown key `{name[:40]}`{_meant(name, _known(around))}")
    inside = key == _INSIDE and len(place) > 1
    named = f"{key}.{place[1]}" if inside else key
    return Problem(line, f"`{named}` can't be {_shown(detail['input'])}: {_expected(place)}")


def _known(around: list[str]) -> list[str]:
    """The keys that may stand there."""
    return list((AlternativesBudget if around else RepoConfig).model_fields)


def _meant(key: str, known: list[str]) -> str:
    near = nearest(key, known)
    if near is None:
        return f": known are {', '.join(known)}"
    return f": did you mean `{near}`?"


def _shown(value: object) -> str:
    match value:
        case None:
            return "empty"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a mapping"
        case _:
            text = str(value)
            return f"`{text[:40]}…`" if len(text) > 40 else f"`{text}`"


def _expected(place: tuple[int | str, ...]) -> str:
    schema = RepoConfig.model_json_schema()
    field = schema["properties"][place[0]]
    if place[0] == _INSIDE and len(place) > 1:
        field = _defined(field, schema)["properties"][place[1]]
    return " or ".join(_form(one, schema) for one in field.get("anyOf", [field]))


def _form(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What one form of a value looks like."""
    if "$ref" in field:
        kind = _defined(field, schema)
        if "enum" in kind:
            return f"choose {_either(kind['enum'])}"
        return f"give a mapping of {_either(list(kind['properties']), 'and')}"
    if field["type"] == "boolean":
        return "choose `true` or `false`"
    if field["type"] == "integer":
        least, most = field["minimum"], field["maximum"]
        return f"give {least}" if least == most else f"give a whole number from {least} to {most}"
    if "$ref" in field["items"]:
        return f"give a list of {_either(_defined(field['items'], schema)['enum'])}"
    longest = field["items"]["maxLength"]
    return f"give a list of at most {field['maxItems']} texts, each up to {longest} characters"


def _defined(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return dict(schema["$defs"][str(field["$ref"]).rpartition("/")[2]])


def _either(choices: list[str], last: str = "or") -> str:
    *most, end = (f"`{choice}`" for choice in choices)
    return f"{', '.join(most)} {last} {end}" if most else end
