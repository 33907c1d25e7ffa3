"""This module parses unified diffs into frozen values and computes the fingerprint of an edit (pure)."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from model.errors import BadDiff
from model.patches.diff_paths import DEV_NULL, mark_paths, read_paths

MAX_CHARACTERS = 20_000_000
"""A longer diff is refused before it is parsed. Parsing it would block a worker for minutes."""
_CACHED_CHARACTERS = 100_000
"""A shorter diff stays parsed, because a verifier reads it three times."""
_COMBINED = re.compile(
    r"^diff --(?:cc|combined) [^\n]+\n(?:index|mode|new file mode|deleted file mode|---) "
    r"|^\+\+\+ [^\n]*\n@@@+ -",
    re.MULTILINE,
)
"""A combined diff of a merge: its header, or its hunks below a file header. Elsewhere the line is plain text."""
_GIT_HEADER = re.compile(r"diff --git [^\t]+ [^\t]+")
_EXTENDED_HEADER = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode) \d{6}"
    r"|((?:dis)?similarity index) \d{1,3}%"
    r"|(index) [0-9a-f]+\.\.[0-9a-f]+(?: \d{6})?"
    r"|((?:copy|rename) (?:from|to)) .+"
    r"|(Binary files) .+ and .+ differ|(GIT binary patch)"
)
_SUBMODULE = re.compile(r"(?:new file|deleted file|old|new) mode 160000|index \S+ 160000")
_NO_NEWLINE = "\\ No newline at end of file"
_DOS_HEADER = re.compile(r"^(?:diff --git |--- |\+\+\+ |@@ )[^\n]*\r$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The changes of a diff to one file. Paths have neither git's prefixes nor quotes."""

    path: str
    """The path after the change, or the old path of a deleted file."""
    old_path: str | None
    """The path before the change; None for a new file."""
    added: int
    """Number of added lines."""
    removed: int
    """Number of removed lines."""
    is_binary: bool = False
    is_new: bool = False
    is_deleted: bool = False
    is_submodule: bool = False
    changes_mode: bool = False
    """Whether the file's mode changes, such as its executable bit."""

    @property
    def is_textual(self) -> bool:
        """Whether the diff adds or removes at least one line of text."""
        return not self.is_binary and bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class BareDiff:
    """A diff reduced to its file headers and hunks, and the number of lines that were left out."""

    text: str
    """File headers and hunks, line for line."""
    left_out: int
    """The number of other lines, such as a mail's head, a signature or binary data. Blank lines do not count."""


def parse(text: str) -> tuple[FilePatch, ...]:
    """Parse a unified diff and return its changed files, in the diff's order. Blank text gives no files.

    Raises BadDiff for text that is no unified diff, is cut off, or is longer than MAX_CHARACTERS.
    """
    files = _parse(text, contents=len(text) < _CACHED_CHARACTERS)
    return tuple(map(_convert_file, files))


def list_touched_files(text: str) -> frozenset[str]:
    """Return the paths of all files in a unified diff; of a renamed file, both the old and the new. Raises BadDiff."""
    files = parse(text)
    return frozenset(file.path for file in files) | {
        file.old_path for file in files if file.old_path
    }


def count_edited_lines(text: str) -> int:
    """Return the number of added and removed lines of a diff together, like `git apply --numstat`. Raises BadDiff."""
    return sum(file.added + file.removed for file in parse(text))


def parse_hunks(text: str) -> Iterator[tuple[str, Hunk]]:
    """Yield each hunk of a diff in order, with the path of its file. Raises BadDiff."""
    for file in _parse(text, contents=True):
        path = _convert_file(file).path
        yield from ((path, hunk) for hunk in file)


def normalise(text: str) -> str:
    """Return the text of a diff without all that depends on the edit's position.

    It leaves out line numbers, section titles and index lines, and sorts the files. Two diffs with the same edit
    between the same context lines give the same text. Whitespace counts, because it has meaning in Python. Raises
    BadDiff like `parse`.
    """
    return "".join(sorted("".join(_normalise_file(file)) for file in _parse(text, contents=True)))


def fingerprint(text: str) -> str:
    """Return the SHA-256 of a normalised diff, as 64 hex digits, equal for equal edits. Raises BadDiff."""
    return hashlib.sha256(normalise(text).encode(errors="surrogatepass")).hexdigest()


def extract_bare_diff(text: str, without: Collection[str] = ()) -> BareDiff:
    """Return the file headers and hunks of a diff, without all text that tools ignore.

    The text that is left out could tell a judge anything. Hunks are kept to the last character; headers lose the date
    after the path. Of the files with the paths `without`, only the headers are kept. Raises BadDiff like `parse`, and
    also for text inside a header, which makes the owner of the next hunks unclear.
    """
    lines = text.split("\n")
    files: list[PatchedFile] = []
    dropped: list[PatchedFile] = []
    for file in _parse(text, contents=True):
        (dropped if _convert_file(file).path in without else files).append(file)
    shown = _find_git_headers(lines) | _find_hunk_lines(lines, files)
    hidden = _find_hunk_lines(lines, dropped)
    left_out = sum(
        bool(line.strip()) for i, line in enumerate(lines, 1) if not (i in shown or i in hidden)
    )
    bare = "".join(f"{shown[number]}\n" for number in sorted(shown))
    if (left_out or hidden) and _parse_textual(bare, ()) != _parse_textual(text, without):
        raise BadDiff(
            "text stands between a file's header and its hunks; "
            "write the diff again with `git diff`, and do not edit it by hand"
        )
    return BareDiff(bare, left_out)


def _list_line_numbers(hunk: Hunk) -> list[int]:
    """Return the line numbers of a hunk's lines in the text, from 1, without the marks of a missing line end."""
    numbers = (line.diff_line_no for line in hunk if line.line_type in {" ", "+", "-"})
    return [number for number in numbers if number]


def _find_hunk_lines(lines: list[str], files: Iterable[PatchedFile]) -> dict[int, str]:
    """Return the lines of the files' hunks by number, each hunk with its header and the two paths above it."""
    hunks = [hunk for file in files for hunk in file if _list_line_numbers(hunk)]
    starts = [(hunk[0].diff_line_no or 0) - 1 for hunk in hunks]
    shown = _find_paths(lines, starts)
    for number in (*starts, *(number for hunk in hunks for number in _list_line_numbers(hunk))):
        shown[number] = lines[number - 1]
        if lines[number : number + 1] and lines[number].rstrip("\r") == _NO_NEWLINE:
            shown[number + 1] = lines[number]
    return shown


def _find_git_headers(lines: list[str]) -> dict[int, str]:
    """Return each kind of git's extended header once per file, by line number."""
    shown: dict[int, str] = {}
    kinds: set[str] | None = None
    for number, line in enumerate(lines, 1):
        extended = _EXTENDED_HEADER.fullmatch(line.rstrip("\r"))
        if header := _GIT_HEADER.match(line):
            kinds = set()
            shown[number] = header[0]
        elif extended and kinds is not None and extended[extended.lastindex or 0] not in kinds:
            kinds.add(extended[extended.lastindex or 0])
            shown[number] = line
        else:
            kinds = None
    return shown


def _find_paths(lines: list[str], starts: Iterable[int]) -> dict[int, str]:
    """Return the path lines above hunk headers by number, without dates. `starts` are the numbers of the headers."""
    shown: dict[int, str] = {}
    above = ["", "", *lines]
    for start in starts:
        old, new = above[start - 1 : start + 1]
        if old.startswith("--- ") and new.startswith("+++ "):
            shown |= {start - 2: old.partition("\t")[0], start - 1: new.partition("\t")[0]}
    return shown


def _parse_textual(text: str, without: Collection[str]) -> list[FilePatch]:
    return [file for file in parse(text) if file.is_textual and file.path not in without]


def _parse(text: str, *, contents: bool) -> PatchSet:
    return (
        _parse_cached if contents and len(text) < _CACHED_CHARACTERS else _parse_cached.__wrapped__
    )(text, contents)


@lru_cache(maxsize=1)
def _parse_cached(text: str, contents: bool) -> PatchSet:
    if len(text) > MAX_CHARACTERS:
        raise BadDiff(
            f"diff has {len(text):,} characters, more than the limit of {MAX_CHARACTERS:,}; "
            "leave generated files out of it"
        )
    if "\r\n" in text and _DOS_HEADER.search(
        text
    ):  # the diff was saved with DOS line ends; the file itself need not have them
        text = text.replace("\r\n", "\n")
    if merge := _COMBINED.search(text):
        raise BadDiff(
            f"line {text.count(chr(10), 0, merge.start()) + 1} belongs to a combined diff of a merge; "
            "compare with one parent, as `git diff A B` does"
        )
    try:
        ended = mark_paths(text if text.endswith("\n") else text + "\n")
        files = PatchSet(StringIO(ended), metadata_only=not contents)
    except (UnidiffParseError, ValueError) as error:
        raise _locate_error(text, error) from error
    if not files and text.strip():
        first = next(line for line in text.splitlines() if line.strip())
        raise BadDiff(
            f"line 1 starts no file of a unified diff: {_shorten(first)}; "
            "expected `diff --git a/… b/…` or `--- …`, as `git diff` writes them"
        )
    return files


def _locate_error(text: str, error: Exception) -> BadDiff:
    """Add the line to a parser's error by parsing once more. A valid diff pays nothing for it."""
    number = 0
    line = ""

    def read_lines() -> Iterator[str]:
        nonlocal number, line
        for number, line in enumerate(StringIO(text), 1):  # noqa: B007 - read after the parser stopped
            yield line

    with suppress(UnidiffParseError, ValueError):
        PatchSet(read_lines(), metadata_only=True)
    reason = str(error).split(":")[0]
    return BadDiff(
        f"line {number} is not part of a unified diff ({reason}): {_shorten(line)}; "
        "write the diff again with `git diff`, and do not edit or cut it by hand"
    )


def _shorten(line: str) -> str:
    cut = line.rstrip("\r\n")
    return repr(cut if len(cut) <= 80 else cut[:79] + "…")


def _convert_file(file: PatchedFile) -> FilePatch:
    old, new = read_paths(file)
    header = [line.rstrip("\r\n") for line in file.patch_info or ()]
    return FilePatch(
        path=old if new == DEV_NULL else new,
        old_path=None if old == DEV_NULL else old,
        added=file.added,
        removed=file.removed,
        is_binary=file.is_binary_file,
        is_new=old == DEV_NULL,
        is_deleted=new == DEV_NULL,
        is_submodule=any(_SUBMODULE.fullmatch(line) for line in header),
        changes_mode=any(line.startswith("old mode ") for line in header),
    )


def _normalise_file(file: PatchedFile) -> Iterator[str]:
    old, new = read_paths(file)
    yield f"--- {old}\n+++ {new}\n"
    for info in file.patch_info or ():
        # only the blob ids distinguish two binary edits
        if info.startswith(("old mode", "new mode")) or (
            file.is_binary_file and info.startswith("index ")
        ):
            yield info
    for hunk in file:
        yield "@@\n"
        # blank lines after a hunk have no type: they belong to no file
        yield from [line.line_type + line.value for line in hunk if line.line_type]
