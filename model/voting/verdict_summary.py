"""The verdicts of a group in one line that names the patches, and the order in which to list them (pure)."""

from collections.abc import Mapping, Sequence
from typing import Final

from model.domain import PatchVerdict, Verdict

_NAMED_AT_MOST: Final = 6
_PHRASES: Final = {
    Verdict.CORRECT: "judged correct",
    Verdict.INCORRECT: "judged incorrect",
    Verdict.UNSURE: "unsure",
    Verdict.NOT_JUDGED: "not judged",
}
"""The verdicts in the order of the line and of every table."""


def summarise_verdicts(patches: Mapping[str, Verdict], count: str) -> str:
    """Return one line about a group, such as `#5 judged correct; #2 and #3 not`.

    `patches` maps names to verdicts. `count` is their number with its noun, such as `3 patches`.
    """
    names = {
        verdict: [name for name, own in patches.items() if own is verdict]
        for verdict in _PHRASES
        if verdict in patches.values()
    }
    whole = next(iter(patches)) if len(patches) == 1 else count
    match tuple(names):
        case (Verdict.CORRECT, Verdict.INCORRECT):
            right, wrong = (join_some(some, _NAMED_AT_MOST) for some in names.values())
            return f"{right} judged correct; {wrong} not"
        case (Verdict.INCORRECT,) if len(patches) > 1:
            return f"none of {count} judged correct"
        case (Verdict.UNSURE,):
            return f"no clear answer for {whole}"
        case (Verdict.NOT_JUDGED,):
            return f"{whole} could not be judged"
    return "; ".join(
        f"{join_some(some, _NAMED_AT_MOST)} {_PHRASES[verdict]}" for verdict, some in names.items()
    )


def join_some(names: Sequence[str], most: int) -> str:
    """Join names with commas and `and`. Of more than `most` names, the rest is counted."""
    shown, more = list(names[:most]), len(names) - most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def get_place(verdict: Verdict) -> int:
    """Return the place of a verdict in a table: correct patches come first."""
    return list(_PHRASES).index(verdict)


def sort_by_verdict(patches: Sequence[PatchVerdict]) -> list[PatchVerdict]:
    """Sort patches by verdict and then by belief, the highest first. Patches without a belief come last."""
    return sorted(patches, key=lambda patch: (get_place(patch.verdict), -_get_belief(patch)))


def _get_belief(patch: PatchVerdict) -> float:
    beliefs = (patch.probability, patch.rank, patch.score)
    return next((belief for belief in beliefs if belief is not None), -1.0)
