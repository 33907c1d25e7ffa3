"""The folders of the shipped packages: small, shallow, described, and one name for one thing."""

import ast
from collections import defaultdict

import pytest

from tests.architecture.source import (
    FOLDERS,
    MODULES,
    PACKAGES,
    ROOT,
    count_importers,
    count_lines,
    list_entries,
    list_modules,
    parse,
    relative,
)

WORTH_A_FILE = {
    "training/gym/harbor_grade.py": "copied into an export, so it stands alone",
    "training/verl/reward_function.py": "copied into an export, so it stands alone",
    "worker/celery_command.py": "a program, which nothing imports",
    "worker/git/fetch_errors.py": "pure, beside modules that run git",
}
"""Modules under 40 lines with fewer than three importers, and why each is one."""


def test_a_folder_holds_at_most_fifteen_modules():
    tests = [folder for folder in (ROOT / "tests").rglob("*") if folder.is_dir()]
    assert [
        relative(folder) for folder in (*FOLDERS, *tests) if len(list_modules(folder)) > 15
    ] == []


def test_a_folder_lies_at_most_three_levels_below_its_package():
    assert [relative(f) for f in FOLDERS if len(f.relative_to(ROOT).parts) > 4] == []


def test_few_folders_hold_two_entries_or_fewer():
    small = [relative(folder) for folder in FOLDERS if len(list_entries(folder)) <= 2]
    assert len(small) <= len(FOLDERS) * 0.1, small


def test_a_folder_says_what_it_is_for_in_five_lines():
    """What goes in, what comes out, which rooms it may call."""
    docstrings = {f: ast.get_docstring(parse(f / "__init__.py")) or "" for f in FOLDERS}
    wrong = [f for f, text in docstrings.items() if not 1 <= len(text.splitlines()) <= 5]
    assert [relative(folder) for folder in wrong] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_class_name_stands_twice_in_a_package(package):
    places = defaultdict(list)
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] == package:
            for node in parse(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(relative(path))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_a_small_module_has_three_importers():
    """A module under 40 lines is worth a file only when several others need it."""
    importers = count_importers()
    small = {
        relative(path)
        for path in MODULES
        if not path.stem.startswith("__") and count_lines(path) < 40 and importers[path] < 3
    }
    assert small == set(WORTH_A_FILE)
