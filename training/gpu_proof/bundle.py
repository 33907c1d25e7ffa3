"""Cut files into parts of limited size, and join them again on another machine, each chunk checked by SHA-256.

This file travels in every part as `receive.py`, so it needs nothing but Python's standard library. Parts arrive in any
order and in several commands. A file appears in the home folder complete and checked, or not at all.
"""

import argparse
import hashlib
import json
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FORMAT = "r4p.bundle/1"
MANIFEST, RECEIVER, LEASE = "manifest.json", "receive.py", "lease.json"
SOURCE, WHEELS, PROVE = "source.zip", "wheels", "prove"
SITE = "site-packages"
"""Folder of the installed wheels. dill takes modules of a folder with this name for importable ones."""
_RESERVE = 256_000
"""Bytes of each part that the manifest and this file may take."""
_BLOCK = 1 << 20


class BadPart(ValueError):
    """A part or a bundle that cannot be used. The message names the part, what is wrong and the fix."""


@dataclass(frozen=True)
class BundledFile:
    """A file of the bundle: its path in the home folder, its size in bytes and its hash."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Chunk:
    """A piece of a file. `number` counts all chunks, `part` is the number of its folder, from 1."""

    number: int
    path: str
    part: int
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The chunk's file name in its part."""
        return f"chunk-{self.number:04d}"


@dataclass(frozen=True)
class BundleManifest:
    """What a bundle consists of. Every part holds the same manifest."""

    files: tuple[BundledFile, ...]
    chunks: tuple[Chunk, ...]

    @property
    def parts(self) -> tuple[int, ...]:
        """The numbers of all parts."""
        return tuple(sorted({chunk.part for chunk in self.chunks}))

    def to_json(self) -> str:
        """Return the manifest as JSON text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def read_manifest(path: Path) -> BundleManifest:
    """Read a manifest. Raises BadPart for a file that is missing or no manifest."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise BadPart(f"{path} is {document['format']}, not {FORMAT}; pack the bundle again")
        return BundleManifest(
            tuple(BundledFile(**entry) for entry in document["files"]),
            tuple(Chunk(**entry) for entry in document["chunks"]),
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadPart(
            f"{path} is no manifest of a bundle ({error}); send its part again"
        ) from error


@dataclass(frozen=True)
class Cut:
    """A range of bytes of a file, and the part that it goes into."""

    path: str
    start: int
    size: int
    part: int


def plan_cuts(sizes: Mapping[str, int], room: int) -> list[Cut]:
    """Divide files of the given sizes into parts of `room` bytes, in order (pure).

    A file that fits into a part of its own is never divided without need: it begins a new part if the rest is too small.
    """
    cuts: list[Cut] = []
    part, free = 1, room
    for path, size in sizes.items():
        if free < size <= room:
            part, free = part + 1, room
        start = 0
        while start < size or not size:
            if not free:
                part, free = part + 1, room
            length = min(free, size - start)
            cuts.append(Cut(path, start, length, part))
            start, free = start + length, free - length
            if not size:
                break
    return cuts


def write_parts(files: Mapping[str, Path], out: Path, limit: int) -> BundleManifest:
    """Write `files` (path in the home folder -> file here) as folders `part-01`, … of at most `limit` bytes each.

    Files keep their order, so that what comes first arrives first. Raises BadPart if `out` exists or `limit` is too low.
    """
    if out.exists():
        raise BadPart(f"{out} exists already; name another folder, or delete it")
    if limit < 2 * _RESERVE:
        raise BadPart(f"parts of {limit:,} bytes are too small; give at least {2 * _RESERVE:,}")
    sizes = {path: file.stat().st_size for path, file in files.items()}
    chunks = [
        _write_chunk(number, cut, files[cut.path], out)
        for number, cut in enumerate(plan_cuts(sizes, limit - _RESERVE), 1)
    ]
    hashes = {path: hash_file(file) for path, file in files.items()}
    manifest = BundleManifest(
        tuple(BundledFile(path, sizes[path], hashes[path]) for path in files), tuple(chunks)
    )
    for part in manifest.parts:
        (_get_part(out, part) / MANIFEST).write_text(manifest.to_json())
        shutil.copyfile(__file__, _get_part(out, part) / RECEIVER)
    return manifest


def receive_part(part: Path, home: Path) -> list[int]:
    """Check the chunks of the folder `part`, join every file that is complete, and return the parts still missing.

    Raises BadPart for a damaged part, of which nothing is kept, and for a part of another bundle.
    """
    manifest = read_manifest(part / MANIFEST)
    home.mkdir(parents=True, exist_ok=True)
    if (home / MANIFEST).exists() and read_manifest(home / MANIFEST) != manifest:
        raise BadPart(f"{part} belongs to another bundle than {home}; name another home folder")
    (home / MANIFEST).write_text(manifest.to_json())
    present = [chunk for chunk in manifest.chunks if (part / chunk.name).exists()]
    if not present:
        raise BadPart(f"{part} holds no chunk; send it again")
    for chunk in manifest.chunks:
        if chunk.part == present[0].part:
            _check_chunk(part / chunk.name, chunk)
    store = home / "chunks"
    store.mkdir(exist_ok=True)
    for chunk in present:
        if not (home / chunk.path).exists():
            shutil.copyfile(part / chunk.name, store / chunk.name)
    for file in manifest.files:
        _join_file(file, manifest, home)
    return find_missing_parts(manifest, home)


def find_missing_parts(manifest: BundleManifest, home: Path) -> list[int]:
    """Return the numbers of the parts whose chunks are neither stored nor joined yet."""
    return sorted(
        {
            chunk.part
            for chunk in manifest.chunks
            if not (home / chunk.path).exists() and not (home / "chunks" / chunk.name).exists()
        }
    )


def set_up(home: Path) -> bool:
    """Unpack the source, install the wheels into a folder, and write the command `prove`. False: they are not all here."""
    manifest = read_manifest(home / MANIFEST)
    wanted = [f.path for f in manifest.files if f.path == SOURCE or f.path.startswith(WHEELS)]
    if not wanted or not all((home / path).exists() for path in wanted):
        return False
    if (home / PROVE).exists():
        return True
    with zipfile.ZipFile(home / SOURCE) as archive:
        archive.extractall(home / "source")
    wheels = [str(home / path) for path in wanted if path != SOURCE]
    options = ("--no-index", "--no-deps", "--no-compile", "--quiet", "--target", str(home / SITE))
    if wheels:
        subprocess.run(
            [sys.executable, "-P", "-m", "pip", "install", *options, *wheels], check=True
        )
    paths = shlex.quote(f"{home.resolve() / 'source'}:{home.resolve() / SITE}")
    # -P: a checkout in the working directory must not stand in for the source that came.
    command = f"{shlex.quote(sys.executable)} -P -m training.gpu_proof"
    (home / PROVE).write_text(
        f"#!/bin/sh\nexport HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 PYTHONPATH={paths}\n"
        f'exec {command} "$@"\n'
    )
    return True


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _get_part(out: Path, part: int) -> Path:
    return out / f"part-{part:02d}"


def _write_chunk(number: int, cut: Cut, file: Path, out: Path) -> Chunk:
    with file.open("rb") as whole:
        whole.seek(cut.start)
        data = whole.read(cut.size)
    chunk = Chunk(number, cut.path, cut.part, len(data), hashlib.sha256(data).hexdigest())
    folder = _get_part(out, cut.part)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / chunk.name).write_bytes(data)
    return chunk


def _check_chunk(path: Path, chunk: Chunk) -> None:
    """Raise BadPart unless the file is the chunk, byte for byte."""
    again = f"send part {chunk.part} again"
    if not path.exists():
        raise BadPart(f"part {chunk.part} lacks {chunk.name} of {chunk.path}; {again}")
    if (digest := hash_file(path)) != chunk.sha256:
        raise BadPart(
            f"part {chunk.part}: {chunk.name} of {chunk.path} has SHA-256 {digest[:12]}…, not {chunk.sha256[:12]}…; {again}"
        )


def _join_file(file: BundledFile, manifest: BundleManifest, home: Path) -> None:
    """Join a file if all its chunks are here. Raises BadPart if the whole has other bytes than it had."""
    target, store = home / file.path, home / "chunks"
    pieces = [store / chunk.name for chunk in manifest.chunks if chunk.path == file.path]
    if target.exists() or not all(piece.exists() for piece in pieces):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.new")
    with beside.open("wb") as whole:
        for piece in pieces:
            with piece.open("rb") as data:
                shutil.copyfileobj(data, whole, _BLOCK)
    if (digest := hash_file(beside)) != file.sha256:
        raise BadPart(f"{file.path} has SHA-256 {digest}, not {file.sha256}; pack the bundle again")
    # The rename comes before the pieces go: a process that is killed in between loses nothing.
    beside.replace(target)
    for piece in pieces:
        piece.unlink()


def main() -> None:
    """Receive the part that this file lies in: `python3 part-01/receive.py HOME`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("home", type=Path, help="folder on this machine that keeps everything")
    home, part = parser.parse_args().home, Path(__file__).resolve().parent
    home.mkdir(parents=True, exist_ok=True)
    # The rented time begins with the first transfer.
    if not (home / LEASE).exists():
        (home / LEASE).write_text(json.dumps({"started": time.time()}))
    try:
        missing = receive_part(part, home)
        ready = set_up(home)
    except (BadPart, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"receive: {error}")
    rest = f"missing: {', '.join(map(str, missing))}" if missing else "all parts are here"
    then = f"sh {home / PROVE} run --home {home}" if ready else "the command comes with the source"
    sys.stdout.write(f"{part.name} received; {rest}; next: {then}\n")


if __name__ == "__main__":
    main()
