"""SEARCH/REPLACE edits: read strictly from a reply, written the same way, applied all or none (pure).

    ### path/of/the/file.py
    <<<<<<< SEARCH
    lines as they stand in the file
    =======
    lines that shall stand there instead
    >>>>>>> REPLACE

Whatever else a reply holds is prose. A path counts until the next one, a thought before `</think>` not at all.
Lines are whole lines. SEARCH has to name exactly one place: an edit at the first of several would be one that the
model did not ask for, and a lost sample costs less than a wrong patch. All edits are of the file as it was shown, so
their order says nothing, and they may not overlap. Files are shown with `shown`, and what a model copied from there
is turned back, so no line of a file can be mistaken for a marker. A new file can't be made: it has no line to name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise

from model.agents import think_tags
from model.errors import MalformedEdit
from model.prompts.untrusted import as_written, safe_patch

_HEADER = "### "
_SEARCH = "<<<<<<< SEARCH"
_DIVIDER = "======="
_REPLACE = ">>>>>>> REPLACE"
_MARKERS = frozenset({_SEARCH, _DIVIDER, _REPLACE})
_LIKE_MARKER = re.compile(rf"^(?=(?:{_SEARCH}|{_DIVIDER}|{_REPLACE})$).|\r", re.MULTILINE)


class Flaw(StrEnum):
    """Why a reply makes no patch."""

    NO_EDIT = "no_edit"
    NO_PATH = "no_path"
    """A block before any path."""
    UNFINISHED = "unfinished"
    """The reply ends within a thought or a block."""
    STRAY_MARKER = "stray_marker"
    """A marker where none belongs, so that what it parts can't be told."""
    EMPTY_SEARCH = "empty_search"
    NO_CHANGE = "no_change"
    """SEARCH and REPLACE are the same, or the edits undo each other."""
    UNKNOWN_FILE = "unknown_file"
    """A path that was not shown."""
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    """SEARCH stands in more than one place."""
    OVERLAP = "overlap"
    """Two edits of the same lines."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Whole lines of one file, without their ends, and what shall stand in their place; no line of it: deleted."""

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines `start` to before `stop`, counted from 0, and the edit that replaces them."""

    start: int
    stop: int
    edit: Edit


def shown(text: str) -> str:
    """A file as a model sees it: nothing forged, no line like a marker. Line ends become those of Unix."""
    lines = "\n".join(body for body, _ in _lines(text))
    return _escaped(lines) + ("\n" if text.endswith("\n") else "")


def render(edits: Iterable[Edit]) -> str:
    """Edits as a reply writes them; `parse` reads the same edits from it."""
    blocks = []
    for edit in edits:
        search = [_escaped("\n".join(edit.search))] if edit.search else []
        replace = [_escaped("\n".join(edit.replace))] if edit.replace else []
        blocks += [
            _HEADER + _escaped(edit.path),
            _SEARCH,
            *search,
            _DIVIDER,
            *replace,
            _REPLACE,
            "",
        ]
    return "\n".join(blocks)


def parse(reply: str) -> tuple[Edit, ...]:
    """The edits of a reply, at least one. Raises MalformedEdit unless all of them can be read."""
    edits: list[Edit] = []
    path = ""
    lines = iter(_answer(reply).split("\n"))
    for raw in lines:
        line = raw.removesuffix("\r")
        if line.startswith(_HEADER):
            path = as_written(line.removeprefix(_HEADER).strip())
        elif line == _SEARCH:
            search = _until(_DIVIDER, lines, path)
            edits.append(_checked(Edit(path, search, _until(_REPLACE, lines, path))))
        elif line == _REPLACE:
            raise MalformedEdit(
                Flaw.STRAY_MARKER, f"{_REPLACE!r} closes no block; open it with {_SEARCH!r}"
            )
    if not edits:
        raise MalformedEdit(
            Flaw.NO_EDIT, f"the reply holds no block; write one from {_SEARCH!r} on"
        )
    return tuple(edits)


def apply(edits: Sequence[Edit], files: Mapping[str, str]) -> dict[str, str]:
    """The files that change, afterwards. Raises MalformedEdit unless every edit applies to the files as they are.

    Lines that come in end like the first that they replace, and a file that ends without a line end still does,
    unless its last line is blank now.
    """
    if strangers := [edit.path for edit in edits if edit.path not in files]:
        raise MalformedEdit(
            Flaw.UNKNOWN_FILE,
            f"{strangers[0]!r} was not shown; edit one of {', '.join(files)}",
        )
    by_path = sorted(edits, key=lambda edit: edit.path)
    after = {
        path: _edited(files[path], list(own))
        for path, own in groupby(by_path, key=lambda edit: edit.path)
    }
    changed = {path: text for path, text in after.items() if text != files[path]}
    if not changed:
        raise MalformedEdit(Flaw.NO_CHANGE, "all edits together change nothing")
    return changed


def _answer(reply: str) -> str:
    """What follows the thought, where there is one. Raises MalformedEdit when it never ends."""
    answer = think_tags.answer(reply)
    if answer is None:
        raise MalformedEdit(
            Flaw.UNFINISHED, "the reply ends within its thought; allow it more tokens"
        )
    return answer


def _until(marker: str, lines: Iterable[str], path: str) -> tuple[str, ...]:
    """The lines up to a marker, escapes turned back. Raises MalformedEdit when another comes first, or none."""
    taken: list[str] = []
    for raw in lines:
        line = raw.removesuffix("\r")
        if line == marker:
            return tuple(taken)
        if line in _MARKERS:
            raise MalformedEdit(
                Flaw.STRAY_MARKER,
                f"{line!r} stands where {marker!r} belongs, in an edit of {path!r}",
            )
        taken.append(as_written(line))
    raise MalformedEdit(Flaw.UNFINISHED, f"the edit of {path!r} ends before {marker!r}")


def _checked(edit: Edit) -> Edit:
    """The edit, when it could be one whatever the files are. Raises MalformedEdit."""
    if not edit.path:
        raise MalformedEdit(
            Flaw.NO_PATH,
            f"a block stands before any path; write {_HEADER + 'its/path'!r} above it",
        )
    if not edit.search:
        raise MalformedEdit(
            Flaw.EMPTY_SEARCH,
            f"an edit of {edit.path!r} searches nothing; to add lines, repeat one that stands beside them",
        )
    if edit.search == edit.replace:
        raise MalformedEdit(
            Flaw.NO_CHANGE, f"an edit of {edit.path!r} replaces lines by themselves"
        )
    return edit


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """A text after its edits. Raises MalformedEdit."""
    lines = _lines(text)
    bodies = tuple(body for body, _ in lines)
    spans = sorted((_place(edit, bodies) for edit in edits), key=lambda span: span.start)
    for one, two in pairwise(spans):
        if two.start < one.stop:
            raise MalformedEdit(
                Flaw.OVERLAP, f"two edits of {one.edit.path!r} change line {two.start + 1}"
            )
    for span in reversed(spans):
        lines[span.start : span.stop] = _ended(span, lines)
    return "".join(body + end for body, end in lines)


def _place(edit: Edit, bodies: Sequence[str]) -> _Span:
    """Where the edit belongs. Raises MalformedEdit unless that is one place."""
    size = len(edit.search)
    starts = [
        at
        for at in range(len(bodies) - size + 1)
        if bodies[at] == edit.search[0] and tuple(bodies[at : at + size]) == edit.search
    ]
    if not starts:
        raise MalformedEdit(
            Flaw.NOT_FOUND,
            f"{edit.path!r} has no lines that are exactly those of a SEARCH, from {edit.search[0]!r} on",
        )
    if len(starts) > 1:
        raise MalformedEdit(
            Flaw.AMBIGUOUS,
            f"a SEARCH fits {len(starts)} places of {edit.path!r}, at lines {starts[0] + 1} and "
            f"{starts[1] + 1}; repeat more lines around the one that is meant",
        )
    return _Span(starts[0], starts[0] + size, edit)


def _ended(span: _Span, lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines that come in, with ends like those that go."""
    usual = lines[span.start][1] or (lines[span.start - 1][1] if span.start else "\n")
    ended = [(body, usual) for body in span.edit.replace]
    if ended and ended[-1][0] and not lines[span.stop - 1][1]:
        ended[-1] = (ended[-1][0], "")
    return ended


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each with its end: LF, CRLF or, of the last, none."""
    *whole, rest = text.split("\n")
    ended = [(line[:-1], "\r\n") if line.endswith("\r") else (line, "\n") for line in whole]
    return [*ended, (rest, "")] if rest else ended


def _escaped(lines: str) -> str:
    safe = safe_patch(lines).text
    return _LIKE_MARKER.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", safe)
