"""What pip installs is whole: every tracked file of the packages is in the wheel's patterns."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "worker", "model", "training", "migrations")


def test_every_data_file_of_a_package_is_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = ["*.py", *project["tool"]["setuptools"]["package-data"]["*"]]
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    kept = [path for path in files if "__pycache__" not in path.parts]
    assert [p for p in kept if not any(fnmatch(p.name, pattern) for pattern in patterns)] == []


def test_every_dependency_is_pinned():
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    names = {re.split(r"[\[;]", name)[0].lower().replace("_", "-") for name in wanted} - {"r4p-bot"}
    assert names <= {name.lower().replace("_", "-") for name in pinned}


def test_no_file_is_larger_than_a_megabyte():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [p for p in files if p.exists() and p.stat().st_size > 1_000_000] == []
