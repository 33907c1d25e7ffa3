"""Long texts in pages of whole lines, each of which says what it shows (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PAGE_CHARACTERS: Final = 10_000
"""Of text on a page, its headings beside it: about a tenth of what an attempt may read in all."""
_LINE_CHARACTERS: Final = 2_000
"""Longer lines are data or were written by a program."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text under a heading, which is repeated where the text goes on on the next page."""

    heading: str
    text: str


def pages(blocks: Sequence[Block], size: int = PAGE_CHARACTERS) -> tuple[str, ...]:
    """Every line of every block in order, cut into pages; at least one line stands on each."""
    done: list[str] = []
    page: list[str] = []
    room = size
    for block in blocks:
        page.append(block.heading)
        for line in _lines(block.text):
            if len(line) > room < size:
                done.append("\n".join(page))
                page, room = [f"{block.heading} (continued)"], size
            page.append(line)
            room -= len(line) + 1
    return (*done, "\n".join(page))


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").split("\n"):
        more = len(line) - _LINE_CHARACTERS
        yield line if more <= 0 else f"{line[:_LINE_CHARACTERS]}… ({more:,} more characters)"
