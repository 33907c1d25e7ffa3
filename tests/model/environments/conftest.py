"""Wheels and source distributions of our own in a folder, so that real builds need no network."""

import base64
import hashlib
import io
import sys
import tarfile
import zipfile
from functools import partial

import pytest

from model.environments.build import build_environment
from model.environments.recipe import EnvironmentRecipe
from model.environments.uv_process import PackageSources

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BACKEND = """
import glob, os, time, zipfile
SEEN = 1
{attack}
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as file:
        file.writestr("{name}.py", f"VALUE = {{SEEN!r}}\\n")
        file.writestr("{name}-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
        file.writestr("{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr("{name}-1.0.dist-info/RECORD", "")
    return name
"""


def write_wheel(folder, name, version="1.0", **files):
    """Write a wheel whose modules are `files`, by name without suffix."""
    info = f"{name}-{version}.dist-info"
    texts = {f"{module}.py": text for module, text in (files or {name: "VALUE = 1\n"}).items()}
    texts[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    texts[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},sha256={_hash(text)},{len(text)}" for path, text in texts.items()]
    texts[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in texts.items():
            wheel.writestr(path, text)


def write_source(folder, name, attack=""):
    """Write a source distribution that builds itself, and runs the code `attack` first."""
    project = f'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "{name}"\nversion = "1.0"\n'
    texts = {
        "pyproject.toml": project,
        "backend.py": BACKEND.format(name=name, attack=attack),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as file:
        for path, text in texts.items():
            item = tarfile.TarInfo(f"{name}-1.0/{path}")
            item.size = len(text)
            file.addfile(item, io.BytesIO(text.encode()))


def _hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@pytest.fixture
def packages(tmp_path):
    """A folder of packages, with a wheel `alpha` in two versions."""
    (folder := tmp_path / "packages").mkdir()
    write_wheel(folder, "alpha")
    write_wheel(folder, "alpha", "2.0", alpha="VALUE = 2\n")
    return folder


@pytest.fixture
def cache(tmp_path):
    """An empty folder for environments."""
    return tmp_path / "cache"


@pytest.fixture
def build(bubblewrap, packages, cache):
    """`build(*requirements, …)`: a real build from the folder of packages, without a network."""
    ways = partial(build_environment, cache=cache)

    def call(*requirements, sources=(), lock=None, **options):
        recipe = EnvironmentRecipe(PYTHON, requirements, source_builds=sources, lock=lock)
        offline = PackageSources(folders=(packages,), is_offline=True)
        return ways(recipe, sources=offline, **options)

    return call
