"""Names that somebody who reads an issue could look up (pure)."""

import keyword
import re

_NAME = re.compile(r"[^\W\d]\w*")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_IN_TICKS = re.compile(r"`([^`\n]+)`")
_BLOCK_LINE = re.compile(r"^(?: {4}|\t|>>> ?|\.\.\. ?)(.*)$", re.MULTILINE)
_CASES = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]{2}")
_CALLED = re.compile(r"([^\W\d]\w*)\(")
_DOTTED = re.compile(r"(?:[^\W\d]\w*\.)+[^\W\d]\w*")
_TRACED = re.compile(r", in ([^\W\d]\w*)$", re.MULTILINE)
_KEYWORDS = frozenset(keyword.kwlist)


def words(text: str) -> tuple[str, ...]:
    """Everything that may be a name, in the order it comes, without Python's own words."""
    return tuple(dict.fromkeys(one for one in _NAME.findall(text) if one not in _KEYWORDS))


def code(text: str) -> tuple[str, ...]:
    """Those that are written as code somewhere: quoted as such, dotted, called, in a traceback, or by their spelling."""
    marked = [*_FENCED.findall(text), *_IN_TICKS.findall(text), *_BLOCK_LINE.findall(text)]
    marked += [*_CALLED.findall(text), *_DOTTED.findall(text), *_TRACED.findall(text)]
    there = set(words("\n".join(marked)))
    return tuple(one for one in words(text) if one in there or _is_spelled_as_code(one))


def _is_spelled_as_code(name: str) -> bool:
    return "_" in name or bool(_CASES.search(name))
