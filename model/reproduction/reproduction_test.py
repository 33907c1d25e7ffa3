"""Which of the reproduction tests that a model wrote may be believed, and what they say about each patch (pure).

The form is Agentless's, as Agentless Mini uses it (SWE-RL, appendix B, "Reproduction tests generation and selection"): a
script prints "Issue reproduced", "Issue resolved" or "Other issues". A test counts only if it prints the first on the
base. Whatever cannot be told is unknown, and never a pass.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from model.domain import PatchId
from model.execution.suite_run import Outcome, SuiteRun
from model.patches.normalised_source import normalise_source

MOST_CHARACTERS: Final = 20_000
"""Longest text of a test."""
_FORBIDDEN: Final = re.compile(
    r"\b(?:tamper_evidence|run_script|ctypes|addaudithook|_posixsubprocess|__loader__|__spec__|SourceFileLoader"
    r"|get_data|get_source|get_code|__code__|f_code|co_consts|co_names|co_code)\b|/reporters\b"
)
"""Code that recognises a patch by its text rather than by what it does. This is a filter for honest tests, and no
boundary for hostile ones.
"""


class IssueOutcome(StrEnum):
    """What one reproduction test says about one patch."""

    RESOLVED = "resolved"
    REPRODUCED = "reproduced"
    """The issue is still there."""
    OTHER = "other"
    """The test ended without a clear saying: another problem, an error, or several sayings."""
    UNKNOWN = "unknown"
    """The run says nothing: it took too long, its report was not to be believed, or the patch could not be run."""


class DropReason(StrEnum):
    """Why a test that the model wrote is not used."""

    NO_REPLY = "no_reply"
    """The engine failed, or the reply was cut at its limit of tokens."""
    NO_SCRIPT = "no_script"
    """The reply holds no block of Python, or one that is too long."""
    FORBIDDEN_CODE = "forbidden_code"
    """The test reaches for source code, the import system or the reporter."""
    DUPLICATE = "duplicate"
    SYNTAX_ERROR = "syntax_error"
    IMPORT_ERROR = "import_error"
    ERROR = "error"
    """The test ended with another error on the base."""
    SILENT = "silent"
    """The test printed none of the three sayings on the base."""
    NEVER_RESOLVED = "never_resolved"
    """The script reproduces the issue on the base, and nothing in it says "Issue resolved": no patch could pass it."""
    RESOLVED_ON_BASE = "resolved_on_base"
    OTHER_ON_BASE = "other_on_base"
    NO_RESULT = "no_result"
    """The run on the base took too long, or ended without a report."""
    UNSTABLE = "unstable"
    """The test did not reproduce the issue again on a base with one more comment in each file."""
    OUTVOTED = "outvoted"
    """There are more tests than are used, and the others have more votes."""


@dataclass(frozen=True, slots=True)
class ReproductionTest:
    """A script that a model wrote from an issue."""

    id: str
    """12 hex digits of the SHA-256 of its normalised text, so equal tests of several attempts have one id."""
    text: str
    votes: int = 1
    """Number of samples with this normalised text."""


@dataclass(frozen=True, slots=True)
class KeptTests:
    """The tests of one issue that reproduce it on the base, and how many others were dropped for which reason."""

    tests: tuple[ReproductionTest, ...] = ()
    dropped: Mapping[DropReason, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall-clock seconds of each test's slowest run on the base, by id."""


@dataclass(frozen=True, slots=True)
class ReproductionEvidence:
    """The outcome of every test on every candidate of an issue."""

    tests: tuple[ReproductionTest, ...] = ()
    outcomes: Mapping[PatchId, tuple[IssueOutcome, ...]] = field(default_factory=dict)
    """Outcomes by patch, in the order of `tests`."""
    unknown: Mapping[PatchId, str] = field(default_factory=dict)
    """Why no test could be run on a patch, for a person."""

    def list_passed(self, patch: PatchId) -> frozenset[str]:
        """Return the ids of the tests that say "Issue resolved" for a patch."""
        pairs = zip(self.tests, self.outcomes[patch], strict=True)
        return frozenset(test.id for test, outcome in pairs if outcome is IssueOutcome.RESOLVED)


def collect_tests(texts: Iterable[str]) -> KeptTests:
    """Count equal texts as votes for one test, and drop texts that no test of behaviour needs."""
    votes: dict[str, ReproductionTest] = {}
    dropped: Counter[DropReason] = Counter()
    for text in texts:
        if _FORBIDDEN.search(text):
            dropped[DropReason.FORBIDDEN_CODE] += 1
            continue
        identity = _identify(text)
        if earlier := votes.get(identity):
            votes[identity] = replace(earlier, votes=earlier.votes + 1)
            dropped[DropReason.DUPLICATE] += 1
        else:
            votes[identity] = ReproductionTest(identity, text)
    return KeptTests(tuple(votes.values()), dropped)


def read_outcome(run: SuiteRun) -> IssueOutcome:
    """Return what one run of a test says. The ids of its outcomes are the sayings, and the error that ended it."""
    if run.failure is not None:
        return IssueOutcome.UNKNOWN
    sayings, ended_well = run.list_passed(), Outcome.FAILED not in run.outcomes.values()
    if sayings == {"Issue reproduced"}:
        return IssueOutcome.REPRODUCED
    if sayings == {"Issue resolved"} and ended_well:
        return IssueOutcome.RESOLVED
    return IssueOutcome.OTHER


def find_drop_reason(test: ReproductionTest, run: SuiteRun) -> DropReason | None:
    """Return why a test is not used after a run on the base; None for a test that reproduces the issue there."""
    match read_outcome(run):
        case IssueOutcome.REPRODUCED:
            return None if "Issue resolved" in test.text else DropReason.NEVER_RESOLVED
        case IssueOutcome.UNKNOWN:
            return DropReason.NO_RESULT
        case IssueOutcome.RESOLVED:
            return DropReason.RESOLVED_ON_BASE
        case _:
            return _find_defect(run)


def choose_tests(evidence: ReproductionEvidence, most: int) -> ReproductionEvidence:
    """Keep the `most` tests with the most votes.

    Tests with equal outcomes on all candidates vote for each other, with all their samples. Tests that no candidate
    resolves come last: they tell no candidate from another. In a tie the test with more equal texts comes first, then
    the earlier one. SWE-RL takes the "top-N" by voting and does not say how tests are found to agree.
    """
    columns = list(zip(*evidence.outcomes.values(), strict=True)) or [()] * len(evidence.tests)
    votes: Counter[tuple[IssueOutcome, ...]] = Counter()
    for test, column in zip(evidence.tests, columns, strict=True):
        votes[column] += test.votes

    def rank(place: int) -> tuple[bool, int, int, int]:
        column, test = columns[place], evidence.tests[place]
        return IssueOutcome.RESOLVED not in column, -votes[column], -test.votes, place

    places = sorted(range(len(evidence.tests)), key=rank)[:most]
    rows = {
        patch: tuple(outcomes[place] for place in places)
        for patch, outcomes in evidence.outcomes.items()
    }
    tests = tuple(evidence.tests[place] for place in places)
    return replace(evidence, tests=tests, outcomes=rows)


def _find_defect(run: SuiteRun) -> DropReason:
    reasons: Sequence[tuple[str, DropReason]] = (
        ("raised SyntaxError", DropReason.SYNTAX_ERROR),
        ("raised ImportError", DropReason.IMPORT_ERROR),
    )
    named = next((reason for name, reason in reasons if name in run.outcomes), None)
    if named or not run.outcomes:
        return named or DropReason.SILENT
    ended_badly = Outcome.FAILED in run.outcomes.values()
    return DropReason.ERROR if ended_badly else DropReason.OTHER_ON_BASE


def _identify(text: str) -> str:
    source = normalise_source("test.py", text.encode(errors="surrogateescape"))
    return hashlib.sha256(source).hexdigest()[:12]
