"""The recipes to try follow from what a tree declares, and from the date of its commit."""

import pytest

from training.gym.commits.declared_requirements import (
    is_declaration,
    list_own_requirements,
    list_test_requirements,
)
from training.gym.commits.test_commands import build_command, select_tests
from training.gym.environment_search import list_recipes, name_environment, pin_recipe

PYPROJECT = b"""
[project]
dependencies = ["click>=8", "private @ https://example.org/x.whl"]
[project.optional-dependencies]
test = ["pyyaml~=6.0", "pytest>=8", "ruff"]
docs = ["sphinx"]
[dependency-groups]
dev = ["freezegun", {include-group = "x"}]
"""
CONFIG = b"""
[options]
install_requires =
    attrs
[options.extras_require]
testing =
    mock
"""
SETUP = b"setup(install_requires=['six'], extras_require={'tests': ['nose2']}, tests_require=X)"


def test_requirements_come_from_every_kind_of_file():
    files = {
        "pyproject.toml": PYPROJECT,
        "setup.cfg": CONFIG,
        "setup.py": SETUP,
        "requirements-test.txt": b"trio # comment\n-r other.txt\nflake8\nbad req\n",
    }
    assert list_own_requirements(files) == ("attrs", "click>=8", "six")
    assert list_test_requirements(files) == (
        "attrs", "click>=8", "freezegun", "mock", "nose2", "pyyaml~=6.0", "six", "trio",
    )  # fmt: skip
    assert all(map(is_declaration, files))
    assert not is_declaration("docs/requirements.txt")


@pytest.mark.parametrize("content", [b"\xff[", b"[project]\ndependencies = 3", b"project = 1"])
def test_a_broken_file_declares_nothing(content):
    assert list_test_requirements({"pyproject.toml": content, "setup.py": content}) == ()


def test_a_tree_without_declarations_declares_nothing():
    assert (list_own_requirements({}), list_test_requirements({})) == ((), ())


def test_the_year_of_the_commit_and_the_preferred_python_come_first():
    recipes = list(list_recipes({"setup.cfg": CONFIG}, "2021-03-04T00:00:00Z", ("3.11", "3.9")))
    assert len(recipes) == 2 * 2 * 3 * 2
    first = recipes[0]
    assert (first.python, first.exclude_newer) == ("3.11", "2022-01-01")
    assert first.requirements == ("pytest>=9,<10", "attrs", "mock")
    assert {recipe.exclude_newer for recipe in recipes} == {"2022-01-01", None}
    for part in ("python", "exclude_newer", "requirements"):
        assert len({getattr(recipe, part) for recipe in recipes[:6]}) > 1, part
    assert [recipe.python for recipe in recipes].count("3.9") == 12


def test_equal_packages_give_equal_names():
    lock = ("attrs==20.3.0 --hash=sha256:" + "0" * 64,)
    recipe = pin_recipe("3.11", lock)
    assert recipe.requirements == ("attrs==20.3.0",)
    assert name_environment(recipe) == name_environment(pin_recipe("3.11", lock))
    assert name_environment(recipe) != name_environment(pin_recipe("3.9", lock))


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, "pytest -q --continue-on-collection-errors"),
        (
            {"tox.ini": b"[pytest]\naddopts = -ra --strict"},
            "pytest -q --continue-on-collection-errors",
        ),
        (
            {"pytest.ini": b"[pytest]\naddopts=--verbose --cov-append --cov x -m 'not slow'"},
            "pytest -q --continue-on-collection-errors -o addopts= -m 'not slow'",
        ),
        (
            {"pyproject.toml": b"[tool.pytest.ini_options]\naddopts = ['-n4', '--ignore=x']"},
            "pytest -q --continue-on-collection-errors -o addopts= --ignore=x",
        ),
        ({"setup.cfg": b"[tool:pytest]\naddopts = '"}, "pytest -q --continue-on-collection-errors"),
    ],
)
def test_the_command_keeps_what_selects_tests(files, command, tmp_path):
    assert build_command(files) == command
    selected = select_tests(command, ["tests/test_a.py"], tmp_path, 7)
    assert selected.arguments[-1] == "tests/test_a.py"
    assert selected.limits.cpu_seconds == 7
    assert selected.seconds > 7
