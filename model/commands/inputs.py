"""What `r4p verify` is given: issue, candidates and trajectories read from files."""

import codecs
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from model.domain import Issue, Patch, PatchId
from model.errors import BadDiff
from model.patches import diff
from model.prompts.untrusted import HINT_TAG

STDIN = Path("-")
"""In place of a patch's file: one patch may be read from stdin."""


class Unusable(Exception):
    """What was given can't be judged. The message names the file and the fix."""


def issue(path: Path) -> Issue:
    """The title on the first line, the body below. Raises Unusable."""
    lines = _read(path, "issue").strip().splitlines()
    if not lines:
        raise Unusable(f"issue {path} is empty; write the title on its first line")
    return Issue(title=lines[0].lstrip("# ").strip(), body="\n".join(lines[1:]).strip())


def patches(paths: Sequence[Path]) -> tuple[list[Patch], list[str]]:
    """The candidates, named by file, or by path where two files have one name; and what to say of unreadable ones.

    Raises Unusable, also when there is no line of text to judge in any of them.
    """
    if not paths:
        raise Unusable("there is no patch to judge; give FILE, or - for stdin")
    if len({path.absolute() for path in paths}) < len(paths):
        raise Unusable("a patch is given twice; give each file once")
    short = ["stdin" if path == STDIN else path.name for path in paths]
    names = short if len(set(short)) == len(short) else [str(path) for path in paths]
    read = [
        Patch(PatchId(name), _read(path, "patch")) for name, path in zip(names, paths, strict=True)
    ]
    unread = [
        f"patch {path} can't be judged: {why}"
        for path, one in zip(paths, read, strict=True)
        if (why := _unreadable(one))
    ]
    if len(unread) == len(read):
        raise Unusable("; ".join(unread))
    return read, unread


def _unreadable(patch: Patch) -> str | None:
    """Why every verifier refuses the patch; None where there is a line to judge."""
    try:
        files = diff.parse(patch.diff)
    except BadDiff as error:
        return str(error)
    return None if any(file.is_textual for file in files) else "it changes no line of text"


def with_trajectories(
    candidates: Sequence[Patch], paths: Sequence[Path], verifier: str, *, looked_at: bool
) -> list[Patch]:
    """The candidates with how each came about, if the verifier looks at that. Raises Unusable."""
    if not looked_at:
        if paths:
            raise Unusable(f"verifier {verifier} looks at no trajectory; use yes-no-trajectory")
        return list(candidates)
    if len(paths) != len(candidates):
        raise Unusable(
            f"{len(paths)} trajectories for {len(candidates)} patches; "
            "give --trajectory once for each patch, in their order"
        )
    return [
        replace(one, trajectory=_unguided(path))
        for one, path in zip(candidates, paths, strict=True)
    ]


def _unguided(path: Path) -> str:
    """A trajectory's text. Raises Unusable for one that was made with a hint: it would tell who judges the answer."""
    text = _read(path, "trajectory")
    if HINT_TAG in text:
        raise Unusable(
            f"trajectory {path} was made with a hint, which no judge may see; give another"
        )
    return text


def _read(path: Path, what: str) -> str:
    """A file's text; bytes that are not UTF-8 survive as escapes, a NUL byte means that it is no text."""
    try:
        raw = sys.stdin.buffer.read() if path == STDIN and what == "patch" else path.read_bytes()
    except IsADirectoryError as error:
        raise Unusable(f"{what} {path} is a directory; give a file") from error
    except OSError as error:
        raise Unusable(f"{what} {path} can't be read: {error.strerror}") from error
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Unusable(f"{what} {path} is UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        wanted = "a unified diff" if what == "patch" else "text"
        raise Unusable(f"{what} {path} is a binary file; give {wanted}")
    return raw.decode(errors="surrogateescape")
