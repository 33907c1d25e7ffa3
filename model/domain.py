"""Frozen values that every verifier shares: issues, patches, votes and verdicts (pure)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from model.coverage import Coverage as Coverage  # noqa: PLC0414 - readers of verdicts import it from here
from model.coverage import ShownCode

PatchId = NewType("PatchId", str)
"""The name of a candidate among its rivals: `#12` for a pull request, a file name in the CLI."""


class Label(StrEnum):
    """The known truth about a patch: it is correct or incorrect."""

    CORRECT = "correct"
    INCORRECT = "incorrect"


class Verdict(StrEnum):
    """The bot's opinion of a patch. Only `CORRECT` and `INCORRECT` are claims."""

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
        """Title and body as one text, or the title alone when the body is empty."""
        return f"{self.title}\n\n{self.body}".strip()


@dataclass(frozen=True, slots=True)
class Patch:
    """A unified diff that should resolve an issue. The verifier never learns its author."""

    id: PatchId
    diff: str
    trajectory: str | None = None
    """The record of the agent's attempt. Only the verifier `yes-no-trajectory` reads it."""


@dataclass(frozen=True, slots=True)
class VoteCount:
    """The number of votes about one patch, by answer. `none` counts votes that failed or could not be read."""

    correct: int = 0
    incorrect: int = 0
    none: int = 0

    @property
    def valid(self) -> int:
        """The number of votes for correct or incorrect."""
        return self.correct + self.incorrect

    @property
    def share(self) -> float | None:
        """The share of valid votes for correct, or None without a valid vote."""
        return self.correct / self.valid if self.valid else None


@dataclass(frozen=True, slots=True)
class Vote:
    """One reply of the engine about patches in numbered seats of a prompt, kept whole for explanations and training."""

    seed: int
    seats: tuple[PatchId | None, ...]
    """The patch on each seat, seat 1 first. None is the empty padding of the paper."""
    correct: frozenset[PatchId] | None
    """The patches that the reply boxed, or None when the vote failed or could not be read."""
    reply: str
    forced: bool = False
    """The reply ended without a box, and the engine continued it once from an opened box."""
    failure: str | None = None
    """Why the vote failed, for a person; None for a valid vote."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of the engine's requests. `prompt` includes `cached`, the tokens that the engine read before."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


class CiState(StrEnum):
    """What a repository's own CI says about one commit."""

    PASSED = "passed"
    FAILED = "failed"
    """At least one check failed that does not fail on the base too."""
    RUNNING = "running"
    """A check has not ended yet, and none failed."""
    NOT_RUN = "not_run"
    """No check ended with a result: there is none, or all were skipped, cancelled or ran out of time."""


@dataclass(frozen=True, slots=True)
class CiResult:
    """The repository's own CI on the head commit of a patch, without the bot's own checks."""

    state: CiState
    checks: int = 0
    """The number of checks that passed or failed."""
    failed: int = 0
    names: tuple[str, ...] = ()
    """Names of the first failed checks. Untrusted text of limited length."""


@dataclass(frozen=True, slots=True)
class RegressionResult:
    """The tests that pass on the base, run with a patch."""

    expected: int
    """The number of tests that pass on the base in every run."""
    broken: int
    names: tuple[str, ...] = ()
    """Ids of the first broken tests. Untrusted text of limited length."""
    rewritten: int = 0
    """The number of broken tests that the patch itself rewrites or removes."""


@dataclass(frozen=True, slots=True)
class ReproductionResult:
    """The tests that were written for the issue and fail on the base, run with a patch."""

    tests: int
    passed: int


@dataclass(frozen=True, slots=True)
class ObservedEvidence:
    """What was observed about one patch by running it. Each part is None while nobody knows it, and never a zero."""

    regression: RegressionResult | None = None
    unknown: str | None = None
    """Why `regression` is None, for a person; may quote untrusted text. None: no tests were wanted, or they ran."""
    reproduction: ReproductionResult | None = None
    reproduction_unknown: str | None = None
    """Why `reproduction` is None, for a person; may quote untrusted text. None: no such tests were wanted, or they ran."""
    ci: CiResult | None = None


class RubricKind(StrEnum):
    """What a line of a rubric is about (Agentic Rubrics, arXiv 2601.04171, section 3)."""

    FILE_CHANGE = "file_change"
    """Which code changes, and that no more changes than has to."""
    SPECIFICATION = "specification"
    """What the issue asks for."""
    INTEGRITY = "integrity"
    """What must stay: tests, interfaces, no shortcut."""
    RUNTIME = "runtime"
    """How the changed code behaves when it runs."""


class RubricMark(StrEnum):
    """The grade of one line of a rubric for one patch."""

    MET = "met"
    NOT_MET = "not_met"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class RubricLine:
    """A condition that a good patch for the issue meets. It is written before any patch is read."""

    kind: RubricKind
    weight: int
    """3 for must have, 2 for important, 1 for nice to have."""
    text: str


@dataclass(frozen=True, slots=True)
class GradedLine:
    """A line of the rubric with its grade for one patch. Text and note are a model's words: escape them."""

    line: RubricLine
    mark: RubricMark
    note: str = ""
    """The grader's reason, or an empty text."""


class DifferenceKind(StrEnum):
    """What a fact about the rivals of one issue says of its patches."""

    SAME_EDIT = "same_edit"
    """The patches change the same code in the same way."""
    SAME_BUT_NAMES = "same_but_names"
    """Their code differs in names only."""
    ALL = "all"
    """All rivals change these places."""
    ONLY = "only"
    """These patches do it, and no other rival does."""
    ALL_BUT = "all_but"
    """Every other rival does it, and these patches do not."""


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """A file or a function that a patch changes. Both names are untrusted."""

    path: str
    function: str | None = None
    is_new: bool = False
    """Whether the patch adds the function."""


@dataclass(frozen=True, slots=True)
class RivalDifference:
    """A fact that tells the rivals of one issue apart, read from their diffs alone."""

    kind: DifferenceKind
    patches: tuple[PatchId, ...]
    places: tuple[ChangedPlace, ...] = ()
    calls: tuple[str, ...] = ()
    """Names that added lines call. Untrusted."""
    touches_tests: bool = False
    lines: int | None = None
    """The number of edited lines of a patch that is much longer than its rivals; None for others."""


@dataclass(frozen=True, slots=True)
class PatchVerdict:
    """The verdict about one patch, with its score, votes and reason."""

    id: PatchId
    verdict: Verdict
    votes: VoteCount
    reason: str
    """The reason for a person: an excerpt of a reply, or why the patch was not judged."""
    coverage: Coverage
    probability: float | None = None
    """The calibrated probability that the patch is correct, or None without enough history."""
    score: float | None = None
    """The verifier's own belief from 0 to 1, not calibrated; None without an opinion."""
    rank: float | None = None
    """The value that orders the patches of a group, the highest first. None means that the score orders them."""
    depends_on: tuple[PatchId, ...] = ()
    """Rivals whose presence reverses the votes. A patch with such a rival gets no claim."""
    is_preliminary: bool = False
    """The score comes from the shortlist round. It must not be compared with scores of the second round."""
    evidence: ObservedEvidence | None = None
    """What was observed by running the patch; None without any observation."""
    rubric: tuple[GradedLine, ...] = ()
    """The issue's rubric with this patch's grades; empty for verifiers that write none."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The engine, model and prompt that produced a verdict."""

    name: str
    model: str
    prompt_fingerprint: str


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """The verdicts about all candidates of one issue. Any number of them may be correct, including none."""

    patches: tuple[PatchVerdict, ...]
    engine: EngineInfo
    votes: tuple[Vote, ...]
    asked: int
    """The number of votes that the engine was asked for, over all parts of the group, readable or not."""
    partition: tuple[tuple[PatchId, ...], ...]
    """The patches that shared a prompt in the first round; one part when all patches fit in the seats."""
    tokens: Tokens
    engine_seconds: float
    total_seconds: float
    spared: int = 0
    """The number of votes that were skipped, because they could not have changed a verdict."""
    differences: tuple[RivalDifference, ...] = ()
    """What tells the rivals apart, the most telling fact first; empty before anybody looked."""
    code: ShownCode | None = None
    """The code of the base in the prompt. None: the prompt shows none, or nobody recorded it."""

    @property
    def valid(self) -> int:
        """The number of votes that could be read."""
        return sum(vote.correct is not None for vote in self.votes)

    def count_forced_votes(self) -> int:
        """Return the number of readable votes whose reply was continued, because it had ended without a box."""
        return sum(vote.forced and vote.correct is not None for vote in self.votes)
