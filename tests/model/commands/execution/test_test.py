"""`r4p test` on a small tree with real runs in the sandbox: its words, its JSON and its exit codes."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import main
from model.commands.execution.test import choose_exit_code
from model.domain import PatchId
from model.execution.regression import RegressionEvidence, describe_regression

CODE = "def double(number):\n    return number * 2\n"
COMMAND = "python -m unittest discover -s tests"
TESTS = """
import sys, unittest
sys.path.insert(0, ".")
from doubling import double

class Doubling(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(3), 6)
"""


def write_change(new):
    return f"--- a/doubling.py\n+++ b/doubling.py\n@@ -1,2 +1,2 @@\n def double(number):\n-    return number * 2\n+    return {new}\n"


@pytest.fixture
def run(bubblewrap, tmp_path):
    """`run(*arguments, **patches)`: the command on a tree whose one test passes, with these files as candidates."""
    (tree := tmp_path / "tree" / "tests").mkdir(parents=True)
    (tree / "test_doubling.py").write_text(TESTS)
    (tree.parent / "doubling.py").write_text(CODE)

    def call(*arguments, **patches):
        files = []
        for name, text in patches.items():
            (file := tmp_path / f"{name}.diff").write_text(text)
            files.append(str(file))
        options = ("--tree", str(tree.parent), "--command", COMMAND)
        return CliRunner().invoke(main, ["test", *options, *arguments, *files])

    return call


def test_a_patch_that_breaks_a_test_is_named_with_the_test(run):
    result = run(wrong=write_change("number * 3"), right=write_change("number + number"))
    assert result.exit_code == 0
    text = " ".join(result.stdout.replace("│", " ").split())
    assert "wrong.diff breaks 1 of 1 test that pass" in text
    assert "test_doubling.Doubling.test_double" in text
    assert "right.diff breaks none of 1 test" in text


def test_the_json_document_holds_the_same(run):
    result = run("--json", "--base-runs", "1", wrong=write_change("number * 3"))
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    assert document.pop("seconds") > 0
    assert document == {
        "schema": "r4p.tests/1",
        "expected": 1,
        "self_reported": False,
        "flaky": [],
        "patches": [
            {
                "id": "wrong.diff",
                "broken": ["test_doubling.Doubling.test_double"],
                "rewritten": [],
                "unknown": None,
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--command", "make test"), "'make test' starts no test runner that is known here"),
        (("--tree", "/nowhere"), "--tree /nowhere is no directory; name the source tree"),
        (("--python", "/no/python"), "--python /no/python does not exist; name an interpreter"),
        (("--command", "pytest missing"), "the tests say nothing about the base"),
    ],
)
def test_a_wrong_option_is_one_line_with_the_fix(run, arguments, words):
    result = run(*arguments, right=write_change("number + number"))
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_patch_is_a_usage_error(run):
    assert run().exit_code == 2


@pytest.mark.parametrize(
    ("evidence", "code"),
    [
        ([RegressionEvidence(("a",), 2), RegressionEvidence((), 2)], 0),
        ([RegressionEvidence(("a",), 2), RegressionEvidence(("a",), 2)], 3),
        ([RegressionEvidence(("a",), 2), RegressionEvidence(unknown="late")], 4),
        ([RegressionEvidence(unknown="late")], 4),
    ],
)
def test_the_exit_code_is_that_of_the_best_patch(evidence, code):
    assert choose_exit_code({PatchId(str(n)): one for n, one in enumerate(evidence)}) == code


def test_many_broken_tests_are_counted_and_three_are_named():
    broken = tuple(f"t{n}" for n in range(5))
    assert describe_regression(RegressionEvidence(broken, 9)).endswith("t0, t1, t2 and 2 more")
