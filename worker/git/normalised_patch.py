"""Hash what a patch changes, by the normalised source of its files, from a bare repository."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from model.patches.normalised_source import normalise_source
from worker.git.hardened_git import Git, GitTooBig

_MOST_FILES: Final = 100
"""Files of a patch that are normalised; each costs a process. Of the others every byte counts."""
_FILE_MODES: Final = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True)
class _Change:
    """One changed file of a patch."""

    before: str
    """File mode and object id before the change, with a blank between them."""
    mode: str
    """File mode after the change."""
    blob: str
    """Object id after the change."""
    path: bytes


def hash_normalised_patch(git: Git, before: str, after: str) -> str:
    """Return the hexadecimal SHA-256 of the change from one commit to another, by its normalised source.

    The hash covers the exact files before the change and the normalised source of those after it. Raises GitError.
    """
    digest = hashlib.sha256()
    for place, change in enumerate(_list_changes(git, before, after)):
        content = _read_content(git, change) if place < _MOST_FILES else _name_object(change)
        # The lengths keep apart where a path ends and where its content begins.
        head = f"{change.before} {change.mode} {len(change.path)} {len(content)} "
        digest.update(head.encode() + change.path + content)
    return digest.hexdigest()


def _list_changes(git: Git, before: str, after: str) -> Iterator[_Change]:
    command = ("diff-tree", "-r", "-z", "--raw", "--full-index", "--no-renames", before, after)
    fields = git.output(*command, "--").split(b"\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, old_blob, blob, _ = meta.decode().removeprefix(":").split(" ")
        yield _Change(f"{old_mode} {old_blob}", mode, blob, path)


def _read_content(git: Git, change: _Change) -> bytes:
    """Return the normalised source of a file after the change; its object's name when it is no file of moderate size."""
    if change.mode not in _FILE_MODES:
        return _name_object(change)
    try:
        content = git.output("cat-file", "blob", change.blob)
    except GitTooBig:
        return _name_object(change)
    return b"text " + normalise_source(change.path.decode(errors="backslashreplace"), content)


def _name_object(change: _Change) -> bytes:
    return b"object " + change.blob.encode()
