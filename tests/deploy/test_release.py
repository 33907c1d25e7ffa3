"""The package of a release: built and checked as CONTRIBUTING says, and installed where nothing else is."""

import email
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.builders.checkout import copy_checkout

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BEFORE = "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n"
DESCRIPTION = (ROOT / PROJECT["readme"]).read_text()

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_environment(folder, *packages):
    """A virtual environment with these packages alone, as `constraints.txt` pins them."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", *packages, cwd=folder.parent)
    return folder / "bin"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The programs of the extra `release`, and what they build from a clean checkout."""
    folder = tmp_path_factory.mktemp("release")
    source = copy_checkout(folder / "source")
    programs = make_environment(folder / "programs", *PROJECT["optional-dependencies"]["release"])
    run(programs / "python", "-m", "build", cwd=source)
    return programs, source / "dist"


def test_an_index_takes_the_package(package):
    programs, dist = package
    name = f"r4p_bot-{PROJECT['version']}"
    names = {path.name for path in dist.iterdir()}
    assert names == {f"{name}.tar.gz", f"{name}-py3-none-any.whl"}
    said = run(programs / "twine", "check", "--strict", *sorted(dist.iterdir()), cwd=dist)
    assert len(re.findall(r": .*PASSED", said)) == 2


def test_the_package_holds_its_description_and_its_licence(package):
    _, dist = package
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
        assert name.replace("METADATA", "licenses/LICENSE") in archive.namelist()
    assert metadata.get_payload(decode=True).decode().strip() == DESCRIPTION.strip()
    assert metadata["Description-Content-Type"] == "text/markdown"
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {PROJECT["readme"], "LICENSE", "pyproject.toml", "app/cli.py"} <= inside


def test_the_wheel_alone_judges_patches(package, tmp_path):
    _, dist = package
    (wheel,) = dist.glob("*.whl")
    programs = make_environment(tmp_path / "empty", wheel)
    assert run(programs / "r4p", "--version", cwd=tmp_path) == f"r4p {PROJECT['version']}\n"
    (tmp_path / "issue.md").write_text("x is off by one\n\nIt should be 2.\n")
    for number, name in enumerate(("a.diff", "b.diff"), start=2):
        (tmp_path / name).write_text(f"{BEFORE}+x = {number}\n")
    (command,) = re.findall(r"^r4p verify --issue .*$", DESCRIPTION, re.MULTILINE)
    _, *arguments = command.split()
    done = subprocess.run(
        [programs / "r4p", *arguments, "--json"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode in {0, 3, 4}, done.stderr
    assert [patch["id"] for patch in json.loads(done.stdout)["patches"]] == ["a.diff", "b.diff"]
