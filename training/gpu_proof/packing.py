"""Pack everything that the rented machine needs: source, wheels, weights, data, sizes."""

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from model.engines import weights
from model.engines.weights import ModelFile
from model.interpreter import module_command
from training.gpu_proof import data_selection
from training.gpu_proof.bundle import SOURCE, WHEELS, BadPart, BundleManifest, write_parts
from training.gpu_proof.settings import FILE, FULL, QUICK, ProofSize

ROOT = Path(__file__).parents[2]
PACKAGES = ("model", "training", "app/learning")
"""Folders of the source that the slices import, and the gate's rules."""
CARRIED = (
    *("trl", "peft", "datasets", "dill", "multiprocess", "xxhash", "pyarrow", "pandas"),
    *("python-dateutil", "six", "pydantic", "pydantic_core", "annotated-types"),
    *("typing-inspection", "RapidFuzz", "unidiff", "gguf", "requests", "urllib3"),
    *("charset-normalizer", "defusedxml", "tree-sitter"),
)
"""Packages that come as wheels: what the slices import beside torch, transformers, accelerate and what these need."""
_GLIBC = (17, 24, 26, 27, 28, 31, 34)
"""Minor versions of glibc 2 in the tags of wheels that run on the machine."""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What to pack, for which machine, and where to."""

    data: Path
    """Folder of the labelled groups."""
    out: Path
    """New folder of the parts."""
    cache: Path
    """Folder of the downloaded weights."""
    limit: int = 48_000_000
    """Most bytes of a part."""
    python: str = "3.12"
    """Python version of the machine."""
    there: tuple[str, ...] = ()
    """Packages of CARRIED that the machine has already."""


def pack(request: PackRequest) -> BundleManifest:
    """Write the parts and return their manifest.

    Raises BadPart, WeightsUnavailable, BadGroups, LeakedIssue, and CalledProcessError of pip.
    """
    if request.out.exists():
        raise BadPart(f"{request.out} exists already; name another folder, or delete it")
    with tempfile.TemporaryDirectory(prefix="r4p-proof-") as scratch:
        content = Path(scratch)
        write_source(content / SOURCE)
        _download_wheels(request, content / WHEELS)
        data_selection.write_data(request.data, content)
        write_sizes(content, (QUICK, FULL))
        # What the quick rehearsal needs comes first, so that it can run while the large weights travel.
        files = {str(path.relative_to(content)): path for path in list_files(content)}
        for model in (weights.SMOLLM2, weights.QWEN):
            files[f"weights/{model.filename}"] = _fetch(model, request.cache)
        return write_parts(files, request.out, request.limit)


def write_sizes(content: Path, sizes: Sequence[ProofSize]) -> None:
    """Write the sizes that the bundle offers."""
    (content / FILE).write_text(json.dumps({size.name: asdict(size) for size in sizes}, indent=2))


def list_files(folder: Path) -> list[Path]:
    """List all files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def _fetch(model: ModelFile, cache: Path) -> Path:
    return weights.fetch(model, cache)


def write_source(path: Path) -> None:
    """Write the shipped source as a zip file whose bytes depend on the source alone."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        files = [ROOT / "app" / "__init__.py"]
        for package in PACKAGES:
            files += list_files(ROOT / package)
        for file in files:
            if "__pycache__" not in file.parts:
                info = zipfile.ZipInfo(str(file.relative_to(ROOT)), (2020, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, file.read_bytes())


def _download_wheels(request: PackRequest, target: Path) -> None:
    """Download wheels of the pinned versions for the machine's Python on x86-64 Linux."""
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line
    )
    names = [name for name in CARRIED if name.lower() not in {n.lower() for n in request.there}]
    tags = [f"--platform=manylinux_2_{minor}_x86_64" for minor in _GLIBC]
    subprocess.run(
        [
            *module_command("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
            *(f"--python-version={request.python}", "--implementation=cp"),
            *(*tags, "--platform=manylinux2014_x86_64", "--dest", str(target)),
            *(f"{name}=={pinned[name]}" for name in names),
        ],
        check=True,
    )
