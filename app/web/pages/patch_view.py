"""What the page of a group shows of its patches: their diffs, and what the verdicts on them rest on (pure).

Unified diffs become lines with highlighted words, within limits of size and time. Strangers write the diffs. One
pattern finds comments, string literals, numbers and keywords of a line. A lexer of the language would take a hundred
times as long, and its patterns are not made for hostile text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from markupsafe import Markup, escape

from app.comments.evidence_text import list_checklist, list_columns, list_facts, list_group_notes
from app.comments.judging_method import list_sources
from app.comments.phrases import PLAIN
from app.comments.views import read_group_grounds
from app.web.pages.rendering import show_hidden
from model.domain import PatchVerdict, Verdict
from model.patches.diff_paths import read_new_path

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
"""Comments, string literals, numbers and keywords of one line. No alternative backtracks, so a line costs its length."""
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_KINDS: Final = {"+": "add", "-": "del", " ": "same"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: its kind (file, hunk, add, del or same), its number, its text and the path of its file."""

    kind: str
    number: int | None
    """Number in the new file; for a deleted line in the old one; None for headings."""
    text: str
    """With the sign of the diff; of a file its path."""
    path: str


@dataclass(slots=True)
class _Hunk:
    """The next line of a hunk in both files, and where the hunk ends by its own head."""

    old: int
    new: int
    old_end: int
    new_end: int

    def is_over(self) -> bool:
        return self.old >= self.old_end and self.new >= self.new_end

    def advance(self, kind: str) -> int:
        """Return the number of the next line, which is of this kind."""
        number = self.old if kind == "del" else self.new
        self.old += kind != "add"
        self.new += kind != "del"
        return number


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
    lines = list(_read_lines(diff.split("\n")))
    html = Markup("\n".join(map(_write_line, lines[:_MAX_LINES])))  # noqa: S704 - `_write_line` escapes every word
    return DiffView(html, tuple(_count_files(lines)), len(lines) > _MAX_LINES)


def _write_line(line: DiffLine) -> str:
    """Write one line as HTML. A page has thousands of words, which a template would write ten times more slowly."""
    is_heading = line.number is None
    pairs = (("", line.text[:_LONGEST]),) if is_heading else _split_words(line.text, line.path)
    words = "".join(
        f'<span class="{css}">{escape(show_hidden(text))}</span>'
        if css
        else escape(show_hidden(text))
        for css, text in pairs
    )
    return f'<div class="{line.kind}"><span class="no">{line.number or ""}</span><code>{words}</code></div>'


def _read_lines(texts: Sequence[str]) -> Iterator[DiffLine]:
    """Yield the lines of a diff, a heading for each file, without the other lines of git's headers."""
    path, hunk, end = "", None, 0
    for index, text in enumerate(texts):
        if index < end:
            continue
        if _is_header(texts, index, hunk):
            hunk, end = None, _find_header_end(texts, index)
            path = read_new_path(texts[index:end])
            yield DiffLine("file", None, path, path)
        elif match := _HUNK.match(text):
            hunk = _read_hunk(match)
            yield DiffLine("hunk", None, text, path)
        elif hunk and (kind := _KINDS.get(text[:1])):
            yield DiffLine(kind, hunk.advance(kind), text, path)


def _is_header(texts: Sequence[str], index: int, hunk: _Hunk | None) -> bool:
    """Report whether the header of a file begins here. In a hunk, `--- x` is the deleted line `-- x`."""
    text, following = texts[index], "".join(texts[index + 1 : index + 2])
    is_pair = text.startswith("--- ") and following.startswith("+++ ")
    return text.startswith("diff --git ") or (is_pair and (hunk is None or hunk.is_over()))


def _find_header_end(texts: Sequence[str], start: int) -> int:
    """Return the index after the header's last line: of the first hunk, the next file or the end."""
    for index in range(start + 1, len(texts)):
        if texts[index].startswith("diff --git ") or _HUNK.match(texts[index]):
            return index
    return len(texts)


def _read_hunk(match: re.Match[str]) -> _Hunk:
    old, old_lines, new, new_lines = (1 if part is None else int(part) for part in match.groups())
    return _Hunk(old, new, old + old_lines, new + new_lines)


def _count_files(lines: Sequence[DiffLine]) -> Iterator[ChangedFile]:
    starts = [index for index, line in enumerate(lines) if line.kind == "file"]
    for start, end in pairwise([*starts, len(lines)]):
        kinds = Counter(line.kind for line in lines[start:end])
        yield ChangedFile(lines[start].path[:_LONGEST], kinds["add"], kinds["del"])


def _split_words(line: str, path: str) -> tuple[tuple[str, str], ...]:
    """Split a line into pairs of a CSS class and text; the first character is the sign of the diff."""
    pattern = _WORDS["#" if path.rpartition(".")[2].lower() in _HASH_COMMENTS else "//"]
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
