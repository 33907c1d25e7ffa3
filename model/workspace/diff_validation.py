"""Validate a diff that claims to come from an agent (pure).

It must have the format of `git_diff` and change only files that anybody may edit. The grammar is strict, because
`git apply` may execute what a lenient parser skips.
"""

import re
from typing import Final

from model.errors import BadDiff
from model.workspace.paths import MOST_BYTES, explain_refusal, explain_write_refusal, quote_path

_NAME = rf'[^"\\\n]{{1,{MOST_BYTES}}}'
_QUOTED = rf'(?:[^"\\\n]|\\"){{1,{MOST_BYTES}}}'
_HEADER: Final = re.compile(
    rf'diff --git (?:a/(?P<plain>{_NAME}) b/(?P=plain)|"a/(?P<quoted>{_QUOTED})" "b/(?P=quoted)")\n'
)
_MODES: Final = re.compile(
    r"(?:(?:new|deleted) file mode 100(?:644|755)\n)?"
    r"(?:index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}(?: 100(?:644|755))?\n)?"
)
_BINARY: Final = re.compile(
    r"GIT binary patch\n(?:(?:literal|delta) \d{1,9}\n(?:[A-Za-z][!-~]{1,66}\n)*\n){1,2}"
)
_SIDES: Final = re.compile(r"--- ([^\t\n]+)\t?\n\+\+\+ ([^\t\n]+)\t?\n(?=@@ )")
_HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@(?: [^\n]*)?\n")
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


def validate_diff(diff: str) -> None:
    """Raise BadDiff unless a diff has the strict format of `git_diff` and names only files that an agent may edit.

    It rejects links, files that control automation, and paths that leave the tree.
    """
    if not diff or "\0" in diff or any("\ud800" <= letter <= "\udfff" for letter in diff):
        raise BadDiff("the patch is empty, or no text")
    start = 0
    while start < len(diff):
        start = _check_file(diff, start)


def _check_file(diff: str, start: int) -> int:
    """Return where the part of the file that begins at `start` ends."""
    header = _HEADER.match(diff, start)
    if header is None:
        raise BadDiff(f"{_describe_line(diff, start)} is not a file header as git writes it")
    _check_path((header["plain"] or header["quoted"]).replace('\\"', '"'))
    quote, name = ('"', header["quoted"]) if header["quoted"] else ("", header["plain"])
    modes = _MODES.match(diff, header.end())
    start = modes.end() if modes else header.end()
    if binary := _BINARY.match(diff, start):
        return binary.end()
    if (sides := _SIDES.match(diff, start)) is None:
        return start
    for side, label in zip("ab", sides.groups(), strict=True):
        if label not in {f"{quote}{side}/{name}{quote}", "/dev/null"}:
            raise BadDiff(
                f"{_describe_line(diff, start)}: the paths of one file in the patch differ"
            )
    start = sides.end()
    while hunk := _HUNK.match(diff, start):
        start = _check_hunk(diff, hunk)
    return start


def _check_path(path: str) -> None:
    if reason := explain_refusal(path) or explain_write_refusal(path):
        raise BadDiff(f"the patch names {quote_path(path)}: {reason}")


def _check_hunk(diff: str, hunk: re.Match[str]) -> int:
    """Return where the hunk ends, by the line counts of its header."""
    old, new = (int(count or 1) for count in hunk.groups())
    start = hunk.end()
    while old > 0 or new > 0:
        sign, end = diff[start : start + 1], diff.find("\n", start)
        if sign not in {" ", "-", "+"} or end < 0:
            raise BadDiff(
                f"{_describe_line(diff, start)} is not a line of a hunk, and the hunk is incomplete"
            )
        old, new = old - (sign != "+"), new - (sign != "-")
        start = end + 1
        if diff.startswith(_NO_NEWLINE, start):
            start += len(_NO_NEWLINE)
    if old or new:
        raise BadDiff(f"{_describe_line(diff, start)}: the hunk above is longer than it says")
    return start


def _describe_line(diff: str, offset: int) -> str:
    return f"line {diff.count(chr(10), 0, offset) + 1} of the patch"
