"""What the page of a group shows of its patches: their diffs, and what the verdicts on them rest on (pure).

Unified diffs become lines with highlighted words, within limits of size and time. Strangers write the diffs. One pattern finds comments, texts, numbers and keywords of a line. A lexer of the language would
take a hundred times as long, and its patterns are not made for hostile text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from markupsafe import Markup, escape

from app.comments.evidence_text import list_checklist, list_columns, list_facts, list_group_notes
from app.comments.judging_method import list_sources
from app.comments.phrases import PLAIN
from app.comments.views import read_group_grounds
from app.web.pages.rendering import show_hidden
from model.domain import PatchVerdict, Verdict

_CHECKLIST: Final = 20_000
"""Most characters of the checklist of one patch."""
_MAX_LINES: Final = 250
"""Lines of one patch on the page."""
_LONGEST: Final = 300
"""Characters of one line; the rest is cut."""
_HASH_COMMENTS: Final = frozenset({"py", "pyi", "rb", "sh", "toml", "yaml", "yml", "cfg", "pl"})
"""Endings of files in which `#` begins a comment. In others `//` does."""
_KEYWORDS: Final = (
    "and as assert async await break case catch class const continue def default del do elif else enum except export extends"
    " false False final finally fn for from func function global if impl import in interface is lambda let loop match mod mut"
    " new nil None nonlocal not null or package pass private protected pub public raise return self static struct super"
    " switch this throw trait true True try type use var void while with yield"
)
_WORDS: Final = {
    sign: re.compile(
        rf"(?P<note>{sign}.*)"
        r"""|(?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`[^`]*`?)"""
        r"|(?P<num>\b\d[\w.]*)"
        rf"|(?P<word>\b(?:{'|'.join(_KEYWORDS.split())})\b)"
    )
    for sign in ("#", "//")
}
"""Comments, texts, numbers and keywords of one line. No alternative can match twice, so a line costs its length."""
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
class ChangedFile:
    """How many lines of a file a patch adds and deletes."""

    path: str
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class DiffView:
    """A diff as the page shows it."""

    html: Markup
    """Its lines, with every text escaped; empty: there is no diff in the text."""
    files: tuple[ChangedFile, ...]
    is_cut: bool
    """True if the page leaves lines out."""


@lru_cache(maxsize=64)
def build_diff_view(diff: str) -> DiffView:
    """Build the view of a unified diff. A text that is no diff gives a view without files. It never raises."""
    texts = diff.split("\n")
    lines = "\n".join(map(_write_line, _walk(texts[:_MAX_LINES])))
    html = Markup(lines)  # noqa: S704 - `_write_line` escapes every word
    return DiffView(html, tuple(_count_files(texts)), len(texts) > _MAX_LINES)


def _write_line(line: DiffLine) -> str:
    """Write one line as HTML. A page has thousands of words, which a template would write ten times more slowly."""
    words = "".join(
        f'<span class="{css}">{escape(show_hidden(text))}</span>'
        if css
        else escape(show_hidden(text))
        for css, text in line.words
    )
    return f'<div class="{line.kind}"><span class="no">{line.number or ""}</span><code>{words}</code></div>'


def _walk(texts: list[str]) -> Iterator[DiffLine]:
    old = new = 0
    is_body, pattern = False, _WORDS["//"]
    for text in texts:
        if text.startswith("diff --git "):
            path, is_body = _read_path(text), False
            pattern = _choose_pattern(path)
            yield DiffLine("file", None, (("", path[:_LONGEST]),))
        elif match := _HUNK.match(text):
            old, new, is_body = int(match[1]), int(match[2]), True
            yield DiffLine("hunk", None, (("", text[:_LONGEST]),))
        elif is_body and text[:1] == "+":
            yield DiffLine("add", new, _split_words(text, pattern))
            new += 1
        elif is_body and text[:1] == "-":
            yield DiffLine("del", old, _split_words(text, pattern))
            old += 1
        elif is_body and text[:1] == " ":
            yield DiffLine("same", new, _split_words(text, pattern))
            old, new = old + 1, new + 1


def _count_files(texts: list[str]) -> Iterator[ChangedFile]:
    path, added, deleted, is_body = None, 0, 0, False
    for text in [*texts, "diff --git "]:
        if text.startswith("diff --git "):
            if path is not None:
                yield ChangedFile(path[:_LONGEST], added, deleted)
            path, added, deleted, is_body = _read_path(text), 0, 0, False
        elif text.startswith("@@ "):
            is_body = True
        elif is_body:
            added, deleted = added + (text[:1] == "+"), deleted + (text[:1] == "-")


def _read_path(text: str) -> str:
    """Return the new path in a line `diff --git a/… b/…`."""
    return text.rpartition(" b/")[2].strip('"') or text[11:]


def _choose_pattern(path: str) -> re.Pattern[str]:
    return _WORDS["#" if path.rpartition(".")[2].lower() in _HASH_COMMENTS else "//"]


def _split_words(line: str, pattern: re.Pattern[str]) -> tuple[tuple[str, str], ...]:
    """Split a line into pairs of a CSS class and text; the first character is the sign of the diff."""
    text, words, end = line[: _LONGEST + 1], [], 1
    for match in pattern.finditer(text, 1):
        words += [("", text[end : match.start()]), (match.lastgroup or "", match[0])]
        end = match.end()
    return (("", text[:1]), *words, ("", text[end:]))


@dataclass(frozen=True, slots=True)
class PatchGrounds:
    """What the verdict on one patch rests on."""

    verdict: PatchVerdict
    cells: tuple[str, ...]
    """One cell for each of the group's columns of evidence."""
    facts: tuple[str, ...]
    """Empty for a patch that was not judged. If there is a checklist, the last fact counts its lines."""
    checklist: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """The evidence of a group. Names and reasons are untrusted, so the template escapes every text."""

    columns: tuple[str, ...] = ()
    """Titles of the columns of evidence in which at least one patch has a value."""
    sources: tuple[str, ...] = ()
    """Where the probabilities come from, and what the model saw of the base."""
    notes: tuple[str, ...] = ()
    """What ran on the patches, with the names that the table has no room for."""
    patches: Mapping[str, PatchGrounds] = field(default_factory=dict)
    """By the name of the patch; empty without a verdict."""


def build_group_evidence(document: Mapping[str, Any]) -> GroupEvidence:
    """Build the evidence from an `r4p.verdict/1` document. A document without the key `patches` gives empty evidence."""
    if "patches" not in document:
        return GroupEvidence()
    group = read_group_grounds(document)
    columns = list_columns(group.verdicts, PLAIN)
    patches = {}
    for verdict in group.verdicts:
        is_judged = verdict.verdict is not Verdict.NOT_JUDGED
        patches[str(verdict.id)] = PatchGrounds(
            verdict=verdict,
            cells=tuple(column.write(verdict) for column in columns),
            facts=tuple(list_facts(verdict, group, PLAIN)) if is_judged else (),
            checklist=tuple(list_checklist(verdict, _CHECKLIST, PLAIN)),
        )
    return GroupEvidence(
        columns=tuple(column.title for column in columns),
        sources=tuple(list_sources(group)),
        notes=tuple(list_group_notes(group.verdicts, PLAIN)),
        patches=patches,
    )
