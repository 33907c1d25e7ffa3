"""Frozen values from which the bot writes its comments and check runs. The worker fills them (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.jobs.job import Json
from app.jobs.waits import Waits
from app.policy.alternative_policy import Cost, RefusalReason
from app.policy.commands import GroupEdit
from app.policy.group_policy import LeftOutPull
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import AlternativesBudget, Mode
from app.values.identifiers import AlternativeNumber, CommitSha, PullNumber
from model.calibration.evidence import CONSENSUS
from model.coverage import ShownCode
from model.domain import EngineInfo, PatchVerdict, RivalDifference, Tokens, Verdict
from model.verdict_json import PACKAGED, read_code, read_patches


class Finding(StrEnum):
    """Kind of suspicious content in an issue or a patch that the bot made harmless before the model read it."""

    DELIMITER = "delimiter"
    SPECIAL_TOKEN = "special_token"  # noqa: S105 - no secret, a kind of text
    BOX = "box"
    LOOKALIKE = "lookalike"
    INVISIBLE = "invisible"
    ESCAPE = "escape"
    HTML_COMMENT = "html_comment"


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A pull request with its verdict, for one row of the verdict comment's table."""

    pull: PullNumber
    head: CommitSha
    """The judged commit."""
    verdict: PatchVerdict
    strength: LinkStrength
    moved: bool = False
    """True if somebody has pushed new commits since the bot judged `head`."""
    findings: tuple[Finding, ...] = ()
    version: int = 1
    """How many versions of this patch the bot has judged. Blank lines and comments make no version."""
    title: str = ""
    """Title of the pull request; empty: not read. Untrusted text."""
    author: str = ""
    """Login of the author; empty: the account is gone, or not read."""


@dataclass(frozen=True, slots=True)
class AlternativeView:
    """An alternative with its verdict, for the verdict comment."""

    number: AlternativeNumber
    """Number of the alternative; comments show 1 as `A1`."""
    agent: str
    """Name of the agent in the catalogue."""
    model: str
    steps: int
    """Number of the model's replies until the agent submitted the patch."""
    base: CommitSha
    """The commit that the diff is for."""
    diff: str
    """Untrusted, because a model wrote it."""
    verdict: PatchVerdict
    second_to: AlternativeNumber | None = None
    """The alternative that this second attempt follows; None: it is a first attempt."""


@dataclass(frozen=True, slots=True)
class GroupGrounds:
    """What a text about the evidence of one group needs. Comments, check runs and pages share it."""

    verdicts: tuple[PatchVerdict, ...]
    verifier: str
    """Name of the verifier in the catalogue."""
    has_model: bool
    """True if a language model read the patches."""
    history: int | None
    """Number of earlier issues behind the probabilities; None: too few."""
    is_packaged_prior: bool
    """True if these are issues of benchmarks, because too few here have known outcomes."""
    code: ShownCode | None
    """The code of the base that the model saw. None: its prompt shows none."""

    @property
    def is_judged(self) -> bool:
        """Whether the bot judged at least one patch."""
        return any(patch.verdict is not Verdict.NOT_JUDGED for patch in self.verdicts)

    @property
    def has_probability(self) -> bool:
        """Whether at least one patch has a probability."""
        return any(patch.probability is not None for patch in self.verdicts)


def read_group_grounds(document: Mapping[str, Any]) -> GroupGrounds:
    """Read the grounds from an `r4p.verdict/1` document. Raises KeyError, TypeError or ValueError for another one."""
    calibrator = document.get("calibrator", {})
    return GroupGrounds(
        verdicts=read_patches(document),
        verifier=document.get("verifier", "none"),
        has_model=document["engine"]["name"] != CONSENSUS,
        history=calibrator.get("issues"),
        is_packaged_prior=calibrator.get("origin") == PACKAGED,
        code=read_code(document),
    )


@dataclass(frozen=True, slots=True)
class VerdictView:
    """Values for the verdict comment and the check runs of one evaluation.

    `rows` are in the order of pull request numbers.
    """

    group: int
    mode: Mode
    rows: tuple[VerdictRow, ...]
    verifier: str
    """Name of the verifier in the catalogue."""
    engine: EngineInfo
    asked: int
    valid: int
    forced: int
    """Number of forced votes."""
    parts: int
    """Number of overlapping parts of the group; 1: all patches together."""
    tokens: Tokens
    total_seconds: float
    document: Json
    """The `r4p.verdict/1` object."""
    differences: tuple[RivalDifference, ...] = ()
    """What tells the rivals apart, the most telling fact first."""
    code: ShownCode | None = None
    """The code of the base that the model saw. None: its prompt shows none."""
    prompt: str | None = None
    """Name of the shipped prompt. None: an operator's own, or a verifier without a choice of prompts."""
    history: int | None = None
    """Number of earlier issues behind the probabilities; None: too few."""
    is_packaged_prior: bool = False
    """True if these are issues of benchmarks, because too few here have known outcomes."""
    left_out: tuple[LeftOutPull, ...] = ()
    all_links_read: bool = True
    """False: the issue has too many links, so rivals may be missing."""
    issue_findings: tuple[Finding, ...] = ()
    has_model: bool = True
    """True if a language model read the patches."""
    is_demonstration: bool = False
    """True if the model is only good for a demonstration."""
    config_problem: str | None = None
    """Error in the configuration on the default branch; None: no error."""
    alternatives: tuple[AlternativeView, ...] = ()
    """The bot's alternatives by number, judged in one group with `rows`."""
    no_alternative: RefusalReason | None = None
    """Why a wanted alternative is missing; None: none is missing."""
    may_open: bool = False
    """True if people can open an alternative as a draft pull request by command."""
    is_moved: bool = False
    """True if the votes are about equal patches at earlier heads."""
    has_reading_order: bool = True
    """True if the repository wants an order to read patches in when all of them are unsure."""
    is_learning_allowed: bool = False
    """True if the repository's settings let calibrators use what people say about the verdict."""

    @property
    def verdicts(self) -> tuple[PatchVerdict, ...]:
        """Verdicts of all patches of the group: first of the pull requests, then of the alternatives."""
        rows = [row.verdict for row in self.rows]
        return (*rows, *(alternative.verdict for alternative in self.alternatives))

    @property
    def grounds(self) -> GroupGrounds:
        """What the verdicts rest on."""
        return GroupGrounds(
            verdicts=self.verdicts,
            verifier=self.verifier,
            has_model=self.has_model,
            history=self.history,
            is_packaged_prior=self.is_packaged_prior,
            code=self.code,
        )

    @property
    def publishable_verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts that decide whether the bot comments on its own: those of pull requests and of correct alternatives.

        Any other alternative is no reason to comment.
        """
        own = [alternative.verdict.verdict for alternative in self.alternatives]
        correct = [verdict for verdict in own if verdict is Verdict.CORRECT]
        return (*(row.verdict.verdict for row in self.rows), *correct)


class GroupProgress(StrEnum):
    """How far the bot's work on a group is, for the reply to `/r4p status`."""

    NOTHING = "nothing"
    WAITING = "waiting"
    QUEUED = "queued"
    JUDGING = "judging"
    JUDGED = "judged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AlternativesStatus:
    """An issue's alternatives, attempts and costs, for the reply to `/r4p status`.

    The reply has this part if alternatives exist or the repository's settings ask for them.
    """

    alternatives: tuple[AlternativeNumber, ...]
    """Numbers of this issue's alternatives."""
    running: int
    """Number of attempts at this issue that wait or run."""
    spent: Cost
    """Today's cost in the whole repository."""
    budget: AlternativesBudget
    last_failure: RefusalReason | None = None
    """Failure of this issue's last attempt; None: it succeeded, or there is none."""


class SuiteState(StrEnum):
    """How far the tests of a group are."""

    WAITING = "waiting"
    RUNNING = "running"
    KNOWN = "known"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SuiteStatus:
    """The repository's tests on a group, for the reply to `/r4p status`."""

    state: SuiteState
    detail: str = ""
    """Progress of the running tests, or why nobody knows what they show. May quote untrusted text."""
    expected: int = 0
    """Tests that pass on the base in every run."""
    flaky: int = 0
    """Tests that pass on the base in some runs only."""
    written: int = 0
    """Tests written for the issue that ran on the candidates."""


@dataclass(frozen=True, slots=True)
class StatusView:
    """Values for the reply to `/r4p status`: the compared pull requests, and how far the work on the group is."""

    members: tuple[Member, ...]
    stage: GroupProgress
    detail: str | None = None
    """Why the work waits or failed, or what comes next, in words for a person."""
    left_out: tuple[LeftOutPull, ...] = ()
    all_links_read: bool = True
    """False: the issue has too many links, so rivals may be missing."""
    comment: str | None = None
    """URL of the verdict comment; None: not published."""
    config_problem: str | None = None
    """Error in the configuration on the default branch; None: no error."""
    waits: Waits | None = None
    """What the work waits for; None: nothing."""
    alternatives: AlternativesStatus | None = None
    """None: the settings want none, and nobody asked for one."""
    tests: SuiteStatus | None = None
    """None: the repository wanted no tests on the newest group."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """Values for the reply to `/r4p group`: the action, the named pull requests and the resulting group."""

    edit: GroupEdit
    named: tuple[PullNumber, ...]
    """Pull requests that the command names. They are the same when the command runs again after a crash."""
    members: tuple[Member, ...]
