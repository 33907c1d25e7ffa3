"""Long texts in pages of whole lines, each of which says what it shows (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

_LINE_CHARACTERS: Final = 2_000
"""Longer lines are data or were written by a program."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text under a heading, which is repeated where the text goes on on the next page."""

    heading: str
    text: str


def pages(blocks: Sequence[Block], size: int) -> tuple[str, ...]:
    """Every line of every block in order, cut into pages of `size` characters; at least one line stands on each."""
    done: list[str] = []
    page: list[str] = []
    room = size
    for block in blocks:
        heading = block.heading
        for first, line in zip(chain([True], repeat(False)), _lines(block.text), strict=False):
            wanted = len(line) + 1 + (len(heading) + 1) * first
            if page and wanted > room:
                done.append("\n".join(page))
                page, room = [], size
            if first or not page:
                page.append(heading if first else f"{heading} (continued)")
                room -= len(page[-1]) + 1
            page.append(line)
            room -= len(line) + 1
    return (*done, "\n".join(page))


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").split("\n"):
        more = len(line) - _LINE_CHARACTERS
        yield line if more <= 0 else f"{line[:_LINE_CHARACTERS]}… ({more:,} more characters)"
