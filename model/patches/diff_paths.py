"""Read file paths from the headers of a unified diff, without git's prefixes and quotes (pure)."""

import re
from collections.abc import Iterator, Sequence

from unidiff.patch import PatchedFile

DEV_NULL = "/dev/null"
"""The path that stands for a missing file: the old path of a new file, the new path of a deleted file."""
_PREFIX = re.compile(r"^[abciow12]/")
_C_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\abfnrtv])')
_C_LETTERS = dict(zip(b'"\\abfnrtv', b'"\\\a\b\f\n\r\t\v', strict=True))
_HEADER = re.compile(r"^(diff --git |--- |\+\+\+ )([^\n]*)$", re.MULTILINE)
_RENAME = re.compile(
    r"^diff --git ([^\n]*)\n"
    r"(?:(?:old|new) mode [^\n]*\n)*"
    r"(?:(?:dis)?similarity index [^\n]*\n)?"
    r"(?:rename|copy) from ([^\n]+)\n(?:rename|copy) to ([^\n]+)$",
    re.MULTILINE,
)
"""The header of a renamed or copied file: both names together, the old path, the new path."""
_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests|__tests__)/|^(?:test|testing)/|(?:^|/)src/test/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_tests?|conftest)\.\w+$|\.(?:test|spec)\.\w+$|Tests?\.(?:java|kt|cs|scala)$"
)
"""Paths of tests. A folder `test` counts only at the top: `django/test/client.py` is no test."""
_MARK = "\x02"
"""A mark before a `b/` inside a path. Git always escapes this character in paths, so the mark is unambiguous."""


def is_test_path(path: str) -> bool:
    """Whether the path of a file says that it holds tests. The rule is ours."""
    return _TEST_PATH.search(path) is not None


def mark_paths(text: str) -> str:
    """Return a diff with marks in the paths that contain ` b/`, so that unidiff can read them.

    Git's line `diff --git a/x b/y` is ambiguous for such paths. `read_paths` removes the marks.
    """
    if " b/" not in text:
        return text
    marked: dict[str, str] = {}

    def mark_both(old: str, new: str) -> None:
        both = [name.replace(" b/", f" {_MARK}b/") for name in (old, new)]
        marked.update({f"{old} {new}": " ".join(both), old: both[0], new: both[1]})

    for header in _HEADER.finditer(text):
        names = header[2]
        old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
        if header[1] == "diff --git " and " b/" in new and old.replace("a/", "b/", 1) == new:
            mark_both(old, new)
    for header in _RENAME.finditer(text):
        old, new = _add_prefix("a/", header[2]), _add_prefix("b/", header[3])
        if " b/" in old + new and header[1] == f"{old} {new}":
            mark_both(old, new)
    if not marked:
        return text

    def mark(header: re.Match[str]) -> str:
        name, tab, stamp = header[2].partition("\t")
        return f"{header[1]}{marked.get(name, name)}{tab}{stamp}"

    return _HEADER.sub(mark, text)


def read_paths(file: PatchedFile) -> tuple[str, str]:
    """Return the (old path, new path) of a file in a parsed diff. `/dev/null` stands for a missing file.

    Git's rename lines win, because `diff --git` is ambiguous for names with spaces.
    """
    old, new = _strip_prefix(file.source_file), _strip_prefix(file.target_file)
    for line in file.patch_info or ():
        word, _, path = line.rstrip("\r\n").partition(" from " if " from " in line else " to ")
        if word in {"rename", "copy"}:
            if " from " in line:
                old = _unquote(path)
            else:
                new = _unquote(path)
    return old, new


def read_new_path(header: Sequence[str]) -> str:
    """Return the new path of a file from the lines before its first hunk; for a deleted file the old path.

    Git's rename lines win, because `diff --git` is ambiguous for names with spaces. Without any path it is empty.
    """
    paths = dict(_read_header_lines(header))
    names = [paths.get(key, "") for key in ("to", "+++ ", "--- ", "diff")]
    return next((name for name in names if name not in {"", DEV_NULL}), "")


def _read_header_lines(header: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in (each.rstrip("\r") for each in header):
        if line.startswith(("rename to ", "copy to ")):
            yield "to", _unquote(line.partition(" to ")[2])
        elif line.startswith(("--- ", "+++ ")):
            yield line[:4], _strip_prefix(line[4:].partition("\t")[0])
        elif line.startswith("diff --git "):
            yield "diff", _split_names(line.removeprefix("diff --git "))


def _split_names(names: str) -> str:
    """Return the path in `a/PATH b/PATH`. Where the paths differ, return what follows the last `b/`."""
    middle = len(names) // 2
    old, new = _strip_prefix(names[:middle]), _strip_prefix(names[middle + 1 :])
    return new if old == new else names.rpartition(" b/")[2].strip('"') or names


def _add_prefix(prefix: str, path: str) -> str:
    return f'"{prefix}{path[1:]}' if path.startswith('"') else prefix + path


def _strip_prefix(path: str) -> str:
    path = _unquote(path.rstrip("\r").replace(_MARK, ""))
    return path if path == DEV_NULL else _PREFIX.sub("", path, count=1)


def _unquote(path: str) -> str:
    """Undo git's C-style quoting. Octal escapes are bytes of UTF-8."""
    if len(path) < 2 or not (path[0] == path[-1] == '"'):
        return path

    def char(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255 if len(code) == 3 else _C_LETTERS[code[0]]])

    raw = path[1:-1].encode(errors="surrogatepass")
    return _C_ESCAPE.sub(char, raw).decode(errors="replace")
