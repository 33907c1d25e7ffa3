"""The answer in one line: the headline of a verdict, or the order in which to read unsure patches (pure)."""

from itertools import groupby
from typing import Final

from app.comments.phrases import count_pulls, join_names
from app.comments.views import VerdictView
from app.policy.alternative_policy import format_alternative_id
from model.domain import PatchVerdict, Verdict
from model.voting.verdict_summary import summarise_verdicts

_ORDERED_AT_MOST: Final = 12


def write_headline(view: VerdictView) -> str:
    """Return the verdicts in one line that names the patches, such as `#5 judged correct; #2 and #3 not`."""
    pulls = {f"#{row.pull}": row.verdict.verdict for row in view.rows}
    own: dict[str, Verdict] = {
        format_alternative_id(each.number): each.verdict.verdict for each in view.alternatives
    }
    parts = [summarise_verdicts(pulls, count_pulls(len(pulls)))] if pulls else []
    if own:
        count = "1 alternative" if len(own) == 1 else f"{len(own)} alternatives"
        parts.append(f"by the bot: {summarise_verdicts(own, count)}")
    return "; ".join(parts)


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
