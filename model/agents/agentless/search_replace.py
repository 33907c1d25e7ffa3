"""Parse, render and apply SEARCH/REPLACE edits, all or none (pure).

    ### path/of/the/file.py
    <<<<<<< SEARCH
    lines of the file
    =======
    new lines
    >>>>>>> REPLACE

Everything else in a reply is prose. A path is valid until the next path. A thought before `</think>` is ignored.
SEARCH consists of whole lines and must match exactly one place. All edits refer to the file as the prompt showed
it, so their order does not matter and they may not overlap. `escape_file` changes text that looks like a marker or
the tag of a solution, and `parse` reverts that. An edit cannot create a file: a new file has no line to search.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise

from model.agents import think_tags
from model.errors import MalformedEdit
from model.prompts.special_tokens import SpecialTokens
from model.prompts.untrusted import escape_patch, restore_escapes

_HEADER = "### "
_SEARCH = "<<<<<<< SEARCH"
_DIVIDER = "======="
_REPLACE = ">>>>>>> REPLACE"
_MARKERS = frozenset({_SEARCH, _DIVIDER, _REPLACE})
_LIKE_MARKER = re.compile(
    rf"^(?=(?:{_SEARCH}|{_DIVIDER}|{_REPLACE})$).|<(?=/?solution>)|\r", re.MULTILINE
)


class EditError(StrEnum):
    """Reasons why the SEARCH/REPLACE edits of a reply cannot become a patch."""

    NO_EDIT = "no_edit"
    NO_SOLUTION = "no_solution"
    """The reply lacks the tags of a solution, or repeats one."""
    NO_PATH = "no_path"
    """A block stands before any path."""
    UNFINISHED = "unfinished"
    """The reply ends inside a thought or a block."""
    STRAY_MARKER = "stray_marker"
    """A marker stands in a wrong place, so the parts of the block are unclear."""
    EMPTY_SEARCH = "empty_search"
    NO_CHANGE = "no_change"
    """SEARCH and REPLACE are equal, or the edits undo each other."""
    UNKNOWN_FILE = "unknown_file"
    """The prompt did not show this path."""
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    """SEARCH matches several places."""
    OVERLAP = "overlap"
    """Two edits change the same lines."""


@dataclass(frozen=True, slots=True)
class SearchReplaceEdit:
    """An edit: whole lines of one file, without line ends, and their replacement. An empty one deletes the lines."""

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines from `start` to before `stop`, counted from 0, with the edit that replaces them."""

    start: int
    stop: int
    edit: SearchReplaceEdit


def escape_file(text: str, special_tokens: SpecialTokens = None) -> str:
    """Return a file's text for the prompt: with Unix line ends, and with marker lines and control tokens escaped.

    `special_tokens` are the engine's.
    """
    lines = "\n".join(body for body, _ in _split_lines(text))
    return _escape(lines, special_tokens) + ("\n" if text.endswith("\n") else "")


def render(edits: Iterable[SearchReplaceEdit]) -> str:
    """Return SEARCH/REPLACE edits as text in the format of a reply, which `parse` reads back."""
    blocks = []
    for edit in edits:
        search = [_escape("\n".join(edit.search))] if edit.search else []
        replace = [_escape("\n".join(edit.replace))] if edit.replace else []
        blocks += [_HEADER + _escape(edit.path), _SEARCH, *search, _DIVIDER, *replace, _REPLACE, ""]
    return "\n".join(blocks)


def parse(reply: str) -> tuple[SearchReplaceEdit, ...]:
    """Parse all SEARCH/REPLACE edits of a reply, at least one. Raises MalformedEdit when any edit is unreadable."""
    answer = think_tags.strip_thought(reply)
    if answer is None:
        raise MalformedEdit(
            EditError.UNFINISHED, "the reply ends within its thought; allow it more tokens"
        )
    return _parse_edits(answer)


def parse_solution(reply: str) -> tuple[SearchReplaceEdit, ...]:
    """Parse the edits like `parse`, but only those between `<solution>` and `</solution>` (SWE-RL, appendix D)."""
    solution = think_tags.extract_solution(reply)
    if solution is None:
        raise MalformedEdit(
            EditError.NO_SOLUTION,
            "the reply needs one <solution> and one </solution> after its thought",
        )
    return _parse_edits(solution)


def _parse_edits(answer: str) -> tuple[SearchReplaceEdit, ...]:
    edits: list[SearchReplaceEdit] = []
    path = ""
    lines = iter(answer.split("\n"))
    for raw in lines:
        line = raw.removesuffix("\r")
        if line.startswith(_HEADER):
            path = restore_escapes(line.removeprefix(_HEADER).strip())
        elif line == _SEARCH:
            search = _read_until(_DIVIDER, lines, path)
            edits.append(
                _check_edit(SearchReplaceEdit(path, search, _read_until(_REPLACE, lines, path)))
            )
        elif line == _REPLACE:
            raise MalformedEdit(
                EditError.STRAY_MARKER, f"{_REPLACE!r} closes no block; open it with {_SEARCH!r}"
            )
    if not edits:
        raise MalformedEdit(
            EditError.NO_EDIT, f"the reply holds no block; write one from {_SEARCH!r} on"
        )
    return tuple(edits)


PARSERS: Mapping[str, Callable[[str], tuple[SearchReplaceEdit, ...]]] = {
    "agentless_repair": parse,
    "swe_rl_repair": parse_solution,
}
"""Parser of the replies to each repair prompt, by the prompt's name in `model/prompts`."""


def apply(edits: Sequence[SearchReplaceEdit], files: Mapping[str, str]) -> dict[str, str]:
    """Apply SEARCH/REPLACE edits and return the new texts of the changed files by path.

    `files` maps each path that the prompt showed to its text. New lines take the line end of the first line that they
    replace. A file without a final line end stays so, unless its new last line is blank. Raises MalformedEdit when any
    edit does not apply.
    """
    if strangers := [edit.path for edit in edits if edit.path not in files]:
        raise MalformedEdit(
            EditError.UNKNOWN_FILE,
            f"{strangers[0]!r} was not shown; edit one of {', '.join(files)}",
        )
    by_path = sorted(edits, key=lambda edit: edit.path)
    after = {
        path: _edit_text(files[path], list(own))
        for path, own in groupby(by_path, key=lambda edit: edit.path)
    }
    changed = {path: text for path, text in after.items() if text != files[path]}
    if not changed:
        raise MalformedEdit(EditError.NO_CHANGE, "all edits together change nothing")
    return changed


def _read_until(marker: str, lines: Iterable[str], path: str) -> tuple[str, ...]:
    """Read the lines up to a marker and revert their escapes. Raises MalformedEdit for another marker or none."""
    taken: list[str] = []
    for raw in lines:
        line = raw.removesuffix("\r")
        if line == marker:
            return tuple(taken)
        if line in _MARKERS:
            raise MalformedEdit(
                EditError.STRAY_MARKER,
                f"{line!r} stands where {marker!r} belongs, in an edit of {path!r}",
            )
        taken.append(restore_escapes(line))
    raise MalformedEdit(EditError.UNFINISHED, f"the edit of {path!r} ends before {marker!r}")


def _check_edit(edit: SearchReplaceEdit) -> SearchReplaceEdit:
    """Return the edit when it is valid for any file. Raises MalformedEdit."""
    if not edit.path:
        raise MalformedEdit(
            EditError.NO_PATH,
            f"a block stands before any path; write {_HEADER + 'its/path'!r} above it",
        )
    if not edit.search:
        raise MalformedEdit(
            EditError.EMPTY_SEARCH,
            f"an edit of {edit.path!r} searches nothing; to add lines, repeat one that stands beside them",
        )
    if edit.search == edit.replace:
        raise MalformedEdit(
            EditError.NO_CHANGE, f"an edit of {edit.path!r} replaces lines by themselves"
        )
    return edit


def _edit_text(text: str, edits: Sequence[SearchReplaceEdit]) -> str:
    """Return the text after its edits. Raises MalformedEdit."""
    lines = _split_lines(text)
    bodies = tuple(body for body, _ in lines)
    spans = sorted((_find_span(edit, bodies) for edit in edits), key=lambda span: span.start)
    for first, second in pairwise(spans):
        if second.start < first.stop:
            raise MalformedEdit(
                EditError.OVERLAP,
                f"two edits of {first.edit.path!r} change line {second.start + 1}",
            )
    for span in reversed(spans):
        lines[span.start : span.stop] = _end_lines(span, lines)
    return "".join(body + end for body, end in lines)


def _find_span(edit: SearchReplaceEdit, bodies: Sequence[str]) -> _Span:
    """Find the lines that an edit replaces. Raises MalformedEdit unless there is exactly one place."""
    size = len(edit.search)
    starts = [
        start
        for start in range(len(bodies) - size + 1)
        if bodies[start] == edit.search[0] and tuple(bodies[start : start + size]) == edit.search
    ]
    if not starts:
        raise MalformedEdit(
            EditError.NOT_FOUND,
            f"{edit.path!r} has no lines that are exactly those of a SEARCH, from {edit.search[0]!r} on",
        )
    if len(starts) > 1:
        raise MalformedEdit(
            EditError.AMBIGUOUS,
            f"a SEARCH fits {len(starts)} places of {edit.path!r}, at lines {starts[0] + 1} and "
            f"{starts[1] + 1}; repeat more lines around the one that is meant",
        )
    return _Span(starts[0], starts[0] + size, edit)


def _end_lines(span: _Span, lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the new lines with the line ends of the old ones."""
    usual = lines[span.start][1] or (lines[span.start - 1][1] if span.start else "\n")
    ended = [(body, usual) for body in span.edit.replace]
    if ended and ended[-1][0] and not lines[span.stop - 1][1]:
        ended[-1] = (ended[-1][0], "")
    return ended


def _split_lines(text: str) -> list[tuple[str, str]]:
    """Split a text into lines, each with its end: LF, CRLF or, for the last line, none."""
    *whole, rest = text.split("\n")
    ended = [(line[:-1], "\r\n") if line.endswith("\r") else (line, "\n") for line in whole]
    return [*ended, (rest, "")] if rest else ended


def _escape(lines: str, special_tokens: SpecialTokens = None) -> str:
    safe = escape_patch(lines, special_tokens).text
    return _LIKE_MARKER.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", safe)
