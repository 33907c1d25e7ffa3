"""Read the issue, the candidates and their trajectories from files for `r4p verify`."""

import codecs
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from model.agents.trajectories.trajectory_json import FORMAT
from model.agents.trajectories.trajectory_text import read_record
from model.domain import Issue, Patch, PatchId
from model.errors import BadDiff, BadTrajectory
from model.patches import diff
from model.prompts.untrusted import HINT_TAG
from model.reproduction.reproduction_test import KeptTests, collect_tests

STDIN = Path("-")
"""Stands for stdin in place of a patch file."""


class BadInput(Exception):
    """An input file of `r4p verify` is unusable. The message names the file and the fix."""


def read_issue(path: Path) -> Issue:
    """Read an issue from a text file: the title on its first line, the body below. Raises BadInput."""
    lines = _read_text(path, "issue").strip().splitlines()
    if not lines:
        raise BadInput(f"issue {path} is empty; write the title on its first line")
    return Issue(title=lines[0].lstrip("# ").strip(), body="\n".join(lines[1:]).strip())


def read_patches(paths: Sequence[Path]) -> tuple[list[Patch], list[str]]:
    """Read the files of the candidate patches, and return (all candidates, a message for each that cannot be judged).

    A candidate is named by its file name, or by its path when two file names are equal. Raises BadInput, also when
    no candidate can be judged.
    """
    if not paths:
        raise BadInput("there is no patch to judge; give FILE, or - for stdin")
    if len({path.absolute() for path in paths}) < len(paths):
        raise BadInput("a patch is given twice; give each file once")
    short = ["stdin" if path == STDIN else path.name for path in paths]
    names = short if len(set(short)) == len(short) else [str(path) for path in paths]
    read = [
        Patch(PatchId(name), _read_text(path, "patch"))
        for name, path in zip(names, paths, strict=True)
    ]
    return read, list_unreadable(read, [f"patch {path}" for path in paths])


def list_unreadable(patches: Sequence[Patch], names: Sequence[str]) -> list[str]:
    """Return a message for each patch that no verifier can judge. Raises BadInput if there is no other patch.

    `names` are the names of the patches in messages, in their order.
    """
    unread = [
        f"{name} can't be judged: {why}"
        for name, patch in zip(names, patches, strict=True)
        if (why := _explain_unreadable(patch))
    ]
    if len(unread) == len(patches):
        raise BadInput("; ".join(unread))
    return unread


def _explain_unreadable(patch: Patch) -> str | None:
    """Return why no verifier can judge the patch; None when it contains a line of text."""
    try:
        files = diff.parse(patch.diff)
    except BadDiff as error:
        return str(error)
    return None if any(file.is_textual for file in files) else "it changes no line of text"


def read_reproduction_tests(paths: Sequence[Path]) -> KeptTests:
    """Read scripts that were written for the issue; equal ones count once. Raises BadInput."""
    return collect_tests([_read_text(path, "reproduction test") for path in paths])


def attach_trajectories(
    candidates: Sequence[Patch], paths: Sequence[Path], verifier: str, *, reads_trajectories: bool
) -> list[Patch]:
    """Return the candidates, each with the text of its trajectory file when the verifier reads trajectories.

    `paths` are the trajectory files in the order of the candidates, and `verifier` is the name for messages. Raises
    BadInput, also for files that the verifier would not read.
    """
    if not reads_trajectories:
        if paths:
            raise BadInput(f"verifier {verifier} looks at no trajectory; use yes-no-trajectory")
        return list(candidates)
    if len(paths) != len(candidates):
        raise BadInput(
            f"{len(paths)} trajectories for {len(candidates)} patches; "
            "give --trajectory once for each patch, in their order"
        )
    return [
        replace(candidate, trajectory=_read_trajectory(path))
        for candidate, path in zip(candidates, paths, strict=True)
    ]


def _read_trajectory(path: Path) -> str:
    """Read a trajectory: any text, or what `r4p propose --trajectories` wrote, as the bot shows it.

    Raises BadInput for one with a hint, because the hint would tell the judge the answer.
    """
    text = _read_text(path, "trajectory")
    if HINT_TAG in text:
        raise BadInput(
            f"trajectory {path} was made with a hint, which no judge may see; give another"
        )
    if not text.startswith(f'{{"format":"{FORMAT}"'):
        return text
    try:
        return read_record(text.encode())
    except BadTrajectory as error:
        raise BadInput(f"trajectory {path} can't be read: {error}") from error


def _read_text(path: Path, what: str) -> str:
    """Read a file as text. Bytes that are not UTF-8 survive as escapes; a NUL byte marks a binary file."""
    try:
        raw = sys.stdin.buffer.read() if path == STDIN and what == "patch" else path.read_bytes()
    except IsADirectoryError as error:
        raise BadInput(f"{what} {path} is a directory; give a file") from error
    except OSError as error:
        raise BadInput(f"{what} {path} can't be read: {error.strerror}") from error
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput(f"{what} {path} is UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        wanted = "a unified diff" if what == "patch" else "text"
        raise BadInput(f"{what} {path} is a binary file; give {wanted}")
    return raw.decode(errors="surrogateescape")
