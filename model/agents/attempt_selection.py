"""Compare the patches of several attempts and choose one to show (pure)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.voting.selection import fingerprint_edit


@dataclass(frozen=True, slots=True)
class AttemptSelection:
    """The choice among several attempts: the index from 0 (None: no attempt has a patch), and the reason in words."""

    index: int | None
    why: str
    execution: Mapping[str, Any] | None = None
    """What tests showed of all patches: the field `execution` of `r4p.proposal/1`. None where none ran for this choice."""


def find_equal_edits(patches: Sequence[str | None]) -> tuple[int | None, ...]:
    """Return, for each patch, the index of the first patch with the same edit; None where there is no patch."""
    first: dict[str, int] = {}
    return tuple(
        None if patch is None else first.setdefault(fingerprint_edit(patch) or patch, index)
        for index, patch in enumerate(patches)
    )


def choose_tested_attempt(
    patches: Sequence[str | None], preferred: Collection[int], execution: Mapping[str, Any]
) -> AttemptSelection:
    """Choose like `choose_attempt`, but only among the attempts that the tests prefer, by their indices.

    `execution` is what the tests showed.
    """
    kept = [patch if index in preferred else None for index, patch in enumerate(patches)]
    chosen = choose_attempt(kept)
    most = sum(patch is not None for patch in patches)
    why = f"{chosen.why}; the tests prefer {len(preferred)} of {most} patches"
    return AttemptSelection(chosen.index, why, execution)


def choose_attempt(patches: Sequence[str | None]) -> AttemptSelection:
    """Choose the edit that most attempts made. The earliest attempt wins a tie.

    `patches` holds the diff of each attempt; None is an attempt without a patch.
    """
    counts = Counter(index for index in find_equal_edits(patches) if index is not None)
    if not counts:
        return AttemptSelection(None, f"none of {len(patches)} attempts handed in a patch")
    chosen, most = max(counts.items(), key=lambda entry: (entry[1], -entry[0]))
    if len(counts) == 1:
        return AttemptSelection(chosen, f"the only edit, made by {most} of {len(patches)} attempts")
    rivals = sum(count == most for count in counts.values())
    if rivals == 1:
        return AttemptSelection(
            chosen, f"the edit of most attempts, made by {most} of {len(patches)}"
        )
    return AttemptSelection(
        chosen, f"the first of {rivals} different edits with {most} of {len(patches)} attempts each"
    )
