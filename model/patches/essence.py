"""This module reduces source text to its meaning: the text without blank lines and, in Python, without comments (pure).

Two texts with the same essence run alike. In doubt a difference counts: a text that Python's own tokenizer cannot read
keeps all, and so does a text of another language apart from blank lines and blanks at line ends. Indentation and the
contents of strings always count.
"""

import io
import re
import tokenize
from typing import Final

MOST_BYTES: Final = 256 * 1024
"""Longest text that is reduced. Python's tokenizer needs about a second for a megabyte."""

_PYTHON: Final = (".py", ".pyi")
_DECLARATION: Final = re.compile(r"#!|.*coding[:=]")
"""A comment that names the interpreter, or the encoding as PEP 263 says. It has a meaning in the first two lines."""


def reduce_source(path: str, data: bytes) -> bytes:
    """Return the essence of the file `path` with the content `data`, or `data` itself when that is not text."""
    if len(data) > MOST_BYTES or b"\0" in data:
        return data
    if path.endswith(_PYTHON):
        return _reduce_python(data)
    return b"\n".join(_trim(line) for line in data.split(b"\n") if line.strip())


def _trim(line: bytes) -> bytes:
    """Remove blanks at the end of a line, unless a backslash before them joins lines only without them."""
    trimmed = line.rstrip(b" \t")
    return line if trimmed.endswith(b"\\") else trimmed


def _reduce_python(data: bytes) -> bytes:
    try:
        tokens = [
            f"{token.type} {token.string!r}"
            for token in tokenize.generate_tokens(io.StringIO(data.decode()).readline)
            if not _is_meaningless(token)
        ]
    except (UnicodeDecodeError, tokenize.TokenError, SyntaxError):
        return data
    return "\n".join(["tokens", *tokens]).encode(errors="surrogatepass")


def _is_meaningless(token: tokenize.TokenInfo) -> bool:
    if token.type == tokenize.COMMENT:
        return token.start[0] > 2 or not _DECLARATION.match(token.string)
    return token.type == tokenize.NL
