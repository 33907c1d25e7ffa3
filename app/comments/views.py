"""What the bot's sentences are made from: frozen values that the worker fills (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from app.commands import GroupEdit
from app.identifiers import CommitSha, PullNumber
from app.jobs import Json
from app.judging import LeftOut
from app.links import LinkStrength, Member
from app.repo_config import Mode
from app.waits import Waits
from model.domain import EngineInfo, PatchVerdict, Tokens


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


class Stage(StrEnum):
    """How far the work on a group is."""

    NOTHING = "nothing"
    WAITING = "waiting"
    QUEUED = "queued"
    JUDGING = "judging"
    JUDGED = "judged"
    FAILED = "failed"


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


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group after a `group` command."""

    edit: GroupEdit
    named: tuple[PullNumber, ...]
    """What the command names; the same when it is carried out again after a crash."""
    members: tuple[Member, ...]
