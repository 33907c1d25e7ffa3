"""Carriage returns without a line feed: to Python and to a terminal they end a line, to a diff they don't (pure).

So they can hide code from whoever reads the patch.
"""

import re

_ALONE = re.compile(rb"\r(?!\n)")


def complaint(path: str, before: bytes, after: bytes) -> str | None:
    """What is wrong with the new line ends; None: nothing. Files whose lines all end so may have more of them."""
    if b"\r" in before and b"\n" not in before:
        return None
    if len(_ALONE.findall(after)) <= len(_ALONE.findall(before)):
        return None
    return (
        f"{path} would hold a carriage return without a line feed, and no diff shows what follows as a line of its "
        "own; end lines as the file does"
    )
