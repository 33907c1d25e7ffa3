"""Whether an edit breaks a Python file's indentation, which our grammars forgive (pure)."""

import ast
from typing import Final

_MOST_BYTES: Final = 1_000_000
"""Larger files are hardly written by hand, and would take seconds."""


def complaint(path: str, before: bytes, after: bytes) -> str | None:
    """What Python says of the new indentation; None: nothing, it is no Python, or it was broken before.

    Of indentation alone: of everything else this interpreter may know less than the version the code is for.
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
