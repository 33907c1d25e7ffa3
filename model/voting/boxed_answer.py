"""From a reply's text to the seats it names: the last box wins, and nothing is guessed (pure)."""

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


def box_content(reply: str) -> str | None:
    r"""What the last `\boxed{…}` holds, braces balanced; None when there is no box or the last stays open."""
    opening = _last_opening(reply)
    if opening is None:
        return None
    depth = 1
    for at in range(opening.end(), len(reply)):
        depth += {"{": 1, "}": -1}.get(reply[at], 0)
        if depth == 0:
            return reply[opening.end() : at]
    return None


def without_open_box(reply: str) -> str:
    """The reply up to a last box that was never closed; the whole reply when there is none."""
    opening = _last_opening(reply)
    return reply if opening is None or box_content(reply) is not None else reply[: opening.start()]


def read_box(reply: str, occupied: Collection[int]) -> frozenset[int]:
    """The seats that the last box names, counted from 1; an empty box says that all patches are wrong.

    `occupied` are the seats with a patch in them. Raises UnreadableAnswer for no box, for anything but
    numbers, for a number twice, and for a seat that is empty or does not exist (R4P, section 3: an answer
    without a box earns nothing; one with a wrong name says nothing either).
    """
    content = box_content(reply)
    if content is None:
        raise UnreadableAnswer("the reply has no closed \\boxed{}")
    seats = _numbers(content)
    if len(set(seats)) < len(seats):
        raise UnreadableAnswer(f"the box names a patch twice: {_shown(content)}")
    if strange := sorted(set(seats) - set(occupied)):
        raise UnreadableAnswer(
            f"the box names patch {strange[0]}, which was not there: {_shown(content)}"
        )
    return frozenset(seats)


def _numbers(content: str) -> list[int]:
    plain = _SPACING.sub(" ", _WRAPPER.sub(r"\1", content))
    words = _SEPARATOR.split(_LABELLED.sub("", plain.replace("\\&", "&")).strip())
    if words == [""]:
        return []
    matches = [_ID.fullmatch(word) for word in words if word]
    if not all(matches):
        raise UnreadableAnswer(
            f"the box holds something other than patch numbers: {_shown(content)}"
        )
    return [int(match[1]) for match in matches if match]


def _shown(content: str) -> str:
    return repr(content if len(content) <= 40 else content[:39] + "…")


def _last_opening(reply: str) -> re.Match[str] | None:
    return next(iter(deque(_OPEN.finditer(reply), maxlen=1)), None)
