"""This module reads which files and functions a diff changes, and which calls it adds, to name how rivals differ (pure).

A line is in a Python function only where the diff proves it: the `def` stands above the line in the same hunk, and no
line between ends the function. A hunk's header is no proof, because git prints the last line that begins at the margin.
"""

import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import TextIOBase

from unidiff.patch import Hunk

from model.patches.comment_stripping import strip_comments
from model.patches.diff import parse, parse_hunks
from model.patches.diff_paths import is_test_path
from model.patches.edits import KEYWORDS
from model.patches.unread_parts import DOCUMENTATION, is_lock_file

_DEFINITION = re.compile(r"(\s*)(?:async )?(?:def|class)\s+(\w+)")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_COMMON = KEYWORDS.union(
    (name for name in dir(builtins) if not name.endswith(("Error", "Warning"))),
    *(dir(kind) for kind in (str, bytes, list, dict, set, int, float, TextIOBase)),
)
"""Names whose calls say little about an edit: Python's own functions and methods."""


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk."""

    sign: str
    """`+`, `-`, or an empty text for an unchanged line."""
    text: str
    number: int
    """The line's number in the old file. An added line has the number of the next old line."""


Function = tuple[str, str]
"""A path, and the name of a function or class in it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of the base that a hunk shows."""

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A changed line of code, by its number in the base. A line is added before the line with its number."""

    path: str
    line: int
    function: str | None
    """The function around it; empty outside of functions, and None where the diff does not tell."""


@dataclass(frozen=True, slots=True)
class ChangedPlaces:
    """Where a diff changes code, as far as the diff itself proves it."""

    files: tuple[str, ...]
    """Changed files in the order of the diff, without tests, documentation and lock files."""
    touches_tests: bool
    lines: tuple[ChangedLine, ...]
    definitions: frozenset[Definition]
    """All definitions of the base that the diff shows."""
    new: frozenset[Function]
    """Functions and classes that the diff adds."""
    calls: frozenset[str]
    """Names that added lines call and removed lines do not, without the new ones and without Python's own."""

    @property
    def line_count(self) -> int:
        """The number of added and removed lines of code, without tests."""
        return len(self.lines)


def read_places(diff: str) -> ChangedPlaces:
    """Return where a unified diff changes code. Raises BadDiff."""
    paths = tuple(dict.fromkeys(file.path for file in parse(diff)))
    kept = tuple(path for path in paths if not _is_beside_code(path))
    lines: list[ChangedLine] = []
    shown: dict[str, set[Definition]] = {"+": set(), "-": set(), "": set()}
    calls: dict[str, set[str]] = {"+": set(), "-": set(), "": set()}
    for path, parsed in parse_hunks(diff):
        if path not in kept:
            continue
        hunk = tuple(_number_lines(parsed))
        for line, function, code in zip(
            hunk, _name_functions(path, hunk), _strip_comments(path, hunk), strict=True
        ):
            if definition := _find_definition(path, line):
                shown[line.sign].add(definition)
            if line.sign and code.strip():
                lines.append(ChangedLine(path, line.number, function))
                calls[line.sign] |= _find_calls(code)
    old = {(each.path, each.name) for each in shown["-"] | shown[""]}
    new = frozenset((each.path, each.name) for each in shown["+"]) - old
    return ChangedPlaces(
        kept,
        any(map(is_test_path, paths)),
        tuple(lines),
        frozenset(shown["-"] | shown[""]),
        new,
        frozenset(calls["+"] - calls["-"] - {name for _, name in new}),
    )


def _number_lines(hunk: Hunk) -> Iterator[HunkLine]:
    number = hunk.source_start + (hunk.source_length == 0)
    for line in hunk:
        if line.line_type in {" ", "+", "-"}:
            yield HunkLine(line.line_type.strip(), line.value.rstrip("\r\n"), number)
            number += line.line_type != "+"


def _is_beside_code(path: str) -> bool:
    return is_test_path(path) or is_lock_file(path) or path.endswith(DOCUMENTATION)


def _find_definition(path: str, line: HunkLine) -> Definition | None:
    match = _DEFINITION.match(line.text) if path.endswith(".py") else None
    return Definition(path, line.number, match[2]) if match else None


def _name_functions(path: str, hunk: Sequence[HunkLine]) -> list[str | None]:
    """Return the innermost function around each line, an empty text outside of functions, None where the hunk tells neither."""
    if not path.endswith(".py"):
        return [None] * len(hunk)
    names: list[str | None] = []
    around: list[tuple[int, str, bool]] = []  # indentation, name, whether it is a class
    for line in hunk:
        text = line.text.expandtabs()
        indent = len(text) - len(text.lstrip())
        # A closing bracket at the margin ends a signature, and no function.
        if text.strip() and text.strip()[0] not in ")]}#":
            while around and around[-1][0] >= indent:
                around.pop()
            if match := _DEFINITION.match(text):
                around.append((indent, match[2], "class " in match[0]))
        if around:
            names.append("" if around[-1][2] else around[-1][1])
        else:
            names.append(None if indent else "")
    return names


def _strip_comments(path: str, hunk: Sequence[HunkLine]) -> list[str]:
    """Return the code of each line, without comments; of unchanged lines as on the new side."""
    code = [""] * len(hunk)
    for sign in ("-", "+"):
        side = [index for index, line in enumerate(hunk) if line.sign in {sign, ""}]
        top = bool(hunk) and hunk[0].number < 2
        stripped = strip_comments(path, [hunk[index].text for index in side], top=top)
        for index, text in zip(side, stripped, strict=True):
            code[index] = text
    return code


def _find_calls(code: str) -> set[str]:
    if _DEFINITION.match(code):
        return set()
    return {name for name in _CALL.findall(code) if len(name) > 2} - _COMMON
