"""Whether a diff may come from an agent: written as `git_diff` writes, of files that anybody may edit (pure).

It is read by a narrow grammar: what a lenient reader passes over, `git apply` may still carry out.
"""

import re
from typing import Final

from model.errors import BadDiff
from model.workspace.paths import MOST_BYTES, refusal, shown, write_refusal

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


def require(diff: str) -> None:
    """Raises BadDiff for any other text, and for a link, a file that steers, or a path that leads out of the tree."""
    if not diff or "\0" in diff or any("\ud800" <= one <= "\udfff" for one in diff):
        raise BadDiff("the patch is empty, or no text")
    at = 0
    while at < len(diff):
        at = _file_end(diff, at)


def _file_end(diff: str, at: int) -> int:
    """Where the file's part that begins there ends."""
    header = _HEADER.match(diff, at)
    if header is None:
        raise BadDiff(f"{_place(diff, at)} is no header of a file in a diff as git writes it")
    _require_path((header["plain"] or header["quoted"]).replace('\\"', '"'))
    quote, name = ('"', header["quoted"]) if header["quoted"] else ("", header["plain"])
    modes = _MODES.match(diff, header.end())
    at = modes.end() if modes else header.end()
    if binary := _BINARY.match(diff, at):
        return binary.end()
    if (sides := _SIDES.match(diff, at)) is None:
        return at
    for side, said in zip("ab", sides.groups(), strict=True):
        if said not in {f"{quote}{side}/{name}{quote}", "/dev/null"}:
            raise BadDiff(f"{_place(diff, at)}: the paths of one file in the patch differ")
    at = sides.end()
    while hunk := _HUNK.match(diff, at):
        at = _hunk_end(diff, hunk)
    return at


def _require_path(path: str) -> None:
    if reason := refusal(path) or write_refusal(path):
        raise BadDiff(f"the patch names {shown(path)}: {reason}")


def _hunk_end(diff: str, hunk: re.Match[str]) -> int:
    """Where as many lines end as it says it has."""
    old, new = (int(count or 1) for count in hunk.groups())
    at = hunk.end()
    while old > 0 or new > 0:
        sign, end = diff[at : at + 1], diff.find("\n", at)
        if sign not in {" ", "-", "+"} or end < 0:
            raise BadDiff(f"{_place(diff, at)} is no line of a hunk, and some are missing")
        old, new = old - (sign != "+"), new - (sign != "-")
        at = end + 1
        if diff.startswith(_NO_NEWLINE, at):
            at += len(_NO_NEWLINE)
    if old or new:
        raise BadDiff(f"{_place(diff, at)}: the hunk above is longer than it says")
    return at


def _place(diff: str, at: int) -> str:
    return f"line {diff.count(chr(10), 0, at) + 1} of the patch"
