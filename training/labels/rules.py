"""Define the rules that label patches: their condition, probability and source (pure).

`docs/labels.md` lists them. The probabilities are assumptions from the cited studies. Hand-checked labels
correct them, see `training/labels/audit.py`.
"""

from collections.abc import Mapping
from datetime import timedelta

from training.labels.label_rule import LabelGrade, Rule

RULE_VERSION = 4
"""Increase with every change of meaning here or in `labels.py`. Labels are never stored, so all history
follows.
"""

HOLD_PERIOD = timedelta(days=14)
"""A merge or closing counts once nobody has reverted it for this long."""

REVERT_WINDOW = timedelta(days=90)
"""A later revert says nothing about the patch: needs may have changed."""

MIN_SURVIVAL_DAYS = 30
"""Surviving lines count from this age, in days. Before that, few people have worked on them."""

SURVIVAL_COUNTS = frozenset({"after_30_days", "after_90_days"})
"""Names of the survival counts that are old enough. The last one decides."""

LINES_GONE_SHARE = 0.1
"""Below this share of surviving lines the patch was replaced for an unknown reason."""

REWRITTEN_SHARE = 0.5
"""Below this share of surviving lines most of the patch was rewritten."""

WEAK_WEIGHT = 0.5
"""Weight of a weak label in a fit or a share. Others weigh 1."""


_WINDOW = f"{HOLD_PERIOD.days} days"
_STUDY = "arXiv 2605.22534"
_SURVIVAL = "arXiv 2603.03800"
_CAUTION = "caution"

CHECKED_RULES = {True: "checked_right", False: "checked_wrong"}
"""Names of the rules for hand-checked patches, by truth. They override all others."""

_RULES = (
    Rule(
        "checked_right",
        LabelGrade.CORRECT,
        0.99,
        "Somebody looked at it for `r4p labels audit`, and found it correct.",
        "the truth, but for oversights",
    ),
    Rule(
        "checked_wrong",
        LabelGrade.INCORRECT,
        0.01,
        "Somebody looked at it for `r4p labels audit`, and found it incorrect.",
        "the truth, but for oversights",
    ),
    Rule(
        "reverted",
        LabelGrade.INCORRECT,
        0.05,
        f"It was merged or landed, and taken back within {REVERT_WINDOW.days} days.",
        "a deed against the patch itself",
    ),
    Rule(
        "reverted_late",
        LabelGrade.UNKNOWN,
        None,
        f"It was merged or landed, and taken back after more than {REVERT_WINDOW.days} days.",
        _CAUTION + ": by then needs have changed",
    ),
    Rule(
        "issue_reopened",
        LabelGrade.UNKNOWN,
        None,
        "It was merged or landed, and its issue was opened again.",
        _CAUTION + ": an issue may hold more than one fault",
    ),
    Rule(
        "disputed",
        LabelGrade.UNKNOWN,
        None,
        "It was merged or closed, and a maintainer's word says the opposite.",
        _CAUTION,
    ),
    Rule(
        "lately",
        LabelGrade.UNKNOWN,
        None,
        f"It was merged or closed less than {_WINDOW} ago.",
        "censored, as open pull requests are",
    ),
    Rule(
        "lines_gone",
        LabelGrade.UNKNOWN,
        None,
        f"It was merged; after {MIN_SURVIVAL_DAYS} days or more fewer than {LINES_GONE_SHARE:.0%} of its lines are left, "
        "and no revert names it.",
        _SURVIVAL + "; replaced by a better fix, or moved: not known",
    ),
    Rule(
        "rewritten",
        LabelGrade.WEAKLY_CORRECT,
        0.71,
        f"It was merged as it is; after {MIN_SURVIVAL_DAYS} days or more {LINES_GONE_SHARE:.0%} to {REWRITTEN_SHARE:.0%} of its lines are left.",
        _SURVIVAL,
    ),
    Rule(
        "survived",
        LabelGrade.CORRECT,
        0.95,
        f"It was merged as it is; after {MIN_SURVIVAL_DAYS} days or more at least {REWRITTEN_SHARE:.0%} of its lines are left.",
        _SURVIVAL + ": survival told right from wrong better than the merge alone",
    ),
    Rule(
        "merged_by_author",
        LabelGrade.WEAKLY_CORRECT,
        0.75,
        "It was merged by its own author, and nobody else who may write approved of it.",
        "arXiv 2105.13970: who merges sways the decision most",
    ),
    Rule(
        "merged_with_help",
        LabelGrade.WEAKLY_CORRECT,
        0.8,
        "It was merged with commits of somebody else than its author in it.",
        _STUDY + ": of merged ones 15.4 % needed a reviewer's feedback or commits",
    ),
    Rule(
        "merged",
        LabelGrade.CORRECT,
        0.9,
        f"It was merged as it is, and nobody took it back for {_WINDOW}.",
        _STUDY + "; UTBoost found wrong patches among those that pass tests, so not 1",
    ),
    Rule(
        "mended",
        LabelGrade.WEAKLY_INCORRECT,
        0.3,
        "Somebody else than its author changed it, and the changed patch was merged.",
        _STUDY,
    ),
    Rule(
        "sent_back",
        LabelGrade.WEAKLY_INCORRECT,
        0.3,
        "A maintainer asked for changes of it, and a changed patch was merged.",
        _STUDY,
    ),
    Rule(
        "unread",
        LabelGrade.UNKNOWN,
        None,
        "Its pull request was merged, and what was merged could not be read.",
        _CAUTION,
    ),
    Rule(
        "changed",
        LabelGrade.UNKNOWN,
        None,
        "Its author changed it, unasked as far as is known, and what came of it was merged.",
        _CAUTION + ": a rebase, a style, a test",
    ),
    Rule(
        "called_right",
        LabelGrade.WEAKLY_CORRECT,
        0.8,
        "Somebody with write permission says by command or button that it is right.",
        "a word, not a deed",
    ),
    Rule(
        "called_wrong",
        LabelGrade.WEAKLY_INCORRECT,
        0.2,
        "Somebody with write permission says by command or button that it is wrong.",
        "a word, not a deed",
    ),
    Rule(
        "words_differ",
        LabelGrade.UNKNOWN,
        None,
        "People with write permission contradict each other.",
        _CAUTION,
    ),
    Rule(
        "landed",
        LabelGrade.WEAKLY_CORRECT,
        0.7,
        f"It was closed, and git finds its patch in a commit on the default branch that names it; {_WINDOW} ago.",
        "merge bots; what they changed on the way is not seen",
    ),
    Rule(
        "failed_ci",
        LabelGrade.INCORRECT,
        0.1,
        "It was closed unmerged, and a CI that failed on it succeeded on a rival for the same issue.",
        _STUDY
        + ": 35.7 % of rejected ones are clear failures; the rival shows that the CI is not to blame",
    ),
    Rule(
        "rejected",
        LabelGrade.INCORRECT,
        0.15,
        "A maintainer asked for changes of it, did not take that back, and a maintainer closed it unmerged.",
        _STUDY + "; a stated reason",
    ),
    Rule(
        "superseded",
        LabelGrade.UNKNOWN,
        None,
        "It was closed when a rival was merged.",
        _STUDY + ": 31.2 % of rejections are workflow",
    ),
    Rule(
        "withdrawn",
        LabelGrade.UNKNOWN,
        None,
        "It was closed after its issue was closed as a duplicate or not planned.",
        "arXiv 2601.15195 and 2602.00164: unwanted is not wrong",
    ),
    Rule("closed_by_author", LabelGrade.UNKNOWN, None, "Its author closed it.", "arXiv 2602.04226"),
    Rule(
        "closed_by_bot",
        LabelGrade.UNKNOWN,
        None,
        "A bot closed it.",
        "arXiv 2602.04226: stale ones are closed by clocks",
    ),
    Rule(
        "closed_for_quota",
        LabelGrade.UNKNOWN,
        None,
        "Its author closed it and opened another one within an hour, as GitHub's cap on open pull requests makes people do.",
        "GitHub's cap of June 2026",
    ),
    Rule(
        "closed_by_gate",
        LabelGrade.UNKNOWN,
        None,
        "A bot closed it within an hour of its opening.",
        "vouch lists and rules on who may contribute: nobody looked at the patch",
    ),
    Rule(
        "hidden",
        LabelGrade.UNKNOWN,
        None,
        "It was closed, and locked as spam or as off-topic.",
        "GitHub takes archived pull requests out of view and gives no reason",
    ),
    Rule(
        "closed",
        LabelGrade.UNKNOWN,
        None,
        "It was closed, and nobody said what is wrong with it.",
        "arXiv 2602.04226: 67.9 % of rejections say nothing; " + _STUDY + ": 33.1 %",
    ),
    Rule(
        "outdated",
        LabelGrade.UNKNOWN,
        None,
        "A later patch took its place in a pull request that was not merged.",
        _CAUTION,
    ),
    Rule(
        "open",
        LabelGrade.UNKNOWN,
        None,
        "Its pull request is open.",
        "censored until something happens",
    ),
)

RULES: Mapping[str, Rule] = {rule.name: rule for rule in _RULES}
"""All rules by name, in the order of the documentation."""

_NO_LINE, _ALL_LINES = 0.6, 0.98


def estimate_from_survival(share: float) -> float:
    """Return the probability that a merged patch is correct, from the share (0 to 1) of its lines that survive."""
    return _NO_LINE + (_ALL_LINES - _NO_LINE) * share
