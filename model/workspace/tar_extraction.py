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
    """Write the folders and files `members` below the folder `target`.

    Files keep their times, and their modes without others' write rights. Folders get the time and the mode of new ones.
    A hard link stays one, and no byte is written twice: many links to a large file need no more room than the file.
    Raises TarError for:

    - a name that leads out of the folder, or holds a NUL character,
    - a name that is both a file and a folder,
    - a hard link to a file that was not written before it,
    - a symbolic link, a device or a pipe,
    - a file whose time is no time.
    """
    for member in members:
        path = _find_path(member.name, target)
        if member.isdir():
            _make_folder(path)
        elif member.islnk():
            _link_file(member, path, target)
        else:
            _write_file(archive, member, path)


def _find_path(name: str, target: Path) -> Path:
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise tarfile.TarError(f"{name!r} leads out of the folder")
    if "\0" in name:
        raise tarfile.TarError(f"{name!r} holds a NUL character")
    return target.joinpath(*parts)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise tarfile.TarError(
            f"{path.name!r} or a folder above it is a file and a folder"
        ) from None


def _make_room(path: Path) -> None:
    """Make the folder of a file, and remove an earlier file of the same name: the last one counts.

    No symbolic link is ever written, so none can be followed.
    """
    _make_folder(path.parent)
    if path.is_dir():
        raise tarfile.TarError(f"{path.name!r} is a file and a folder")
    path.unlink(missing_ok=True)


def _link_file(member: tarfile.TarInfo, path: Path, target: Path) -> None:
    source = _find_path(member.linkname, target)
    if source == path or not source.is_file():
        raise tarfile.TarError(f"{member.name!r} links to no file before it in the archive")
    _make_room(path)
    path.hardlink_to(source)


def _write_file(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise tarfile.TarError(f"{member.name!r} is no file")
    _make_room(path)
    mode = (member.mode & 0o755) | 0o600
    with content, open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        shutil.copyfileobj(content, file)
    path.chmod(mode)
    try:
        os.utime(path, (member.mtime, member.mtime))
    except (OverflowError, ValueError):  # a PAX header may say "nan", "inf" or "1e300"
        raise tarfile.TarError(
            f"{member.name!r} has the time {member.mtime}, which no file can have"
        ) from None
