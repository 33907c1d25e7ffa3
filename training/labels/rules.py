"""Every rule by which a patch gets its label, what each believes, and on whose word (pure). `docs/labels.md` tells them.

The probabilities are assumptions, made from the studies named beside them, until somebody audits labels by hand
(`training/labels/audit.py`): then they are what was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

RULE_VERSION = 3
"""Raised with every change of meaning, here or in `labels.py`; labels are never stored, so all history follows."""

HELD_FOR = timedelta(days=14)
"""A merge or a closing that nobody took back for so long holds."""

REVERT_WINDOW = timedelta(days=90)
"""A merge that is taken back later than this had other reasons, for all we know."""

SURVIVED_FOR = 30
"""Days after which surviving lines say something: sooner, nobody has worked on them."""

COUNTS = frozenset({"after_30_days", "after_90_days"})
"""Counts of surviving lines that are so old; the last one holds."""

LINES_GONE = 0.1
"""Below this share of surviving lines somebody has replaced the patch, and why is not known."""

REWRITTEN = 0.5
"""Below this share most of it was replaced."""

WEAK = 0.5
"""What a label that only leans to its side counts beside one that a deed decided, in a fit or a share."""


class Grade(StrEnum):
    """How a patch is labelled. Weak ones lean to their side; unknown is no side, and never taken for incorrect."""

    CORRECT = "correct"
    WEAKLY_CORRECT = "weakly_correct"
    WEAKLY_INCORRECT = "weakly_incorrect"
    INCORRECT = "incorrect"
    UNKNOWN = "unknown"

    @property
    def is_positive(self) -> bool | None:
        """Which side it is on; None: on none."""
        if self is Grade.UNKNOWN:
            return None
        return self in {Grade.CORRECT, Grade.WEAKLY_CORRECT}

    @property
    def is_weak(self) -> bool:
        """It leans only."""
        return self in {Grade.WEAKLY_CORRECT, Grade.WEAKLY_INCORRECT}


@dataclass(frozen=True, slots=True)
class Rule:
    """One way for a patch to be labelled, or to stay without a label."""

    name: str
    grade: Grade
    probability: float | None
    """That such a patch is correct, unaudited; None: unknown. Where lines that survive are counted, see `graded`."""
    says: str
    """When it holds, for people."""
    source: str
    """Who found it, or why we believe it."""


_WINDOW = f"{HELD_FOR.days} days"
_STUDY = "arXiv 2605.22534"
_SURVIVAL = "arXiv 2603.03800"
_CAUTION = "caution"

CHECKED = {True: "checked_right", False: "checked_wrong"}
"""The rules of patches that somebody looked at, which outdo all others."""

_RULES = (
    Rule(
        "checked_right",
        Grade.CORRECT,
        0.99,
        "Somebody looked at it for `r4p labels audit`, and found it correct.",
        "the truth, but for oversights",
    ),
    Rule(
        "checked_wrong",
        Grade.INCORRECT,
        0.01,
        "Somebody looked at it for `r4p labels audit`, and found it incorrect.",
        "the truth, but for oversights",
    ),
    Rule(
        "reverted",
        Grade.INCORRECT,
        0.05,
        f"It was merged or landed, and taken back within {REVERT_WINDOW.days} days.",
        "a deed against the patch itself",
    ),
    Rule(
        "reverted_late",
        Grade.UNKNOWN,
        None,
        f"It was merged or landed, and taken back after more than {REVERT_WINDOW.days} days.",
        _CAUTION + ": by then needs have changed",
    ),
    Rule(
        "issue_reopened",
        Grade.UNKNOWN,
        None,
        "It was merged or landed, and its issue was opened again.",
        _CAUTION + ": an issue may hold more than one fault",
    ),
    Rule(
        "disputed",
        Grade.UNKNOWN,
        None,
        "It was merged or closed, and a maintainer's word says the opposite.",
        _CAUTION,
    ),
    Rule(
        "lately",
        Grade.UNKNOWN,
        None,
        f"It was merged or closed less than {_WINDOW} ago.",
        "censored, as open pull requests are",
    ),
    Rule(
        "lines_gone",
        Grade.UNKNOWN,
        None,
        f"It was merged; after {SURVIVED_FOR} days or more fewer than {LINES_GONE:.0%} of its lines are left, "
        "and no revert names it.",
        _SURVIVAL + "; replaced by a better fix, or moved: not known",
    ),
    Rule(
        "rewritten",
        Grade.WEAKLY_CORRECT,
        0.71,
        f"It was merged as it is; after {SURVIVED_FOR} days or more {LINES_GONE:.0%} to {REWRITTEN:.0%} of its lines are left.",
        _SURVIVAL,
    ),
    Rule(
        "survived",
        Grade.CORRECT,
        0.95,
        f"It was merged as it is; after {SURVIVED_FOR} days or more at least {REWRITTEN:.0%} of its lines are left.",
        _SURVIVAL + ": survival told right from wrong better than the merge alone",
    ),
    Rule(
        "merged_by_author",
        Grade.WEAKLY_CORRECT,
        0.75,
        "It was merged by its own author, and nobody else who may write approved of it.",
        "arXiv 2105.13970: who merges sways the decision most",
    ),
    Rule(
        "merged_with_help",
        Grade.WEAKLY_CORRECT,
        0.8,
        "It was merged with commits of somebody else than its author in it.",
        _STUDY + ": of merged ones 15.4 % needed a reviewer's feedback or commits",
    ),
    Rule(
        "merged",
        Grade.CORRECT,
        0.9,
        f"It was merged as it is, and nobody took it back for {_WINDOW}.",
        _STUDY + "; UTBoost found wrong patches among those that pass tests, so not 1",
    ),
    Rule(
        "mended",
        Grade.WEAKLY_INCORRECT,
        0.3,
        "Somebody else than its author changed it, and the changed patch was merged.",
        _STUDY,
    ),
    Rule(
        "sent_back",
        Grade.WEAKLY_INCORRECT,
        0.3,
        "A maintainer asked for changes of it, and a changed patch was merged.",
        _STUDY,
    ),
    Rule(
        "unread",
        Grade.UNKNOWN,
        None,
        "Its pull request was merged, and what was merged could not be read.",
        _CAUTION,
    ),
    Rule(
        "changed",
        Grade.UNKNOWN,
        None,
        "Its author changed it, unasked as far as is known, and what came of it was merged.",
        _CAUTION + ": a rebase, a style, a test",
    ),
    Rule(
        "called_right",
        Grade.WEAKLY_CORRECT,
        0.8,
        "Somebody with write permission says by command or button that it is right.",
        "a word, not a deed",
    ),
    Rule(
        "called_wrong",
        Grade.WEAKLY_INCORRECT,
        0.2,
        "Somebody with write permission says by command or button that it is wrong.",
        "a word, not a deed",
    ),
    Rule(
        "words_differ",
        Grade.UNKNOWN,
        None,
        "People with write permission contradict each other.",
        _CAUTION,
    ),
    Rule(
        "landed",
        Grade.WEAKLY_CORRECT,
        0.7,
        f"It was closed, and a commit on the default branch says that it carries it; {_WINDOW} ago.",
        "merge bots; what they changed on the way is not seen",
    ),
    Rule(
        "failed_ci",
        Grade.INCORRECT,
        0.1,
        "It was closed unmerged, and a CI that failed on it succeeded on a rival for the same issue.",
        _STUDY
        + ": 35.7 % of rejected ones are clear failures; the rival shows that the CI is not to blame",
    ),
    Rule(
        "rejected",
        Grade.INCORRECT,
        0.15,
        "A maintainer asked for changes of it, did not take that back, and a maintainer closed it unmerged.",
        _STUDY + "; a stated reason",
    ),
    Rule(
        "superseded",
        Grade.UNKNOWN,
        None,
        "It was closed when a rival was merged.",
        _STUDY + ": 31.2 % of rejections are workflow",
    ),
    Rule(
        "withdrawn",
        Grade.UNKNOWN,
        None,
        "It was closed after its issue was closed as a duplicate or not planned.",
        "arXiv 2601.15195 and 2602.00164: unwanted is not wrong",
    ),
    Rule("closed_by_author", Grade.UNKNOWN, None, "Its author closed it.", "arXiv 2602.04226"),
    Rule(
        "closed_by_bot",
        Grade.UNKNOWN,
        None,
        "A bot closed it.",
        "arXiv 2602.04226: stale ones are closed by clocks",
    ),
    Rule(
        "closed",
        Grade.UNKNOWN,
        None,
        "It was closed, and nobody said what is wrong with it.",
        "arXiv 2602.04226: 67.9 % of rejections say nothing; " + _STUDY + ": 33.1 %",
    ),
    Rule(
        "outdated",
        Grade.UNKNOWN,
        None,
        "A later patch took its place in a pull request that was not merged.",
        _CAUTION,
    ),
    Rule(
        "open", Grade.UNKNOWN, None, "Its pull request is open.", "censored until something happens"
    ),
)

RULES: Mapping[str, Rule] = {one.name: one for one in _RULES}
"""By name, in the order in which the documentation tells them."""

_NO_LINE, _ALL_LINES = 0.6, 0.98


def graded(share: float) -> float:
    """The probability that a merged patch is correct of which this share of lines survived, 0 to 1."""
    return _NO_LINE + (_ALL_LINES - _NO_LINE) * share
