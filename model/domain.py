"""What the verifier talks about: issues, patches, votes and verdicts, as frozen values (pure)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

PatchId = NewType("PatchId", str)
"""Names a candidate among its rivals: `#12` for a pull request, a file name offline."""


class Label(StrEnum):
    """The truth about a patch, where somebody knows it."""

    CORRECT = "correct"
    INCORRECT = "incorrect"


class Verdict(StrEnum):
    """Our opinion of a patch. Only the first two are claims."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNSURE = "unsure"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class Issue:
    """A reported problem, in the reporter's words."""

    title: str
    body: str

    @property
    def text(self) -> str:
        """Title and body as one statement; a title alone where there is no body."""
        return f"{self.title}\n\n{self.body}".strip()


@dataclass(frozen=True, slots=True)
class Patch:
    """A unified diff that claims to resolve an issue. Whose it is, the verifier never learns."""

    id: PatchId
    diff: str
    trajectory: str | None = None
    """What an agent thought and did to get here; shown only to a verifier that asks for it (yes-no-trajectory)."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a patch the verifier was shown."""

    files: int
    files_seen: int


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Votes about one patch. `none` are votes that failed or could not be read: they count for neither side."""

    correct: int = 0
    incorrect: int = 0
    none: int = 0

    @property
    def valid(self) -> int:
        """Votes that said something."""
        return self.correct + self.incorrect

    @property
    def share(self) -> float | None:
        """Share of valid votes for correct; None when there is no valid vote."""
        return self.correct / self.valid if self.valid else None


@dataclass(frozen=True, slots=True)
class Vote:
    """One reply of the engine about one part of the group, kept whole so that it can be explained and learnt from."""

    seed: int
    seats: tuple[PatchId | None, ...]
    """Who sat where, seat 1 first; None is the paper's empty padding."""
    correct: frozenset[PatchId] | None
    """The boxed patches; None when the vote failed or could not be read."""
    reply: str
    forced: bool = False
    """The reply ended without a box and was continued once from an opened one."""
    failure: str | None = None
    """Why there is no vote, in words for a person; None when there is one."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens paid for: prompt (of which cached) and completion."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class PatchVerdict:
    """What the votes say of one patch."""

    id: PatchId
    verdict: Verdict
    votes: VoteCount
    reason: str
    """Why, for a person: an excerpt of the reasoning, or why it was not judged."""
    coverage: Coverage
    probability: float | None = None
    """Calibrated on outcomes; None: not enough history."""
    score: float | None = None
    """The verifier's own degree of belief in 0…1, not calibrated; None: no opinion."""
    rank: float | None = None
    """What orders the patches of one group where that is not the score, the higher the better; None: by the score."""
    swayed_by: tuple[PatchId, ...] = ()
    """Rivals whose presence turns the votes: whatever else is believed of the patch, nothing is claimed."""
    is_preliminary: bool = False
    """Said to draw up a shortlist: the score is on another scale than those of rivals that were on it."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Which engine, weights and wording spoke."""

    name: str
    model: str
    prompt_fingerprint: str


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """The set-valued answer: several patches may be correct, or none."""

    patches: tuple[PatchVerdict, ...]
    engine: EngineInfo
    votes: tuple[Vote, ...]
    asked: int
    """How many votes were asked of the engine, over all parts of the group, readable or not."""
    partition: tuple[tuple[PatchId, ...], ...]
    """Which patches sat together, in the first round; one part when they fit in N seats."""
    tokens: Tokens
    engine_seconds: float
    total_seconds: float
    spared: int = 0
    """How many more were not asked for, because they could not have changed a verdict."""

    @property
    def valid(self) -> int:
        """How many votes could be read."""
        return sum(vote.correct is not None for vote in self.votes)

    @property
    def forced(self) -> int:
        """How many votes answered only when their reply was continued from an opened box."""
        return sum(vote.forced and vote.correct is not None for vote in self.votes)
