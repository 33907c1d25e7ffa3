"""Tasks and trees for gyms."""

import pytest

from model.environments.recipe import EnvironmentRecipe
from model.gyms.gym_task import GymCandidate, GymTask, TestsFrom

RECIPES = {
    "py311": EnvironmentRecipe("3.11", ("pytest==9.0.2",)),
    "unused": EnvironmentRecipe("3.8", ()),
}


def build_task(identifier, **changes):
    """A valid task."""
    values = {
        "id": identifier,
        "repository": "example/doubling",
        "base_commit": "0" * 40,
        "created": "2026-01-02T03:04:05+00:00",
        "statement": "double(3) returns 7.",
        "patch": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n",
        "minimal_patch": None,
        "test_patch": "",
        "command": "pytest -q",
        "environment": "py311",
        "fail_to_pass": ("tests/test_x.py::test_double",),
        "pass_to_pass": (),
        "provenance": {"commit": "1" * 40, "subject": "Fix doubling of \udcff"},
        "licence": "MIT",
        "tests_from": TestsFrom.COMMIT,
        "candidates": (GymCandidate("true", "", resolved=True, source="true"),),
    }
    return GymTask(**values | changes)


@pytest.fixture
def tree(tmp_path):
    """A folder with a module, a program, links and files that are no part of a tree."""
    (tree := tmp_path / "tree").mkdir()
    (tree / "package").mkdir()
    (tree / "package" / 'a "b".py').write_text("value = 1\n")
    (tree / "run.sh").write_bytes(b"#!/bin/sh\n\xff")
    (tree / "run.sh").chmod(0o755)
    (tree / "package" / "link").symlink_to("../run.sh")
    (tree / "package" / "way out").symlink_to("../../secret")
    (tree / "folder link").symlink_to("package")
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "x.pyc").write_bytes(b"x")
    return tree
