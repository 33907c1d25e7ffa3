"""Parses `.github/r4p.yml` into a RepoConfig, or into a list of its problems (pure).

The caller reads the file, and only from the default branch.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from app.settings import yaml_document
from app.settings.config_problems import Problem, describe_problem
from model.errors import BadSuiteCommand
from model.execution.suite_command import parse_command

FILE = ".github/r4p.yml"
MAX_VOTES = 32
MAX_ALTERNATIVES = 3


class Mode(StrEnum):
    """How much of a verdict the bot publishes."""

    SHADOW = "shadow"
    """Judge and store. Publish only answers to commands."""
    ADVISORY = "advisory"
    """Publish. No check ever fails."""
    ENFORCE = "enforce"
    """Publish. The check of an incorrect patch fails."""


class TriggerKind(StrEnum):
    """What may start an evaluation."""

    PULL_REQUEST = "pull_request"
    """Any change of an issue or of its pull requests."""
    COMMAND = "command"
    """`/r4p verify`."""


class Comments(StrEnum):
    """When the bot writes the verdict comment."""

    ALL = "all"
    """After every evaluation, even if all patches are unsure."""
    OUTCOMES = "outcomes"
    """When at least one patch is correct or incorrect."""
    NONE = "none"
    """Only after a command. Otherwise there are check runs only."""


class JudgeFrom(StrEnum):
    """Whose pull requests the bot judges by itself."""

    EVERYONE = "everyone"
    CONTRIBUTORS = "contributors"
    APPROVED = "approved"


class IncludeDrafts(StrEnum):
    """Which draft pull requests take part."""

    AGENTS = "agents"
    ALL = "all"
    NONE = "none"


class Alternatives(StrEnum):
    """Whether the bot's agent writes alternatives beside the pull requests."""

    OFF = "off"
    """Only after `/r4p propose`."""
    FILL = "fill"
    """One for each free seat in a group of four."""


class TrainingConsent(StrEnum):
    """Allowed use of issues, patches and outcomes."""

    OFF = "off"
    """No use."""
    CALIBRATE = "calibrate"
    """Votes and outcomes may fit calibrators. No text is used."""
    EXPORT = "export"
    """People may also write them to a file to measure by."""
    ON = "on"
    """The bot's model may also learn from them."""


FOR_CALIBRATORS = frozenset(TrainingConsent) - {TrainingConsent.OFF}
"""Settings that allow to fit calibrators on a repository's votes and outcomes."""


Glob = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Login = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _parse_bool(value: object) -> object:
    """Turn the words `true` and `false` into booleans. Other values stay."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


YesNo = Annotated[bool, BeforeValidator(_parse_bool), Field(strict=True)]


class AlternativesBudget(BaseModel):
    """Daily budget (UTC) of a repository for alternatives."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    tokens: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 200_000
    """Tokens that the agent's model reads and writes. Tokens from the server's cache do not count."""
    seconds: Annotated[int, Field(ge=0, le=86_400, strict=True)] = 3_600
    """Seconds of working agents. Two agents at the same time count twice."""


def _check_command(text: str) -> str:
    try:
        parse_command(text)
    except BadSuiteCommand as error:
        raise ValueError(str(error)) from error
    return text


class RepositoryTests(BaseModel):
    """The repository's own tests, which the bot runs on the base and on each candidate."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    command: Annotated[str, Field(max_length=500), AfterValidator(_check_command)]
    """Test command, as in a shell: `pytest …`, `python -m unittest …` or `python SCRIPT.py …`."""
    environment: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """Name of a test environment that the bot's operator has built."""
    seconds: Annotated[int, Field(ge=1, le=1_800, strict=True)] = 300
    """Time limit of one run of all tests."""
    reproduction: Annotated[bool, BeforeValidator(_parse_bool), Field(strict=True)] = False
    """Let the bot's language model write tests for the issue as well, if the operator has switched this on."""


NESTED: dict[str, type[BaseModel]] = {
    "alternatives_budget": AlternativesBudget,
    "tests": RepositoryTests,
}
"""The keys whose values have keys of their own."""


class RepoConfig(BaseModel):
    """A repository's settings of the bot."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="R4P bot's settings of one repository: .github/r4p.yml on the default branch",
    )

    version: Annotated[int, Field(ge=1, le=1, strict=True)]
    """Version of this file's format."""
    mode: Mode = Mode.SHADOW
    """`shadow`: judge, and publish only answers to commands. `advisory`: publish, and no check ever fails. `enforce`: publish, and the
    check of an incorrect patch fails."""
    triggers: Annotated[tuple[TriggerKind, ...], Field(min_length=1, max_length=2)] = (
        TriggerKind.PULL_REQUEST,
        TriggerKind.COMMAND,
    )
    """What may start an evaluation: changes of pull requests and issues, or only `/r4p verify`."""
    min_candidates: Annotated[int, Field(ge=1, le=16, strict=True)] = 2
    """Fewest open pull requests for an evaluation without a command. A command needs only one."""
    quiet_minutes: Annotated[int, Field(ge=0, le=1_440, strict=True)] = 10
    """Minutes without changes before the bot starts by itself. Within a day, each further change of an author waits twice
    as long as the one before, up to 8 hours."""
    votes: Annotated[int, Field(ge=1, le=MAX_VOTES, strict=True)] = 4
    """Number of votes on each group, each with another seating."""
    evaluations_per_day: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 24
    """Most evaluations of one issue in a day (UTC) without a command. Further changes wait for the next day."""
    comments: Comments = Comments.OUTCOMES
    """When the bot writes the verdict comment. `all`: after every evaluation. `outcomes`: when a patch is correct or
    incorrect, so the bot is silent when it is unsure about all. `none`: only after a command."""
    result_labels: YesNo = False
    """Label each judged pull request `r4p/correct`, `r4p/incorrect` or `r4p/unsure`. Not in mode `shadow`."""
    reading_order: YesNo = True
    """In a comment without any claim, list the patches in the order of their scores, as an order to read them in."""
    paths: Annotated[tuple[Glob, ...], Field(max_length=100)] = ()
    """Judge only pull requests that change one of these paths; `**` crosses folders. Empty: all."""
    ignore_authors: Annotated[tuple[Login, ...], Field(max_length=100)] = ()
    """Logins whose pull requests the bot never judges. A bot's login ends in `[bot]`."""
    include_drafts: IncludeDrafts = IncludeDrafts.AGENTS
    """Draft pull requests that take part once they change a file. `agents`: those of accounts whose login ends in `[bot]`, because agents
    open a draft first and often leave it one. `all`, or `none`."""
    early_notice: YesNo = False
    """Say once on an issue that several open pull requests claim it, before any verdict. It needs no model. Not in mode `shadow`."""
    judge_from: JudgeFrom = JudgeFrom.EVERYONE
    """Whose pull requests need no `/r4p ok`. `contributors`: those of members and of people with a merged one. `approved`: none."""
    alternatives: Alternatives | Annotated[int, Field(ge=1, le=MAX_ALTERNATIVES, strict=True)] = (
        Alternatives.OFF
    )
    """Patches that the bot's agent writes and judges beside the pull requests. `off`: only after `/r4p propose`.
    `fill`: one for each free seat in a group of four. 1 to 3: that many. Unless `off`, a single pull request is
    enough to start."""
    alternatives_budget: AlternativesBudget = AlternativesBudget()
    """Daily budget (UTC) for alternatives in the whole repository, also for `/r4p propose`."""
    draft_pull_requests: YesNo = False
    """Let `/r4p open A1` open an alternative as a draft pull request, if the operator has configured a second App
    that may write code."""
    tests: RepositoryTests | None = None
    """Tests of the repository that the bot runs on each candidate, if the operator has switched this on. Missing: none."""
    training: TrainingConsent = TrainingConsent.OFF
    """Allowed use of judged issues, patches and outcomes; each value allows what the values before it allow. `off`: none.
    `calibrate`: fit calibrators on votes and outcomes, without any text. `export`: a file for people to measure by. `on`: the
    bot's model may learn from them."""


WITHOUT_FILE = RepoConfig(version=1)
"""Settings of a repository without the file: the bot judges, and publishes only answers to commands."""


@dataclass(frozen=True, slots=True)
class ConfigError:
    """A repository's settings file is unusable. The last good settings stay in force."""

    problems: tuple[Problem, ...]


def parse(text: str) -> RepoConfig | ConfigError:
    """Return the settings in the text of a `.github/r4p.yml`, or a ConfigError with its problems.

    It never raises, whatever the text holds.
    """
    try:
        document = yaml_document.read_document(text)
    except yaml_document.RefusedError as refusal:
        return ConfigError((Problem(refusal.line, str(refusal)),))
    try:
        return RepoConfig.model_validate(document.values)
    except ValidationError as error:
        details = error.errors()
        problems = (describe_problem(detail, document, RepoConfig, NESTED) for detail in details)
        # Pydantic reports a value once for each type that it may have, so drop repeated problems.
        return ConfigError(tuple(dict.fromkeys(problems)))


def build_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `.github/r4p.yml` for editors. `app/settings/repo_config.schema.json` holds a copy."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **RepoConfig.model_json_schema(),
    }


def read_training_consent(config_text: str | None, config_error: str | None) -> TrainingConsent:
    """Return what a repository's settings allow training to use; OFF without a valid settings file.

    `config_text` is the last valid settings file; None: none. `config_error` says why the newest file is not used; such
    a file allows nothing. None: the newest file is used.
    """
    if config_text is None or config_error is not None:
        return TrainingConsent.OFF
    config = parse(config_text)
    return TrainingConsent.OFF if isinstance(config, ConfigError) else config.training
