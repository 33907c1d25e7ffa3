"""What the base's own tests say about a patch, from real runs in the sandbox."""

from dataclasses import replace

import pytest

from model.domain import Patch, PatchId
from model.errors import BadSuiteCommand, NoBaseline
from model.execution import candidate_tests
from model.execution.suite_command import SuiteCommand, parse_command
from tests.model.execution.conftest import CODE, COMMAND, TESTS, write_diff

WRONG = write_diff("doubling.py", CODE, CODE.replace("* 2", "* 3"))
RIGHT = write_diff("doubling.py", CODE, CODE.replace("number * 2", "number + number"))


def test_a_patch_that_breaks_a_test_is_told_with_the_tests_name(try_patch):
    evidence = try_patch(WRONG)
    assert evidence.broken == ("tests/test_double.py::test_double",)
    assert (evidence.expected, evidence.unknown, evidence.passes) == (2, None, False)


def test_a_patch_that_keeps_every_test_breaks_none(try_patch):
    assert try_patch(RIGHT).passes is True


def test_candidates_of_one_issue_are_told_apart(bubblewrap, tree):
    patches = [Patch(PatchId(name), diff) for name, diff in (("#1", WRONG), ("#2", RIGHT))]
    seen = []
    found = candidate_tests.run_candidate_tests(
        tree, patches, COMMAND, on_run=lambda done, total: seen.append((done, total))
    )
    assert {patch: one.passes for patch, one in found.evidence.items()} == {"#1": False, "#2": True}
    assert found.baseline.stable == {
        "tests/test_double.py::test_double",
        "tests/test_zero.py::test_zero",
    }
    assert sorted(seen) == [(done, 4) for done in range(1, 5)]


def test_the_tree_on_the_disk_stays_as_it_is(try_patch, tree):
    before = sorted((path, path.read_bytes()) for path in tree.rglob("*.py"))
    try_patch(WRONG)
    assert sorted((path, path.read_bytes()) for path in tree.rglob("*") if path.is_file()) == before


def test_a_patched_test_is_not_run(try_patch):
    hidden = WRONG + write_diff("tests/test_double.py", TESTS, TESTS.replace("== 6", "== 9"))
    evidence = try_patch(hidden)
    assert evidence.broken == evidence.rewritten == ("tests/test_double.py::test_double",)
    assert evidence.passes is None


def test_a_deleted_module_breaks_what_needs_it(try_patch):
    lines = "".join(f"-{line}\n" for line in CODE.splitlines())
    gone = (
        "diff --git a/doubling.py b/doubling.py\ndeleted file mode 100644\n"
        f"--- a/doubling.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n{lines}"
    )
    evidence = try_patch(gone)
    assert evidence.passes is not True
    assert "exit 2" in evidence.unknown


def test_a_file_that_a_test_needs_can_be_added(try_patch):
    new = RIGHT + write_diff("package/deep/new.py", "", "x = 1\n")
    assert try_patch(new).passes is True


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        (write_diff("doubling.py", "other\n", "text\n"), "does not apply"),
        (write_diff("no.py", "old\n", "new\n"), "does not apply"),
        ("no diff at all", "does not apply: line 1 starts no file"),
        (write_diff("../outside.py", "", "x\n"), "is refused"),
        (write_diff("tests/test_new.py", "", "def test(): pass\n"), "changes tests only"),
    ],
)
def test_a_patch_that_cannot_be_tried_is_unknown(try_patch, diff, reason):
    evidence = try_patch(diff)
    assert (evidence.broken, evidence.passes) == ((), None)
    assert reason in evidence.unknown


@pytest.mark.parametrize(
    ("files", "arguments", "reason"),
    [
        ({"tests/test_double.py": "def test(): assert 0\n"}, ("tests",), "none of 1 tests passes"),
        ({"tests/test_double.py": "x = 1\n"}, ("tests",), "found no test"),
        (
            {"tests/test_double.py": "import missing\n"},
            ("tests",),
            "exit 2 before it ran all tests: ModuleNotFoundError: No module named 'missing'",
        ),
        ({}, ("nowhere",), "all tests: ERROR: file or directory not found: nowhere"),
        ({}, ("--no-such-option",), "wrote no report: ERROR: usage"),
        ({"tests/test_double.py": "import time; time.sleep(60)\n"}, ("tests",), "ended after 2 s"),
    ],
)
def test_a_base_without_results_is_an_error_with_the_reason(
    bubblewrap, tree, files, arguments, reason
):
    if files:
        (tree / "tests" / "test_zero.py").unlink()
    for path, text in files.items():
        (tree / path).write_text(text)
    command = SuiteCommand(
        arguments, variables=COMMAND.variables, seconds=2 if "2 s" in reason else 60
    )
    with pytest.raises(NoBaseline) as caught:
        candidate_tests.run_candidate_tests(tree, [], command, base_runs=1)
    assert reason in str(caught.value)


def test_the_runners_own_error_is_shortened_and_safe_to_show(bubblewrap, tree):
    command = replace(COMMAND, arguments=(f"no\x1b\u202e{'x' * 200}",))
    with pytest.raises(NoBaseline) as caught:
        candidate_tests.run_candidate_tests(tree, [], command, base_runs=1)
    error = str(caught.value).partition("before it ran all tests: ")[2]
    assert error.startswith("ERROR: file or directory not found: noxxx")
    assert len(error) == 200


def test_a_flaky_test_does_not_count(bubblewrap, tree):
    (tree / "tests" / "test_flaky.py").write_text(
        "import os\ndef test_flaky():\n    assert os.urandom(1)[0] % 2\n"
    )
    found = candidate_tests.run_candidate_tests(tree, [], COMMAND, base_runs=9)
    assert "tests/test_flaky.py::test_flaky" in found.baseline.flaky
    assert len(found.baseline.stable) == 2


UNITTEST = '''
import unittest
import doubling

class Doubling(unittest.TestCase):
    def test_double(self):
        self.assertEqual(doubling.double(3), 6)

    def test_parts(self):
        for number in (0, 1, 2):
            with self.subTest(number):
                self.assertEqual(doubling.double(number), 2 * number)

    def test_zero(self):
        """Zero stays zero."""
        self.assertEqual(doubling.double(0), 0)

    @unittest.skip("no")
    def test_skipped(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expected(self):
        raise AssertionError

if __name__ == "__main__":
    unittest.main()
'''


@pytest.mark.parametrize(
    "text", ["python -m unittest discover -s tests -t .", "python run.py"], ids=["module", "script"]
)
def test_unittest_and_scripts_that_use_it_are_understood(bubblewrap, tree, text):
    (tree / "tests" / "__init__.py").touch()
    (tree / "tests" / "test_double.py").write_text(UNITTEST)
    (tree / "tests" / "test_zero.py").unlink()
    (tree / "run.py").write_text(
        "import unittest\nunittest.main(module='tests.test_double', argv=['run.py'])\n"
    )
    patch = Patch(PatchId("#1"), WRONG)
    found = candidate_tests.run_candidate_tests(tree, [patch], parse_command(text))
    prefix = "tests.test_double.Doubling."
    assert found.baseline.stable == {f"{prefix}test_{name}" for name in ("double", "parts", "zero")}
    assert found.evidence[patch.id].broken == (f"{prefix}test_double", f"{prefix}test_parts")


def test_a_test_with_an_unusual_name_is_the_bases_too(try_patch, tree):
    (tree / "pytest.ini").write_text("[pytest]\npython_files = check_*.py\n")
    (tree / "tests" / "check_double.py").write_text(TESTS)
    hidden = WRONG
    (tree / "lib").mkdir()
    (tree / "lib" / "check_more.py").write_text(TESTS)
    hidden += write_diff("lib/check_more.py", TESTS, "def test_double(): pass\n")
    command = replace(COMMAND, arguments=("-q",))
    assert "lib/check_more.py::test_double" in try_patch(hidden, command).broken


def test_the_package_in_src_is_the_trees(try_patch, tree):
    (tree / "src").mkdir()
    (tree / "doubling.py").rename(tree / "src" / "doubling.py")
    assert try_patch(WRONG.replace("doubling.py", "src/doubling.py")).passes is False


def test_a_new_program_keeps_its_mode(try_patch, tree):
    (tree / "tests" / "test_zero.py").write_text(
        "import os, stat\ndef test_mode():\n    assert os.access('run', os.X_OK)\n"
    )
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    changed = write_diff("run", "#!/bin/sh\n", "#!/bin/sh -e\n")
    assert try_patch(changed).passes is True


def test_a_tree_with_links_is_not_written_through_them(try_patch, tree, tmp_path):
    (outside := tmp_path / "outside").mkdir()
    (tree / "linked").symlink_to(outside)
    evidence = try_patch(write_diff("linked/new.py", "", "x = 1\n"))
    assert "does not apply" in evidence.unknown
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("option", ["-x", "--maxfail=1", "-n auto", "-n4", "--parallel=8", "-f"])
def test_a_command_that_stops_early_or_runs_unseen_is_refused(option):
    with pytest.raises(BadSuiteCommand, match="leave it out"):
        parse_command(f"pytest {option} tests")


@pytest.mark.parametrize("text", ["make test", "python", "", "pytest 'open", "python -m tox"])
def test_a_command_that_is_not_known_is_an_error_with_the_fix(text):
    with pytest.raises(BadSuiteCommand, match="cannot be read" if "'" in text else "write `pytest"):
        parse_command(text)


def test_a_known_baseline_is_not_run_again(bubblewrap, tree):
    patches = [Patch(PatchId("#1"), WRONG)]
    first = candidate_tests.run_candidate_tests(tree, patches, COMMAND)
    seen = []
    again = candidate_tests.run_candidate_tests(
        tree,
        patches,
        COMMAND,
        baseline=first.baseline,
        on_run=lambda done, total: seen.append((done, total)),
    )
    assert again == first
    assert seen == [(1, 1)]


def test_runs_that_may_not_go_on_end_and_say_nothing(bubblewrap, tree):
    (tree / "tests" / "test_slow.py").write_text("import time\ndef test_slow(): time.sleep(600)\n")
    patches = [Patch(PatchId("#1"), WRONG)]
    ended = []

    def keep_going():
        ended.append(True)
        return len(ended) < 4

    with pytest.raises(NoBaseline, match="tests were stopped before they finished"):
        candidate_tests.run_candidate_tests(tree, patches, COMMAND, keep_going=keep_going)
