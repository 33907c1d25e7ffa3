"""Source distributions from the package index, unpacked; kept between runs, as the peers are."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from app.settings import build_child_environment
from model.workspace.tar_extraction import extract_files

_SECONDS = 900
_PIP = (sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "-q")
_ASKED = ("--no-binary", ":all:", "--no-deps")


class NotFetched(Exception):
    """The package index has no sources of a release, or can't be asked; the message ends with what pip said."""


def unpack_release(name: str, release: str, peers: Path, scratch: Path) -> Path:
    """The tree of a release, as its authors packed it. Raises CalledProcessError."""
    kept = peers / "sources"
    kept.mkdir(parents=True, exist_ok=True)
    archive = kept / f"{name}-{release}.tar.gz"
    if not archive.exists():
        asked = [*_ASKED, "--dest", str(kept), f"{name}=={release}"]
        subprocess.run([*_PIP, *asked], check=True, timeout=_SECONDS)
    with tarfile.open(archive) as packed:
        extract_files(packed, packed, scratch)
    return scratch / f"{name}-{release}"


def unbuilt(name: str, release: str, kept: Path) -> Path:
    """The tree of a release that may not build here: what pip unpacks before it asks for metadata. Raises NotFetched.

    Old releases want compilers and an old Python for as much as their name; pip keeps what it unpacked when it is told
    not to clean up, whether that question fails or not.
    """
    tree = kept / f"{name}-{release}"
    if tree.is_dir():
        return tree
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept, prefix=".fetching-") as scratch:
        asked = [*_ASKED, "--no-build-isolation", "--no-clean", "--dest", scratch]
        try:
            done = subprocess.run(
                [*_PIP, *asked, f"{name}=={release}"],
                env=build_child_environment({"TMPDIR": scratch}),
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise NotFetched(f"{name} {release}: not within {_SECONDS} s") from error
        trees = [one for one in Path(scratch).glob(f"pip-download-*/{name}_*") if one.is_dir()]
        if len(trees) != 1:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise NotFetched(f"{name} {release}: {last}")
        return trees[0].rename(tree)
