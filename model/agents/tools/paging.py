"""Split long texts into pages of whole lines under their headings (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

_LINE_CHARACTERS: Final = 2_000
"""Longer lines are data or generated, so the rest of them is cut."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A text under a heading, to be shown on one or more pages. A page that continues it repeats the heading."""

    heading: str
    text: str


def split_into_pages(blocks: Sequence[PageSection], size: int) -> tuple[str, ...]:
    """Split all sections into pages of about `size` characters. Each page has at least one line."""
    done: list[str] = []
    page: list[str] = []
    room = size
    for block in blocks:
        heading = block.heading
        for first, line in zip(
            chain([True], repeat(False)), _split_lines(block.text), strict=False
        ):
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


def _split_lines(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").split("\n"):
        more = len(line) - _LINE_CHARACTERS
        yield line if more <= 0 else f"{line[:_LINE_CHARACTERS]}… ({more:,} more characters)"
