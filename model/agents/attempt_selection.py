"""Which of several attempts made the same edit, and whose patch to show where nobody judges them (pure)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from model.voting.selection import edit_of


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several attempts by its place, or none; and why, for a person."""

    chosen: int | None
    why: str


def same_edits(patches: Sequence[str | None]) -> tuple[int | None, ...]:
    """For each patch the place of the first one that makes the same edit; None where there is no patch."""
    first: dict[str, int] = {}
    return tuple(
        None if patch is None else first.setdefault(edit_of(patch) or patch, at)
        for at, patch in enumerate(patches)
    )


def choice(patches: Sequence[str | None]) -> Choice:
    """The edit that most attempts made, the earliest of those that tie: all that can be said without a judge."""
    counts = Counter(at for at in same_edits(patches) if at is not None)
    if not counts:
        return Choice(None, f"none of {len(patches)} attempts handed in a patch")
    chosen, most = max(counts.items(), key=lambda one: (one[1], -one[0]))
    if len(counts) == 1:
        return Choice(chosen, f"the only edit, made by {most} of {len(patches)} attempts")
    rivals = sum(count == most for count in counts.values())
    if rivals == 1:
        return Choice(chosen, f"the edit of most attempts, made by {most} of {len(patches)}")
    return Choice(
        chosen, f"the first of {rivals} different edits with {most} of {len(patches)} attempts each"
    )
