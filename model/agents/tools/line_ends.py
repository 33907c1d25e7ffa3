"""Carriage returns without a line feed: to Python and to a terminal they end a line, to a diff they don't (pure).

So they can hide code from whoever reads the patch.
"""

import re

_ALONE = re.compile(r"\r(?!\n)")
_ALONE_RAW = re.compile(rb"\r(?!\n)")


def complaint(path: str, before: bytes, after: bytes) -> str | None:
    """What is wrong with the new line ends; None: nothing. Files whose lines all end so may have more of them."""
    if b"\r" in before and b"\n" not in before:
        return None
    if len(_ALONE_RAW.findall(after)) <= len(_ALONE_RAW.findall(before)):
        return None
    return (
        f"{path} would hold a carriage return without a line feed, and no diff shows what follows as a line of its "
        "own; end lines as the file does"
    )


def shown(text: str) -> str:
    """A text with those escaped, as untrusted text is; whoever copies the escape means the character."""
    return _ALONE.sub("⟦U+000D⟧", text)
