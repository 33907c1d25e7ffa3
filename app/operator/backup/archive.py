"""The archive `r4p.backup/1`: a tar file with a manifest, a dump of the database and the files of the bot's folder."""

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.operator.backup.postgres_tools import BackupError
from model.workspace.tar_extraction import extract_files

MANIFEST: Final = "manifest.json"
DUMP: Final = "database.dump"
FILES: Final = "files"
"""Folder of the archive with the files of the bot's folder."""
_LEFT_OUT: Final = frozenset(
    {"services", "logs", "checkouts", "trees", "test-trees", "addresses.json"}
)
"""What the bot makes again: its servers' files, whose data is in the dump, copies of GitHub's repositories, and logs."""
_MANIFEST_BYTES: Final = 65_536


class Manifest(BaseModel):
    """What an archive holds, and which version of the bot wrote it."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)
    name: Literal["r4p.backup/1"] = Field("r4p.backup/1", alias="schema")
    version: str
    revision: str
    """Schema revision of the database."""
    created_at: datetime
    has_roles: bool
    """The processes had database roles of their own."""
    dump_sha256: str
    files: int
    """Number of files of the bot's folder; 0 for a backup of a database alone."""


def write_archive(
    target: Path, dump: Path, data: Path | None, revision: str, *, has_roles: bool
) -> Manifest:
    """Write an archive that only its owner may read, because it holds the bot's secrets. `data` is the bot's folder."""
    files = list(_list_files(data)) if data else []
    manifest = Manifest(
        version=version("r4p-bot"),
        revision=revision,
        created_at=datetime.now(UTC),
        has_roles=has_roles,
        dump_sha256=_hash(dump),
        files=len(files),
    )
    text = manifest.model_dump_json(by_alias=True, indent=2).encode()
    with tarfile.open(target, "w") as archive:
        head = tarfile.TarInfo(MANIFEST)
        head.size, head.mtime = len(text), manifest.created_at.timestamp()
        archive.addfile(head, BytesIO(text))
        archive.add(dump, DUMP)
        for file in files:
            archive.add(file, f"{FILES}/{file.relative_to(data or file)}", recursive=False)
    return manifest


def read_manifest(source: Path) -> Manifest:
    """Read the manifest of an archive. Raises BackupError when the file is no archive of this bot."""
    try:
        with tarfile.open(source) as archive:
            first = archive.next()
            file = archive.extractfile(first) if first and first.name == MANIFEST else None
            return Manifest.model_validate_json(file.read(_MANIFEST_BYTES) if file else b"")
    except (OSError, tarfile.TarError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no backup of this bot"
        raise BackupError(f"{source} can't be read: {why}; give a file of `r4p backup`") from None


def extract_archive(source: Path, target: Path, say: Callable[[str], None]) -> None:
    """Extract the archive into the folder `target`, and check the dump. Raises BackupError when the file is damaged."""
    manifest = read_manifest(source)
    try:
        with tarfile.open(source) as archive:
            for member in archive:
                say(f"extracting {member.name}")
                extract_files(archive, [member], target)
        is_whole = _hash(target / DUMP) == manifest.dump_sha256
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"{source} can't be extracted: {error}") from None
    if not is_whole:
        raise BackupError(f"{source} is damaged: its database differs from its manifest")


def _list_files(data: Path) -> Iterator[Path]:
    """Yield the files that a backup holds, in order. Links may lead anywhere, so they are left out."""
    for name in sorted({entry.name for entry in data.iterdir()} - _LEFT_OUT):
        paths = [
            data / name,
            *(
                Path(folder, name)
                for folder, _, names in os.walk(data / name)
                for name in sorted(names)
            ),
        ]
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
