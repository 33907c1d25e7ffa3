"""`r4p environments` with real builds from a folder of wheels, and `r4p test` in such an environment."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import main
from model.environments.recipe import EnvironmentRecipe, format_environments
from tests.model.environments.conftest import PYTHON, write_source, write_wheel

TESTS = """
import unittest
from alpha import VALUE

class Values(unittest.TestCase):
    def test_value(self):
        import code_of_tree
        self.assertEqual(code_of_tree.double(VALUE), 4)
"""


@pytest.fixture
def packages(tmp_path):
    (folder := tmp_path / "packages").mkdir()
    write_wheel(folder, "alpha", "2.0", alpha="VALUE = 2\n")
    return folder


@pytest.fixture
def run(bubblewrap, tmp_path, packages):
    """`run(*words)`: `r4p environments` with the folder of wheels, and its result."""

    def call(*words):
        options = ["--environments", str(tmp_path / "cache")]
        if words[0] == "build":
            options += ["--offline", "--find-links", str(packages)]
            options += [] if "--recipes" in words else ["--python", PYTHON]
        return CliRunner().invoke(main, ["environments", words[0], *options, *words[1:]])

    return call


def test_build_list_and_remove(run):
    result = run("build", "mine", "--requirement", "alpha", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "r4p.environment-list/1"
    (item,) = document["environments"]
    assert item["name"] == "mine"
    assert item["recipe"]["requirements"] == ["alpha"]
    assert item["python"] == item["folder"] + "/bin/python"
    assert json.loads(run("list", "--json").stdout) == document
    assert "mine" in run("list").stdout
    assert run("remove", "mine").exit_code == 0
    assert json.loads(run("list", "--json").stdout)["environments"] == []
    result = run("remove", "mine")
    assert result.exit_code == 2
    assert "no test environment is called 'mine'" in result.stderr


def test_the_recipes_of_a_gym_are_built_and_a_failure_does_not_hide_the_others(run, tmp_path):
    recipes = {
        "a": EnvironmentRecipe(PYTHON, ("missing",)),
        "b": EnvironmentRecipe(PYTHON, ("alpha",)),
    }
    (tmp_path / "environments.json").write_text(format_environments(recipes))
    result = run("build", "--recipes", str(tmp_path / "environments.json"), "--json")
    assert result.exit_code == 5
    assert "r4p environments: a: the test environment cannot be built: " in result.stderr
    assert result.stderr.count("\n") == 1
    assert [item["name"] for item in json.loads(result.stdout)["environments"]] == ["b"]


def test_a_recipe_that_builds_from_source_needs_the_operators_word(run, tmp_path, packages):
    write_source(packages, "beta")
    recipes = {"a": EnvironmentRecipe(PYTHON, ("beta",), source_builds=("beta",))}
    (tmp_path / "environments.json").write_text(format_environments(recipes))
    words = ("build", "--recipes", str(tmp_path / "environments.json"))
    result = run(*words)
    assert result.exit_code == 2
    assert "allow it by --allow-source-builds" in result.stderr
    assert run(*words, "--allow-source-builds").exit_code == 0


def test_requirements_come_from_files_and_projects(run, tmp_path):
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\ntest = alpha\n")
    (tmp_path / "dev.txt").write_text("alpha>=2\n")
    words = ("--project", str(tmp_path), "--extra", "test")
    result = run(
        "build", "mine", *words, "--requirements-file", str(tmp_path / "dev.txt"), "--json"
    )
    (item,) = json.loads(result.stdout)["environments"]
    assert item["recipe"]["requirements"] == ["alpha", "alpha>=2"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("build",), "name the environment, or a file by --recipes"),
        (("build", "../x"), "name '../x' of an environment cannot be used"),
        (("build", "a", "--requirement", "./x"), "requirement './x' is no package"),
        (("build", "a", "--extra", "x"), "--extra needs --project"),
        (("build", "a", "--exclude-newer", "soon"), "date 'soon'"),
        (("build", "a", "--find-links", "/nowhere"), "--find-links /nowhere is no folder"),
        (("build", "--recipes", "/nowhere"), "--recipes /nowhere can't be read"),
        (("build", "--recipes", "/nowhere", "--from-source", "a"), "--from-source does nothing"),
        (("build", "a", "--project", "/nowhere"), "project /nowhere is no folder"),
        (("build", "a", "--python", "/bin/true"), "/bin/true is no Python 3"),
        (("remove",), "name an environment, or use --unnamed"),
    ],
)
def test_a_wrong_option_is_one_line_with_the_fix(run, words, complaint):
    result = run(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_tests_run_in_an_environment_by_its_name(run, tmp_path):
    assert run("build", "mine", "--requirement", "alpha").exit_code == 0
    (tree := tmp_path / "tree" / "tests").mkdir(parents=True)
    (tree / "test_value.py").write_text(TESTS)
    (tree.parent / "code_of_tree.py").write_text("def double(number):\n    return number * 2\n")
    (patch := tmp_path / "a.diff").write_text(
        "--- a/code_of_tree.py\n+++ b/code_of_tree.py\n@@ -1,2 +1,2 @@\n def double(number):\n"
        "-    return number * 2\n+    return number + number\n"
    )
    words = ["test", "--tree", str(tree.parent), "--command", "python -m unittest discover tests"]
    words += ["--environments", str(tmp_path / "cache"), str(patch)]
    result = CliRunner().invoke(main, [*words, "--environment", "mine"])
    assert result.exit_code == 0, result.stderr
    result = CliRunner().invoke(main, [*words, "--environment", "yours"])
    assert result.exit_code == 2
    assert "no test environment is called 'yours'" in result.stderr
    result = CliRunner().invoke(main, [*words, "--environment", "mine", "--python", "/usr/bin/x"])
    assert result.exit_code == 2
    assert "leave out --python" in result.stderr
