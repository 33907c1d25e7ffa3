"""This module finds rivals that make the same edit, and chooses the rivals that each patch is compared with (pure).

Anybody can submit a second edit, so a copy with other names and spaces is no second opinion. It may still be right
where the original is wrong, so both are judged, but never in the same comparison.
"""

import keyword
import re
from collections.abc import Hashable, Sequence

from model.patches.edits import WORD, PatchEdit

_GRAMMAR = frozenset(keyword.kwlist) - {"False", "None", "True"}
"""Words that are not names."""
_SPACES = re.compile(r"\s+")
_ENDS = re.compile(r"[;\s]+$", re.MULTILINE)
"""Signs at a line's end that have no meaning in some languages."""

Panel = tuple[int, ...]
"""Indices of edits that are compared with each other, one per opinion."""


def build_opinion_key(edit: PatchEdit) -> Hashable:
    """Return a key that is equal for two edits of the same files with the same code.

    Names, comments and places in the files may differ.
    """
    nameless = WORD.sub(
        lambda word: word[0] if word[0] in _GRAMMAR else "N", _ENDS.sub("", edit.code)
    )
    return edit.code_files or edit.file_set, _SPACES.sub(" ", nameless)


def build_panels(edits: Sequence[PatchEdit]) -> list[tuple[int, Panel]]:
    """Return a (representative, panel) pair for each edit, in order, as indices of `edits`.

    The representative is the first edit with exactly the same code. The panel holds the edits to compare:
    the representative and the first edit of each other opinion.
    """
    keys = [build_opinion_key(edit) for edit in edits]
    speakers: dict[Hashable, int] = {}
    first: dict[Hashable, int] = {}
    for seat, edit in enumerate(edits):
        speakers.setdefault((edit.file_set, edit.code), seat)
        first.setdefault(keys[seat], seat)
    speaking = [speakers[edit.file_set, edit.code] for edit in edits]
    return [
        (speaker, tuple(speaker if key == own_key else seat for key, seat in first.items()))
        for speaker, own_key in zip(speaking, keys, strict=True)
    ]
