"""Selection among patches by tests that really run: regression first, then the reproduction tests of all attempts."""

import pytest

from model.domain import PatchId
from model.errors import NoBaseline
from model.execution.suite_command import SuiteCommand
from model.reproduction.patch_selection import prepare_selection
from tests.model.reproduction.conftest import CODE, GOOD, WRONG, build_patch, write_test

COMMAND = SuiteCommand(
    ("-q", "tests"), variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, seconds=60
)
BREAKING = CODE.replace("number // 2", "1.5")


@pytest.fixture
def selection(bubblewrap, tree):
    return prepare_selection(tree, COMMAND, most_tests=2)


def test_the_patch_that_breaks_nothing_and_resolves_the_issue_is_kept(selection):
    """`bad` passes the reproduction tests and breaks `half(4) == 2`. Two samples make the wrong edit."""
    patches = [
        build_patch("wrong-1", WRONG),
        build_patch("bad", BREAKING),
        build_patch("good", GOOD),
        build_patch("wrong-2", WRONG),
    ]
    selected = selection.select(patches, [write_test(), "print('Issue resolved')"])
    assert selected.kept == ("good",)
    record = selected.record
    (test,) = record["tests"].pop("used")
    assert record["regression"] == {"expected": 1, "flaky": 0}
    assert record["tests"] == {"written": 2, "kept": 1, "dropped": {"resolved_on_base": 1}}
    assert {patch["id"]: (patch["broken"], patch["passed"]) for patch in record["patches"]} == {
        "wrong-1": (0, []),
        "wrong-2": (0, []),
        "bad": (1, None),
        "good": (0, [test["id"]]),
    }
    assert (record["unbroken"], record["best_score"]) == (3, 1)


def test_without_a_usable_test_all_unbroken_patches_are_kept(selection):
    patches = [build_patch("wrong", WRONG), build_patch("bad", BREAKING), build_patch("good", GOOD)]
    selected = selection.select(patches, ["print('hello')"])
    assert selected.kept == ("wrong", "good")
    assert selected.record["tests"]["dropped"] == {"silent": 1}
    assert selected.record["best_score"] == 0


def test_the_tests_of_all_attempts_run_on_all_patches(selection):
    """The second attempt wrote no test; that of the first tells its patch from the other one."""
    first, second = [build_patch("a", GOOD)], [build_patch("a", WRONG)]
    assert selection.select(first, [write_test()]).record["best_score"] == 1
    assert selection.select(second, []).record["best_score"] == 0
    final = selection.select_again(
        [build_patch("attempt-1", GOOD), build_patch("attempt-2", WRONG)]
    )
    assert final.kept == ("attempt-1",)
    assert final.record["tests"]["kept"] == 1


def test_a_patch_that_cannot_be_run_is_unknown_and_not_kept(selection):
    patches = [build_patch("x", f"import ctypes\n{GOOD}"), build_patch("wrong", WRONG)]
    selected = selection.select(patches, [write_test()])
    assert selected.kept == ("wrong",)
    assert selected.record["patches"][0] == {
        "id": PatchId("x"),
        "broken": None,
        "passed": None,
        "unknown": "new code reaches for what runs the tests: ctypes",
    }


def test_tests_that_never_pass_on_the_base_are_an_error(bubblewrap, tree):
    (tree / "tests" / "test_halving.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(NoBaseline, match="none of 1 tests passes on the base"):
        prepare_selection(tree, COMMAND, most_tests=2)
