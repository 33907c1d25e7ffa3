"""Find the place of a file that is closest to a missing text, and describe the difference (pure)."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Indel

_MOST_CHARACTERS: Final = 1_000
"""Characters of a line that the letter-by-letter comparison uses."""
_MOST_PLACES: Final = 8
"""Equal lines of the wanted text that are counted; more add no information."""
_TELLING: Final = 4
"""Least letters of a line that can locate a text: `}` and `else` are everywhere."""
_LIKE: Final = 0.6
"""Least share of letters that two similar lines have in common."""
_BESIDE: Final = 2
"""Lines shown before and after the closest place."""
_MOST_LINES: Final = 40
_MOST_SHOWN: Final = 4_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines `first` to `last` of a file, counted from 1, both included, and their text."""

    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class ClosestMatch:
    """The place of a file that is most like a text that the file does not contain."""

    excerpt: Excerpt
    difference: str | None
    """How the white space differs, in words; None when more than white space differs."""


def find_closest(text: str, wanted: str) -> ClosestMatch | None:
    """Find the place in a file's `text` that is most like `wanted`; None when no place is like it.

    The lines of both texts end in a line feed.
    """
    return _find_ignoring_spaces(text, wanted) or _find_by_lines(
        split_lines(text), wanted.split("\n")
    )


def split_lines(text: str) -> list[str]:
    """Split a text into its lines, without line feeds. A final line feed starts no new line."""
    return text.removesuffix("\n").split("\n")


def cut_excerpt(lines: Sequence[str], first: int, last: int) -> Excerpt:
    """Return lines `first` to `last` (from 1, both included) of a file, cut to 40 lines and 4,000 characters."""
    first = max(first, 1)
    last = max(first, min(last, len(lines), first + _MOST_LINES - 1))
    shown = "\n".join(lines[first - 1 : last])
    return Excerpt(first, last, shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…")


def _find_ignoring_spaces(text: str, wanted: str) -> ClosestMatch | None:
    letters = _strip_spaces(wanted)
    offset = _strip_spaces(text).find(letters) if letters else -1
    if offset < 0:
        return None
    lines = split_lines(text)
    ends = list(accumulate(len(_strip_spaces(line)) for line in lines))
    first, last = bisect_right(ends, offset), bisect_left(ends, offset + len(letters))
    asked = wanted.strip("\n").split("\n")
    difference = _describe_difference(lines[first : last + 1], asked, first + 1)
    return ClosestMatch(cut_excerpt(lines, first + 1, last + 1), difference)


def _describe_difference(there: Sequence[str], asked: Sequence[str], first: int) -> str:
    """Describe the first difference in white space between lines that are otherwise equal."""
    if len(there) != len(asked):
        return "it has other line breaks or blank lines"
    for index, (have, want) in enumerate(zip(there, asked, strict=True)):
        part_of = have[-len(want) :] if index == 0 else have[: len(want)]
        is_edge = index in {0, len(there) - 1}
        if want not in {have, part_of if is_edge else have}:
            return f"line {first + index} {_compare_line(have, want)}"
    return "the lines before or after it are other ones"


def _compare_line(have: str, want: str) -> str:
    if have.strip() != want.strip():
        return "has other spaces between its words"
    if (there := _get_indent(have)) != (yours := _get_indent(want)):
        return f"begins with {_describe_spaces(there)}, yours with {_describe_spaces(yours)}"
    return f"ends with {_describe_spaces(_get_indent(have[::-1]))}, yours with {_describe_spaces(_get_indent(want[::-1]))}"


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _describe_spaces(run: str) -> str:
    """Describe white space, as in `8 spaces` or `1 tab and 2 spaces`. Rare kinds appear by code point."""
    words = {" ": "space", "\t": "tab", "\r": "carriage return"}
    counted = [
        (len(list(same)), words.get(letter, f"U+{ord(letter):04X} space"))
        for letter, same in groupby(run)
    ]
    parts = [f"{number} {word}{'s' if number > 1 else ''}" for number, word in counted]
    return " and ".join(parts) or "no space"


def _find_by_lines(lines: Sequence[str], wanted: Sequence[str]) -> ClosestMatch | None:
    start = _find_equal_lines(lines, wanted)
    if start is None:
        start = _find_longest_line(lines, wanted)
    if start is None:
        return None
    last = start + len(wanted) - 1
    return ClosestMatch(cut_excerpt(lines, start + 1 - _BESIDE, last + 1 + _BESIDE), None)


def _find_equal_lines(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the start line that matches the most letters, counting lines that are equal except for white space."""
    places: dict[str, list[int]] = {}
    for index, line in enumerate(wanted):
        places.setdefault(_strip_spaces(line), []).append(index)
    votes: Counter[int] = Counter()
    for index, line in enumerate(lines):
        letters = _strip_spaces(line)
        for place in places.get(letters, [])[:_MOST_PLACES] if len(letters) >= _TELLING else ():
            votes[index - place] += len(letters)
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _find_longest_line(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the start line for which the longest wanted line meets its most similar line."""
    index, longest = max(enumerate(wanted), key=lambda pair: len(pair[1].strip()))
    query = longest.strip()[:_MOST_CHARACTERS]
    stripped = [line.strip()[:_MOST_CHARACTERS] for line in lines]
    match = process.extractOne(
        query, stripped, scorer=Indel.normalized_similarity, score_cutoff=_LIKE
    )
    return None if match is None else match[2] - index


def _strip_spaces(text: str) -> str:
    return "".join(text.split())
