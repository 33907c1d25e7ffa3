"""Check that an edit keeps a Python file's indentation valid, which tree-sitter ignores (pure)."""

import ast
from typing import Final

_MOST_BYTES: Final = 1_000_000
"""Nobody writes larger files by hand, and parsing them takes seconds."""


def check_indentation(path: str, before: bytes, after: bytes) -> str | None:
    """Return Python's complaint about new indentation; None for other files or a file that was broken before.

    Other syntax errors are ignored: the code may be for a newer Python than this interpreter.
    """
    if not path.endswith((".py", ".pyi")) or len(after) > _MOST_BYTES:
        return None
    error = _error(after)
    if not isinstance(error, IndentationError) or _error(before) is not None:
        return None
    return f"{path}, line {error.lineno}: {error.msg}"


def _error(content: bytes) -> Exception | None:
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error
    return None
