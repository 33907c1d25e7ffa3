"""Extract tar archives without leaving the target folder.

The `filter` of `tarfile` came with Python 3.11.4, and Debian 12 has 3.11.2. So files are written here one by one, alike on
every Python.
"""

import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path


def extract_files(
    archive: tarfile.TarFile, members: Iterable[tarfile.TarInfo], target: Path
) -> None:
    """Write the folders and files `members` below the folder `target`, with their times and without others' write rights.

    A hard link stays one, and no byte is written twice: many links to a large file need no more room than the file.
    Raises TarError for a name that leads out of the folder, for a hard link to a file that was not written before it,
    and for a symbolic link, a device or a pipe.
    """
    for member in members:
        path = _find_path(member.name, target)
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif member.islnk():
            _link_file(member, path, target)
        else:
            _write_file(archive, member, path)


def _find_path(name: str, target: Path) -> Path:
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise tarfile.TarError(f"{name!r} leads out of the folder")
    return target.joinpath(*parts)


def _link_file(member: tarfile.TarInfo, path: Path, target: Path) -> None:
    source = _find_path(member.linkname, target)
    if source == path or not source.is_file():
        raise tarfile.TarError(f"{member.name!r} links to no file before it in the archive")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.hardlink_to(source)


def _write_file(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise tarfile.TarError(f"{member.name!r} is no file")
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that comes twice replaces the first file. No symbolic link is ever written, so none can be followed.
    path.unlink(missing_ok=True)
    mode = (member.mode & 0o755) | 0o600
    with content, open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        shutil.copyfileobj(content, file)
    path.chmod(mode)
    os.utime(path, (member.mtime, member.mtime))
