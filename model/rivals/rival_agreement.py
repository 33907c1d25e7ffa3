"""Which rivals say the same, and whom each is therefore compared with (pure).

Where anybody may hand in a second edit, one that differs in names and spaces alone is no second opinion. It may still
be right where the other is wrong, so each is judged, but never beside the other.
"""

import keyword
import re
from collections.abc import Hashable, Sequence

from model.patches.edits import WORD, Edit

_GRAMMAR = frozenset(keyword.kwlist) - {"False", "None", "True"}
"""Words that name nothing."""
_SPACES = re.compile(r"\s+")
_ENDS = re.compile(r"[;\s]+$", re.MULTILINE)
"""A sign at a line's end that says nothing where it may be left out."""

Panel = tuple[int, ...]
"""Seats that are compared with each other, one for each opinion."""


def opinion(edit: Edit) -> Hashable:
    """Equal for edits that say the same of the same files, whatever their names, comments and places are."""
    nameless = WORD.sub(
        lambda word: word[0] if word[0] in _GRAMMAR else "N", _ENDS.sub("", edit.code)
    )
    return edit.coded or edit.file_set, _SPACES.sub(" ", nameless)


def panels(edits: Sequence[Edit]) -> list[tuple[int, Panel]]:
    """For each edit the seat that speaks for it, and whom that is compared with: itself and the first of each other opinion.

    The seat is its own, or that of the first edit with the very same code.
    """
    said = [opinion(edit) for edit in edits]
    speakers: dict[Hashable, int] = {}
    first: dict[Hashable, int] = {}
    for seat, edit in enumerate(edits):
        speakers.setdefault((edit.file_set, edit.code), seat)
        first.setdefault(said[seat], seat)
    speaking = [speakers[edit.file_set, edit.code] for edit in edits]
    return [
        (speaker, tuple(speaker if one == what else head for one, head in first.items()))
        for speaker, what in zip(speaking, said, strict=True)
    ]
