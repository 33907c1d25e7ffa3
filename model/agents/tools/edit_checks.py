"""Reasons to refuse an edit beside its syntax: broken indentation and lone carriage returns (pure)."""

import ast
import re
from typing import Final

_MOST_BYTES: Final = 1_000_000
"""Nobody writes larger files by hand, and parsing them takes seconds."""
_ALONE = re.compile(rb"\r(?!\n)")


def check_indentation(path: str, before: bytes, after: bytes) -> str | None:
    """Return Python's message when an edit breaks the indentation of a Python file; None otherwise.

    `before` and `after` are the file's content. A file that was broken before the edit is not checked. Other syntax
    errors are ignored: the code may be for a newer Python than this interpreter.
    """
    if not path.endswith((".py", ".pyi")) or len(after) > _MOST_BYTES:
        return None
    error = _find_syntax_error(after)
    if not isinstance(error, IndentationError) or _find_syntax_error(before) is not None:
        return None
    return f"{path}, line {error.lineno}: {error.msg}"


def _find_syntax_error(content: bytes) -> Exception | None:
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error
    return None


def check_carriage_returns(path: str, before: bytes, after: bytes) -> str | None:
    """Return a message for the model when an edit adds a lone carriage return to a file; None otherwise.

    `before` and `after` are the file's content. A file whose lines all end in CR may have more of them.
    """
    if b"\r" in before and b"\n" not in before:
        return None
    if len(_ALONE.findall(after)) <= len(_ALONE.findall(before)):
        return None
    return (
        f"{path} would hold a carriage return without a line feed, and no diff shows what follows as a line of its "
        "own; end lines as the file does"
    )
