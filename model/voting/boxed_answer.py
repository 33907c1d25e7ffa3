"""This module reads the seats in a reply's last box, and the probabilities beside it, and never guesses (pure)."""

import re
from collections import deque
from collections.abc import Collection

from model.errors import UnreadableAnswer

_OPEN = re.compile(r"\\boxed\s*\{")
_WRAPPER = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_SPACING = re.compile(r"\\[,;:! ]|~|\$")
_SEPARATOR = re.compile(r"\s*(?:,|;|&|\band\b)\s*|\s+", re.IGNORECASE)
_LABELLED = re.compile(r"\bpatch(?:es)?[\s_-]*(?=#?\d)", re.IGNORECASE)
_ID = re.compile(r"#?([1-9][0-9]{0,3})", re.ASCII)
_STATED = re.compile(
    r"\bpatch[\s_-]*#?([1-9][0-9]?)[*_]*\s*[:=][*_]*\s*([01]?\.[0-9]{1,4}|[0-9]{1,3}(?:\.[0-9])?\s*%)(?![\w%.]*\d)",
    re.IGNORECASE,
)
"""`Patch 1: 0.35`, also in bold, and `Patch 1: 35 %`."""


def find_box_content(reply: str) -> str | None:
    r"""Return the content of the last `\boxed{…}` with balanced braces, or None without a closed box."""
    opening = _find_last_opening(reply)
    if opening is None:
        return None
    depth = 1
    for position in range(opening.end(), len(reply)):
        depth += {"{": 1, "}": -1}.get(reply[position], 0)
        if depth == 0:
            return reply[opening.end() : position]
    return None


def drop_open_box(reply: str) -> str:
    """Return a reply without its last box, and the text after it, if that box was never closed."""
    opening = _find_last_opening(reply)
    return (
        reply
        if opening is None or find_box_content(reply) is not None
        else reply[: opening.start()]
    )


def read_box(reply: str, occupied: Collection[int]) -> frozenset[int]:
    """Return the seats in a reply's last box, counted from 1. An empty box says that all patches are wrong.

    `occupied` are the seats with a patch. Raises UnreadableAnswer for a missing box, for anything but numbers, for a
    repeated number, and for a seat that is empty or does not exist. In the paper an answer without a box earns nothing
    (R4P, section 3); a wrong number gives no information either.
    """
    content = find_box_content(reply)
    if content is None:
        raise UnreadableAnswer("the reply has no closed \\boxed{}")
    seats = _read_numbers(content)
    if len(set(seats)) < len(seats):
        raise UnreadableAnswer(f"the box names a patch twice: {_shorten(content)}")
    if strange := sorted(set(seats) - set(occupied)):
        raise UnreadableAnswer(
            f"the box names patch {strange[0]}, which the prompt did not show: {_shorten(content)}"
        )
    return frozenset(seats)


def read_probabilities(reply: str) -> dict[int, float]:
    """Return the probability that a reply states last about each seat, counted from 1. Values above 1 are left out."""
    stated = {}
    for seat, text in _STATED.findall(reply):
        value = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
        if value <= 1:
            stated[int(seat)] = value
    return stated


def _read_numbers(content: str) -> list[int]:
    plain = _SPACING.sub(" ", _WRAPPER.sub(r"\1", content))
    words = _SEPARATOR.split(_LABELLED.sub("", plain.replace("\\&", "&")).strip())
    if words == [""]:
        return []
    matches = [_ID.fullmatch(word) for word in words if word]
    if not all(matches):
        raise UnreadableAnswer(
            f"the box holds something other than patch numbers: {_shorten(content)}"
        )
    return [int(match[1]) for match in matches if match]


def _shorten(content: str) -> str:
    return repr(content if len(content) <= 40 else content[:39] + "…")


def _find_last_opening(reply: str) -> re.Match[str] | None:
    return next(iter(deque(_OPEN.finditer(reply), maxlen=1)), None)
