"""Source distributions from the package index, unpacked; kept between runs beside the peers."""

import subprocess
import sys
import tarfile
from pathlib import Path

_SECONDS = 900


def unpacked(name: str, release: str, peers: Path, scratch: Path) -> Path:
    """The tree of a release, as its authors packed it. Raises CalledProcessError."""
    kept = peers / "sources"
    kept.mkdir(parents=True, exist_ok=True)
    archive = kept / f"{name}-{release}.tar.gz"
    if not archive.exists():
        asked = ["--no-binary", ":all:", "--no-deps", "--dest", str(kept), f"{name}=={release}"]
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "-q", *asked],
            check=True,
            timeout=_SECONDS,
        )
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    return scratch / f"{name}-{release}"
