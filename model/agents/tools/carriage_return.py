"""Refuse new carriage returns without a line feed (pure).

Python and terminals end a line there, a diff does not. So they can hide code from a reviewer.
"""

import re

_ALONE = re.compile(rb"\r(?!\n)")


def check_carriage_returns(path: str, before: bytes, after: bytes) -> str | None:
    """Return a complaint when the edit adds a lone carriage return; None otherwise.

    A file whose lines all end in CR may have more of them.
    """
    if b"\r" in before and b"\n" not in before:
        return None
    if len(_ALONE.findall(after)) <= len(_ALONE.findall(before)):
        return None
    return (
        f"{path} would hold a carriage return without a line feed, and no diff shows what follows as a line of its "
        "own; end lines as the file does"
    )
