"""The answer in one line: the headline of a verdict, or the order in which to read unsure patches (pure)."""

from collections.abc import Mapping
from itertools import groupby
from typing import Final

from app.comments.phrases import count_pulls, join_names
from app.comments.views import VerdictView
from app.policy.alternative_policy import format_alternative_id
from model.domain import PatchVerdict, Verdict

_NAMED_AT_MOST: Final = 6
_ORDERED_AT_MOST: Final = 12
_PHRASES: Final = {
    Verdict.CORRECT: "judged correct",
    Verdict.INCORRECT: "judged incorrect",
    Verdict.UNSURE: "unsure",
    Verdict.NOT_JUDGED: "not judged",
}
"""The verdicts in the order of the headline and of the table."""


def write_headline(view: VerdictView) -> str:
    """Return the verdicts in one line that names the patches, such as `#5 judged correct; #2 and #3 not`."""
    pulls = {f"#{row.pull}": row.verdict.verdict for row in view.rows}
    own: dict[str, Verdict] = {
        format_alternative_id(each.number): each.verdict.verdict for each in view.alternatives
    }
    parts = [_summarize(pulls, count_pulls(len(pulls)))] if pulls else []
    if own:
        count = "1 alternative" if len(own) == 1 else f"{len(own)} alternatives"
        parts.append(f"by the bot: {_summarize(own, count)}")
    return "; ".join(parts)


def get_place(verdict: Verdict) -> int:
    """Return the place of a verdict in the table: correct patches come first."""
    return list(_PHRASES).index(verdict)


def _summarize(patches: Mapping[str, Verdict], count: str) -> str:
    """Summarize the verdicts by patch; `count` is the number of patches with its noun."""
    names = {
        verdict: [name for name, own in patches.items() if own is verdict]
        for verdict in _PHRASES
        if verdict in patches.values()
    }
    whole = next(iter(patches)) if len(patches) == 1 else count
    match tuple(names):
        case (Verdict.CORRECT, Verdict.INCORRECT):
            right, wrong = map(_join_some, names.values())
            return f"{right} judged correct; {wrong} not"
        case (Verdict.INCORRECT,) if len(patches) > 1:
            return f"none of {count} judged correct"
        case (Verdict.UNSURE,):
            return f"no clear answer for {whole}"
        case (Verdict.NOT_JUDGED,):
            return f"{whole} could not be judged"
    return "; ".join(f"{_join_some(some)} {_PHRASES[verdict]}" for verdict, some in names.items())


def _join_some(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return join_names([*names[:_NAMED_AT_MOST], f"{more} more"] if more > 0 else names)


def write_reading_order(view: VerdictView) -> str:
    """Return the order in which to read the patches, marked as no claim.

    The text is empty when the settings want none, when a patch has a claim, when the scores tell no patch from another,
    and when the model is only good for a demonstration.
    """
    judged = [patch for patch in view.verdicts if patch.verdict is not Verdict.NOT_JUDGED]
    if not view.has_reading_order or view.is_demonstration or len(judged) < 2:
        return ""
    if any(patch.verdict is not Verdict.UNSURE or _get_belief(patch) is None for patch in judged):
        return ""
    ranked = sorted(judged[:_ORDERED_AT_MOST], key=_rank)
    places = [[patch.id for patch in group] for _, group in groupby(ranked, _rank)]
    if len(places) == 1:
        return ""
    order = ", then ".join(map(join_names, places))
    return f"To read them in some order: {order}. This order follows the scores and claims nothing."


def _get_belief(patch: PatchVerdict) -> float | None:
    """Return the number that orders the patches of a group; None: there is none."""
    return patch.score if patch.rank is None else patch.rank


def _rank(patch: PatchVerdict) -> float:
    """Return the sort key: higher numbers come first, and two digits tell them apart."""
    return -round(_get_belief(patch) or 0.0, 2)
