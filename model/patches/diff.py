"""Unified diffs read once into frozen values, and a fingerprint that says which are the same edit (pure).

Applying a diff to a tree does not live here.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from model.errors import BadDiff

MAX_CHARACTERS = 20_000_000
"""A longer diff is refused before it is parsed: nobody reviews it, and it would hold a worker for minutes."""
_KEPT = 100_000  # characters of a diff that stays parsed: who judges it reads it three times
_DEV_NULL = "/dev/null"
_PREFIX = re.compile(r"^[abciow12]/")
_C_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\abfnrtv])')
_C_LETTERS = dict(zip(b'"\\abfnrtv', b'"\\\a\b\f\n\r\t\v', strict=True))
_COMBINED = re.compile(
    r"^diff --(?:cc|combined) [^\n]+\n(?:index|mode|new file mode|deleted file mode|---) "
    r"|^\+\+\+ [^\n]*\n@@@+ -",
    re.MULTILINE,
)
"""A header of a merge, or below a header its hunks: elsewhere such a line is talk."""
_HEADER = re.compile(r"^(diff --git |--- |\+\+\+ )([^\n]*)$", re.MULTILINE)
_MARK = "\x02"
"""Stands before a `b/` inside a path; git writes this character of a path as an escape."""
_GIT_HEADER = re.compile(r"diff --git [^\t]+ [^\t]+")
_EXTENDED_HEADER = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode) \d{6}"
    r"|((?:dis)?similarity index) \d{1,3}%"
    r"|(index) [0-9a-f]+\.\.[0-9a-f]+(?: \d{6})?"
    r"|((?:copy|rename) (?:from|to)) .+"
    r"|(Binary files) .+ and .+ differ|(GIT binary patch)"
)
_NO_NEWLINE = "\\ No newline at end of file"
_DOS_HEADER = re.compile(r"^(?:diff --git |--- |\+\+\+ |@@ )[^\n]*\r$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a diff does to one file, paths without git's prefixes and quotes."""

    path: str
    """Where the file is afterwards; for a deletion, where it was."""
    old_path: str | None
    """Where it was before; None for a new file."""
    added: int
    removed: int
    is_binary: bool = False
    is_new: bool = False
    is_deleted: bool = False

    @property
    def is_textual(self) -> bool:
        """There is at least one added or removed line to read."""
        return not self.is_binary and bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class BareDiff:
    """A diff without the text around it."""

    text: str
    """File headers and hunks, line for line."""
    left_out: int
    """Lines of neither: the head of a mail, a message, a signature, a binary file's data. Blank ones don't count."""


def parse(text: str) -> tuple[FilePatch, ...]:
    """The files a diff touches, in its order; nothing for blank text.

    Raises BadDiff for text that is no unified diff, is cut off, or is above MAX_CHARACTERS.
    """
    return tuple(_file_patch(file) for file in _parsed(text, contents=len(text) < _KEPT))


def touched_files(text: str) -> frozenset[str]:
    """Every path a diff names, before and after. Raises BadDiff like `parse`."""
    files = parse(text)
    return frozenset(file.path for file in files) | {
        file.old_path for file in files if file.old_path
    }


def edited_lines(text: str) -> int:
    """Added and removed lines together, as `git apply --numstat` counts them. Raises BadDiff."""
    return sum(file.added + file.removed for file in parse(text))


def normalise(text: str) -> str:
    """The edit without what depends on where it stands: line numbers, section titles, index lines, file order.

    Two diffs that make the same edit between the same context lines normalise to the same text.
    Whitespace counts: it carries meaning in Python. Raises BadDiff like `parse`.
    """
    return "".join(sorted("".join(_normal_lines(file)) for file in _parsed(text, contents=True)))


def fingerprint(text: str) -> str:
    """SHA-256 of the normalised diff in hex: equal for equal edits. Raises BadDiff like `parse`."""
    return hashlib.sha256(normalise(text).encode(errors="surrogatepass")).hexdigest()


def bare(text: str) -> BareDiff:
    """The file headers and hunks alone: the hunks to the last character, the headers without a date behind the path.

    Every tool passes over what else a diff holds, so anybody can say anything there. Raises BadDiff like `parse`, and
    where text stands inside a header, so that nobody could tell whose the hunks after it are.
    """
    lines = text.split("\n")
    hunks = [hunk for file in _parsed(text, contents=True) for hunk in file if _numbers(hunk)]
    starts = [(hunk[0].diff_line_no or 0) - 1 for hunk in hunks]
    shown = _header_lines(lines, starts)
    for number in (*starts, *(number for hunk in hunks for number in _numbers(hunk))):
        shown[number] = lines[number - 1]
        if lines[number : number + 1] and lines[number].rstrip("\r") == _NO_NEWLINE:
            shown[number + 1] = lines[number]
    left_out = sum(bool(line.strip()) for at, line in enumerate(lines, 1) if at not in shown)
    alone = "".join(f"{shown[at]}\n" for at in sorted(shown))
    if left_out and _textual(alone) != _textual(text):
        raise BadDiff(
            "text stands between a file's header and its hunks; "
            "write the diff again with `git diff`, and do not edit it by hand"
        )
    return BareDiff(alone, left_out)


def _numbers(hunk: Hunk) -> list[int]:
    """Where the lines of the file stand in the text, from 1; marks of a missing line end are none."""
    return [
        one.diff_line_no for one in hunk if one.diff_line_no and one.line_type in {" ", "+", "-"}
    ]


def _header_lines(lines: list[str], starts: Iterable[int]) -> dict[int, str]:
    """By number from 1: what git writes from `diff --git` on, each sort once, and the two paths above a hunk."""
    shown: dict[int, str] = {}
    sorts: set[str] | None = None
    for number, line in enumerate(lines, 1):
        extended = _EXTENDED_HEADER.fullmatch(line.rstrip("\r"))
        if header := _GIT_HEADER.match(line):
            sorts = set()
            shown[number] = header[0]
        elif extended and sorts is not None and extended[extended.lastindex or 0] not in sorts:
            sorts.add(extended[extended.lastindex or 0])
            shown[number] = line
        else:
            sorts = None
    above = ["", "", *lines]
    for start in starts:
        old, new = above[start - 1 : start + 1]
        if old.startswith("--- ") and new.startswith("+++ "):
            shown |= {start - 2: old.partition("\t")[0], start - 1: new.partition("\t")[0]}
    return shown


def _textual(text: str) -> list[FilePatch]:
    return [file for file in parse(text) if file.is_textual]


def _parsed(text: str, *, contents: bool) -> PatchSet:
    return (_kept if contents and len(text) < _KEPT else _kept.__wrapped__)(text, contents)


@lru_cache(maxsize=1)
def _kept(text: str, contents: bool) -> PatchSet:
    if len(text) > MAX_CHARACTERS:
        raise BadDiff(
            f"diff has {len(text):,} characters, more than the {MAX_CHARACTERS:,} that are read; "
            "leave generated files out of it"
        )
    if "\r\n" in text and _DOS_HEADER.search(text):  # saved with DOS line ends, not of a DOS file
        text = text.replace("\r\n", "\n")
    if merge := _COMBINED.search(text):
        raise BadDiff(
            f"line {text.count(chr(10), 0, merge.start()) + 1} belongs to a combined diff of a merge; "
            "compare with one parent, as `git diff A B` does"
        )
    try:
        ended = _unambiguous(text if text.endswith("\n") else text + "\n")
        files = PatchSet(StringIO(ended), metadata_only=not contents)
    except (UnidiffParseError, ValueError) as error:
        raise _located(text, error) from error
    if not files and text.strip():
        first = next(line for line in text.splitlines() if line.strip())
        raise BadDiff(
            f"line 1 starts no file of a unified diff: {_shown(first)}; "
            "expected `diff --git a/… b/…` or `--- …`, as `git diff` writes them"
        )
    return files


def _unambiguous(text: str) -> str:
    """With a mark in paths that hold ` b/`, since their `diff --git a/x b/x` can be cut in more than one place."""
    marked: dict[str, str] = {}
    for header in _HEADER.finditer(text) if " b/" in text else ():
        names = header[2]
        old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
        if header[1] == "diff --git " and " b/" in new and old.replace("a/", "b/", 1) == new:
            both = [name.replace(" b/", f" {_MARK}b/") for name in (old, new)]
            marked |= {names: " ".join(both), old: both[0], new: both[1]}
    if not marked:
        return text

    def mark(header: re.Match[str]) -> str:
        name, tab, stamp = header[2].partition("\t")
        return f"{header[1]}{marked.get(name, name)}{tab}{stamp}"

    return _HEADER.sub(mark, text)


def _located(text: str, error: Exception) -> BadDiff:
    """The same failure with its line, found by reading once more; the good path pays nothing for it."""
    at = 0
    line = ""

    def counted() -> Iterator[str]:
        nonlocal at, line
        for at, line in enumerate(StringIO(text), 1):  # noqa: B007 - read after the loop broke off
            yield line

    with suppress(UnidiffParseError, ValueError):
        PatchSet(counted(), metadata_only=True)
    reason = str(error).split(":")[0]
    return BadDiff(
        f"line {at} is not part of a unified diff ({reason}): {_shown(line)}; "
        "write the diff again with `git diff`, and do not edit or cut it by hand"
    )


def _shown(line: str) -> str:
    cut = line.rstrip("\r\n")
    return repr(cut if len(cut) <= 80 else cut[:79] + "…")


def _file_patch(file: PatchedFile) -> FilePatch:
    old, new = _paths(file)
    return FilePatch(
        path=old if new == _DEV_NULL else new,
        old_path=None if old == _DEV_NULL else old,
        added=file.added,
        removed=file.removed,
        is_binary=file.is_binary_file,
        is_new=old == _DEV_NULL,
        is_deleted=new == _DEV_NULL,
    )


def _paths(file: PatchedFile) -> tuple[str, str]:
    """Old and new path; git's rename lines win, since `diff --git` is ambiguous with spaces in names."""
    old, new = _plain(file.source_file), _plain(file.target_file)
    for line in file.patch_info or ():
        word, _, path = line.rstrip("\r\n").partition(" from " if " from " in line else " to ")
        if word in {"rename", "copy"}:
            if " from " in line:
                old = _unquoted(path)
            else:
                new = _unquoted(path)
    return old, new


def _plain(path: str) -> str:
    path = _unquoted(path.rstrip("\r").replace(_MARK, ""))
    return path if path == _DEV_NULL else _PREFIX.sub("", path, count=1)


def _unquoted(path: str) -> str:
    """Undo git's C-style quoting; octal escapes are bytes of UTF-8."""
    if len(path) < 2 or not (path[0] == path[-1] == '"'):
        return path

    def char(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255 if len(code) == 3 else _C_LETTERS[code[0]]])

    raw = path[1:-1].encode(errors="surrogatepass")
    return _C_ESCAPE.sub(char, raw).decode(errors="replace")


def _normal_lines(file: PatchedFile) -> Iterator[str]:
    old, new = _paths(file)
    yield f"--- {old}\n+++ {new}\n"
    for info in file.patch_info or ():
        # the blob ids are all there is to tell two binary edits apart
        if info.startswith(("old mode", "new mode")) or (
            file.is_binary_file and info.startswith("index ")
        ):
            yield info
    for hunk in file:
        yield "@@\n"
        # blank lines after a hunk, which belong to no file, have no type
        yield from [line.line_type + line.value for line in hunk if line.line_type]
