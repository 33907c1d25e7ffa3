"""Turn unified diffs into lines with highlighted words, within limits of size and time.

Strangers write the diffs. Each line is highlighted alone and only up to a length, so no text costs much.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer, CppLexer
from pygments.lexers.go import GoLexer
from pygments.lexers.javascript import JavascriptLexer, TypeScriptLexer
from pygments.lexers.jvm import JavaLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.rust import RustLexer
from pygments.token import Comment, Keyword, Literal, Number, String, _TokenType

_MAX_LINES: Final = 250
"""Lines of one patch on the page."""
_LONGEST: Final = 300
"""Characters of one line; the rest is cut."""
_HIGHLIGHTED: Final = 160
"""Longest line whose words are highlighted."""
_LEXERS: Final[dict[str, type[Lexer]]] = {
    "py": PythonLexer,
    "js": JavascriptLexer,
    "jsx": JavascriptLexer,
    "ts": TypeScriptLexer,
    "tsx": TypeScriptLexer,
    "go": GoLexer,
    "rs": RustLexer,
    "java": JavaLexer,
    "c": CLexer,
    "h": CLexer,
    "cc": CppLexer,
    "cpp": CppLexer,
    "hpp": CppLexer,
}
_CLASSES: Final = (
    (Comment, "note"),
    (String, "text"),
    (Number, "num"),
    (Keyword, "word"),
    (Literal, "text"),
)
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: its kind (file, hunk, add, del or same), its number, and its words with their classes."""

    kind: str
    number: int | None
    """Number in the new file; for a deleted line in the old one; None for headings."""
    words: tuple[tuple[str, str], ...]
    """Pairs of a CSS class (empty: none) and text."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """How many lines of a file a patch adds and deletes."""

    path: str
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class DiffView:
    """A diff as the page shows it."""

    lines: tuple[DiffLine, ...]
    files: tuple[FileChange, ...]
    is_cut: bool
    """True if the page leaves lines out."""


@lru_cache(maxsize=128)
def build_diff_view(diff: str) -> DiffView:
    """Build the view of a unified diff. A text that is no diff gives a view without files. It never raises."""
    texts = diff.split("\n")
    lines = tuple(_walk(texts[:_MAX_LINES]))
    return DiffView(lines, tuple(_count_files(texts)), len(texts) > _MAX_LINES)


def _walk(texts: list[str]) -> Iterator[DiffLine]:
    old = new = 0
    is_body, lexer = False, None
    for text in texts:
        if text.startswith("diff --git "):
            path, is_body = _read_path(text), False
            lexer = _choose_lexer(path)
            yield DiffLine("file", None, (("", path[:_LONGEST]),))
        elif match := _HUNK.match(text):
            old, new, is_body = int(match[1]), int(match[2]), True
            yield DiffLine("hunk", None, (("", text[:_LONGEST]),))
        elif is_body and text[:1] == "+":
            yield DiffLine("add", new, _split_words(text, lexer))
            new += 1
        elif is_body and text[:1] == "-":
            yield DiffLine("del", old, _split_words(text, lexer))
            old += 1
        elif is_body and text[:1] == " ":
            yield DiffLine("same", new, _split_words(text, lexer))
            old, new = old + 1, new + 1


def _count_files(texts: list[str]) -> Iterator[FileChange]:
    path, added, deleted, is_body = None, 0, 0, False
    for text in [*texts, "diff --git "]:
        if text.startswith("diff --git "):
            if path is not None:
                yield FileChange(path[:_LONGEST], added, deleted)
            path, added, deleted, is_body = _read_path(text), 0, 0, False
        elif text.startswith("@@ "):
            is_body = True
        elif is_body:
            added, deleted = added + (text[:1] == "+"), deleted + (text[:1] == "-")


def _read_path(text: str) -> str:
    """Return the new path in a line `diff --git a/… b/…`."""
    return text.rpartition(" b/")[2].strip('"') or text[11:]


def _choose_lexer(path: str) -> Lexer | None:
    kind = _LEXERS.get(path.rpartition(".")[2].lower())
    return kind(stripnl=False, ensurenl=False) if kind else None


def _split_words(line: str, lexer: Lexer | None) -> tuple[tuple[str, str], ...]:
    text = line[: _LONGEST + 1]
    body = text[1:]
    if lexer is None or len(body) > _HIGHLIGHTED:
        return (("", text),)
    words = [(_choose_class(kind), word) for _, kind, word in lexer.get_tokens_unprocessed(body)]
    return _join_plain([("", text[:1]), *words])


def _join_plain(words: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Join neighbours of the same class, which makes the page half as long."""
    joined: list[tuple[str, str]] = []
    for css, text in words:
        if joined and joined[-1][0] == css:
            joined[-1] = (css, joined[-1][1] + text)
        else:
            joined.append((css, text))
    return tuple(joined)


def _choose_class(kind: _TokenType) -> str:
    return next((css for parent, css in _CLASSES if kind in parent), "")
