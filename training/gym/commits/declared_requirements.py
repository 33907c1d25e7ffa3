"""Read which packages a source tree declares for itself and for its tests (pure). Nothing of the tree runs."""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

PROJECT_FILES: Final = ("pyproject.toml", "setup.cfg", "setup.py")
_TEST_GROUPS: Final = ("test", "tests", "testing", "dev", "develop", "development")
_REQUIREMENT_FILE: Final = re.compile(
    r"(?:requirements[-_/])?(?:tests?|dev(?:elopment)?|testing)(?:[-_]requirements)?\.(?:txt|in)"
    r"|requirements(?:[-_](?:tests?|dev))?\.(?:txt|in)"
)
_NOT_FOR_TESTS: Final = re.compile(
    r"pytest$|tox|sphinx|furo|ruff|flake8|black|isort|mypy|types-|pyright|pylint|pre-commit|build$|twine|hatch|coverage"
    r"|coveralls|codecov|docutils|wheel$|setuptools|pip|flit|poetry|bump|towncrier|pallets|nox|pytest-(?:cov|mypy|py)"
)
"""Tools that tests do not import. The version of pytest is chosen on its own."""


def is_declaration(path: str) -> bool:
    """Return whether a file at this path may declare requirements."""
    return path in PROJECT_FILES or _REQUIREMENT_FILE.fullmatch(path) is not None


def list_own_requirements(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return what the package itself needs. `files` holds the contents of declarations by path."""
    return (
        _normalise(
            text
            for groups in map(_read_groups, *zip(*files.items(), strict=True))
            for text in groups.get("", ())
        )
        if files
        else ()
    )


def list_test_requirements(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return what the package and its tests need, without tools that tests do not import, such as linters."""
    declared = [
        text
        for path, content in files.items()
        for name, group in _read_groups(path, content).items()
        if name in {"", *_TEST_GROUPS}
        for text in group
    ]
    listed = [
        line.partition("#")[0].strip()
        for path, content in files.items()
        if _REQUIREMENT_FILE.fullmatch(path)
        for line in content.decode(errors="replace").splitlines()
    ]
    return _normalise([*declared, *listed])


def _normalise(texts: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Return the requirements in canonical form, each once; options, addresses and tools are left out."""
    kept = set()
    for text in texts:
        with suppress(InvalidRequirement, ValueError):
            requirement = Requirement(text.split(" --hash")[0])
            if not requirement.url and not _NOT_FOR_TESTS.match(
                canonicalize_name(requirement.name)
            ):
                kept.add(str(requirement))
    return tuple(sorted(kept))


def _read_groups(path: str, content: bytes) -> Mapping[str, list[str]]:
    """Return the requirements of a project file by the name of their group; the package's own have an empty name."""
    text = content.decode(errors="replace")
    readers = {
        "pyproject.toml": _read_pyproject,
        "setup.cfg": _read_config,
        "setup.py": _read_setup,
    }
    try:
        groups = readers[path](text) if path in readers else {}
    except (ValueError, SyntaxError, RecursionError, configparser.Error, AttributeError, TypeError):
        return {}
    return {
        name: [item for item in group if isinstance(item, str)]
        for name, group in groups.items()
        if isinstance(group, list)
    }


def _read_pyproject(text: str) -> Mapping[str, Any]:
    document = tomllib.loads(text)
    project = document.get("project", {})
    return {
        **document.get("dependency-groups", {}),
        **project.get("optional-dependencies", {}),
        "": project.get("dependencies", []),
    }


def _read_config(text: str) -> Mapping[str, Any]:
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    extras = "options.extras_require"
    groups = (
        {name: value.splitlines() for name, value in parser.items(extras)}
        if parser.has_section(extras)
        else {}
    )
    return {
        **groups,
        "": parser.get("options", "install_requires", fallback="").splitlines(),
        "tests": parser.get("options", "tests_require", fallback="").splitlines(),
    }


def _read_setup(text: str) -> Mapping[str, Any]:
    """Read the lists that `setup.py` writes out in its call; it is parsed and not run."""
    groups: dict[str, Any] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg in {
            "install_requires",
            "tests_require",
            "extras_require",
        }:
            with suppress(ValueError):
                value = ast.literal_eval(node.value)
                if isinstance(value, dict):
                    groups.update(value)
                else:
                    groups["" if node.arg == "install_requires" else "tests"] = list(value)
    return groups
