"""Normalise source text: remove what changes no behaviour, so that equal texts run alike (pure).

- In Python: comments, blank lines and the blanks inside a line, by Python's own tokenizer.
- In other languages: blank lines, and blanks at line ends.
- A text that the tokenizer cannot read stays as it is.

Indentation and the contents of strings always count.
"""

import io
import re
import tokenize
from typing import Final

MOST_BYTES: Final = 256 * 1024
"""Longest text that is normalised. Python's tokenizer needs about a second for a megabyte."""

_PYTHON: Final = (".py", ".pyi")
_DECLARATION: Final = re.compile(r"#!|.*coding[:=]")
"""A comment that names the interpreter, or the encoding as PEP 263 says. It has an effect in the first two lines."""


def normalise_source(path: str, data: bytes) -> bytes:
    """Return the normalised source of the file `path` with the content `data`; `data` itself when it is no text."""
    if len(data) > MOST_BYTES or b"\0" in data:
        return data
    if path.endswith(_PYTHON):
        return _normalise_python(data)
    return b"\n".join(_trim(line) for line in data.split(b"\n") if line.strip())


def _trim(line: bytes) -> bytes:
    """Remove blanks at the end of a line, unless a backslash before them joins lines only without them."""
    trimmed = line.rstrip(b" \t")
    return line if trimmed.endswith(b"\\") else trimmed


def _normalise_python(data: bytes) -> bytes:
    try:
        tokens = [
            f"{token.type} {token.string!r}"
            for token in tokenize.generate_tokens(io.StringIO(data.decode()).readline)
            if not _is_without_effect(token)
        ]
    except (UnicodeDecodeError, tokenize.TokenError, SyntaxError):
        return data
    return "\n".join(["tokens", *tokens]).encode(errors="surrogatepass")


def _is_without_effect(token: tokenize.TokenInfo) -> bool:
    if token.type == tokenize.COMMENT:
        return token.start[0] > 2 or not _DECLARATION.match(token.string)
    return token.type == tokenize.NL
