"""Unpack source distributions of one project into folders, without running anything of them."""

import compileall
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

from packaging.version import InvalidVersion, Version

from model.errors import BadGym
from model.interpreter import module_command
from model.workspace.tar_extraction import extract_files

_LEFT_OUT: Final = frozenset({"docs", "js_tests", "extras", "scripts"})
"""Folders that no test of Django reads. They would be a third of each copy."""
_TESTS: Final = re.compile(r"/tests/")
_UNPACKED_BYTES: Final = 512 * 1024**2
_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Release:
    """An unpacked source distribution."""

    version: str
    folder: Path


def download_releases(project: str, versions: Sequence[str], folder: Path) -> None:
    """Download source distributions by pip. Raises BadGym.

    pip runs the `setup.py` of a source distribution to read its metadata. So name only projects that you trust.
    """
    for version in versions:
        arguments = ("--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--quiet")
        command = module_command("pip", "download", *arguments, "--dest", str(folder))
        try:
            subprocess.run(
                [*command, f"{project}=={version}"],
                check=True,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except (subprocess.SubprocessError, OSError) as error:
            complaint = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
            raise BadGym(
                f"{project} {version} can't be downloaded: {''.join(complaint)}; download its source distribution "
                "and name the folder by --sources"
            ) from error


def unpack_releases(sources: Path, home: Path) -> list[Release]:
    """Unpack each `NAME-VERSION.tar.gz` of the folder `sources` into `home`, the oldest release first. Raises BadGym."""
    archives = {path: _parse_version(path) for path in sorted(sources.glob("*.tar.gz"))}
    if not archives:
        raise BadGym(f"{sources} holds no source distribution NAME-VERSION.tar.gz; add some")
    ordered = sorted(archives, key=lambda path: archives[path])
    return [_unpack(path, str(archives[path]), home) for path in ordered]


def _parse_version(archive: Path) -> Version:
    try:
        return Version(archive.name.removesuffix(".tar.gz").rpartition("-")[2])
    except InvalidVersion as error:
        raise BadGym(f"{archive} names no version; write it as NAME-VERSION.tar.gz") from error


def _unpack(archive: Path, version: str, home: Path) -> Release:
    folder = home / version
    if not folder.exists():
        partial = home / f"{version}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        try:
            with tarfile.open(archive) as file:
                members = [member for member in file if _is_kept(member)]
                if sum(member.size for member in members) > _UNPACKED_BYTES:
                    raise BadGym(f"{archive} holds more than {_UNPACKED_BYTES:,} bytes")
                extract_files(file, members, partial)
            root = next(partial.iterdir())
        except (OSError, tarfile.TarError, StopIteration) as error:
            raise BadGym(f"{archive} can't be unpacked: {error}; fetch it again") from error
        # Compiling runs nothing. A start of Django takes a second less with bytecode.
        mode = PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(root, quiet=2, rx=_TESTS, invalidation_mode=mode)
        root.rename(folder)
    return Release(version, folder)


def _is_kept(member: tarfile.TarInfo) -> bool:
    parts = Path(member.name).parts
    return not (
        len(parts) > 1 and (parts[1] in _LEFT_OUT or parts[1].endswith((".egg-info", "PKG-INFO")))
    )
