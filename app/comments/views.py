"""What the bot's sentences are made from: frozen values that the worker fills (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from app.jobs.job import Json
from app.jobs.waits import Waits
from app.policy.alternative_policy import Spent, WhyNot
from app.policy.commands import GroupEdit
from app.policy.group_policy import LeftOut
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import AlternativesBudget, Mode
from app.values.identifiers import AlternativeNumber, CommitSha, PullNumber
from model.domain import EngineInfo, PatchVerdict, Tokens, Verdict


class Finding(StrEnum):
    """Something in a text that was made harmless before the model read it."""

    DELIMITER = "delimiter"
    SPECIAL_TOKEN = "special_token"  # noqa: S105 - no secret, a kind of text
    BOX = "box"
    LOOKALIKE = "lookalike"
    INVISIBLE = "invisible"
    ESCAPE = "escape"
    HTML_COMMENT = "html_comment"


@dataclass(frozen=True, slots=True)
class Row:
    """One pull request and what was found about it."""

    pull: PullNumber
    head: CommitSha
    """The commit that was judged."""
    verdict: PatchVerdict
    strength: LinkStrength
    moved: bool = False
    """Commits were pushed since."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class AlternativeView:
    """A patch by our own agent and what was found about it."""

    number: AlternativeNumber
    """It is called `A1` on GitHub."""
    agent: str
    """Its name in the catalogue."""
    model: str
    steps: int
    """Replies of the model until it handed in its patch."""
    base: CommitSha
    """The commit that its diff is against."""
    diff: str
    """Untrusted: a model wrote it."""
    verdict: PatchVerdict
    second_to: AlternativeNumber | None = None
    """The alternative that it was to do better than, with a hint; None: no hint led to it."""


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One evaluation, ready to be told. `rows` stand in the order of the pull requests' numbers."""

    group: int
    mode: Mode
    rows: tuple[Row, ...]
    verifier: str
    """Its name in the catalogue."""
    engine: EngineInfo
    asked: int
    valid: int
    forced: int
    """Votes whose reply ended without an answer and was asked once for it."""
    parts: int
    """In how many overlapping parts the group was judged; 1: all together."""
    tokens: Tokens
    total_seconds: float
    document: Json
    """The `r4p.verdict/1` object."""
    history: int | None = None
    """Earlier issues that probabilities rest on; None: too few for any."""
    left_out: tuple[LeftOut, ...] = ()
    all_links_read: bool = True
    """False: the issue has more links than are read, so rivals may be missing."""
    issue_findings: tuple[Finding, ...] = ()
    has_model: bool = True
    """A language model read the patches."""
    is_demonstration: bool = False
    """The model is only there to show the pipeline."""
    config_problem: str | None = None
    """What is wrong with the configuration on the default branch; None: nothing."""
    alternatives: tuple[AlternativeView, ...] = ()
    """By number; judged in one group with `rows`."""
    no_alternative: WhyNot | None = None
    """Why one that was wanted is missing; None: none is."""
    may_open: bool = False
    """An alternative is opened as a draft pull request by a command here."""

    @property
    def verdicts(self) -> tuple[PatchVerdict, ...]:
        """Of all patches that were judged together."""
        theirs = [row.verdict for row in self.rows]
        return (*theirs, *(one.verdict for one in self.alternatives))

    @property
    def news(self) -> tuple[Verdict, ...]:
        """What decides whether to comment: that a patch of our own is wrong is no news for anybody."""
        ours = [one.verdict.verdict for one in self.alternatives]
        found = [verdict for verdict in ours if verdict is Verdict.CORRECT]
        return (*(row.verdict.verdict for row in self.rows), *found)


class Stage(StrEnum):
    """How far the work on a group is."""

    NOTHING = "nothing"
    WAITING = "waiting"
    QUEUED = "queued"
    JUDGING = "judging"
    JUDGED = "judged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AlternativesStatus:
    """What is to be said of alternatives where there are some, or the settings want some."""

    there: tuple[AlternativeNumber, ...]
    """Those of this issue."""
    running: int
    """Attempts at this issue that are planned or at work."""
    spent: Spent
    """Today, in the whole repository."""
    budget: AlternativesBudget
    last_failure: WhyNot | None = None
    """Of this issue's last attempt; None: it went well, or there is none."""


@dataclass(frozen=True, slots=True)
class StatusView:
    """A group at this moment."""

    members: tuple[Member, ...]
    stage: Stage
    detail: str | None = None
    """Why it waits or failed, or what comes next, in words for a person."""
    left_out: tuple[LeftOut, ...] = ()
    all_links_read: bool = True
    """False: the issue has more links than are read, so rivals may be missing."""
    comment: str | None = None
    """Where the verdict is; None: not published."""
    config_problem: str | None = None
    """What is wrong with the configuration on the default branch; None: nothing."""
    waits: Waits | None = None
    """For whom the work waits; None: for nobody."""
    alternatives: AlternativesStatus | None = None
    """None: the settings want none, and nobody asked for one."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group after a `group` command."""

    edit: GroupEdit
    named: tuple[PullNumber, ...]
    """What the command names; the same when it is carried out again after a crash."""
    members: tuple[Member, ...]
