"""Test commands of any kind: the JUnit XML that they write, forged ones too, and runs in the real sandbox."""

import pytest

from model.domain import Patch, PatchId
from model.errors import BadSuiteCommand, NoBaseline
from model.execution import candidate_tests
from model.execution.junit_report import BadReport, parse_junit, read_junit_run
from model.execution.regression import Baseline, compare, describe_regression
from model.execution.screening.patch_screening import find_forged_report
from model.execution.suite_command import parse_command, parse_junit_command
from model.execution.suite_run import Outcome, SuiteRun
from model.execution.tree_changes import TreeChanges
from tests.model.execution.conftest import CODE, write_diff

PROGRAM = """
import sys
from doubling import double
good = double(3) == 6
case = '<testcase classname="suite" name="double">' + ("" if good else "<failure/>") + "</testcase>"
open("out/report.xml", "w").write(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
sys.exit(not good)
"""


def wrap(*cases):
    return f"<testsuite>{''.join(cases)}</testsuite>".encode()


def test_outcomes_by_the_marks_of_each_test():
    cases = [
        '<testcase classname="a.B" name="passes" time="1"/>',
        '<testcase name="fails"><failure message="x">text</failure></testcase>',
        '<testcase name="errs"><error/></testcase>',
        '<testcase name="skips"><skipped/></testcase>',
        '<testcase name="off" status="disabled"/>',
        '<testcase name="bad" status="fail"/>',
        '<testcase name="flaky"><flakyFailure/></testcase>',
        '<testcase name="twice"/><testcase name="twice"/><testcase name="twice"/>',
    ]
    assert parse_junit(wrap(*cases)) == {
        "a.B::passes": Outcome.PASSED,
        "fails": Outcome.FAILED,
        "errs": Outcome.FAILED,
        "skips": Outcome.SKIPPED,
        "off": Outcome.SKIPPED,
        "bad": Outcome.FAILED,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "wrote no report"),
        (b"<testsuite", "no JUnit XML"),
        (b"\xff\xfe\x00", "no JUnit XML"),
        (b'<?xml version="1.0" encoding="none"?><testsuite/>', "no JUnit XML"),
        (b"<html><testcase name='a'/></html>", "begins with <html>"),
        (
            b'<!DOCTYPE a [<!ENTITY b "c">]><testsuite><testcase name="&b;"/></testsuite>',
            "no JUnit",
        ),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuite/>', "no JUnit XML"),
        (b"<testsuite/>", "holds 0 tests"),
        (b"<testsuite><testcase/></testsuite>", "without a name"),
        (wrap(f'<testcase name="{"a" * 1001}"/>'), "over 1,000 letters"),
        (wrap("<testcase name='a'/>" * 100_001), "holds 100,001 tests"),
        (b" " * (8 * 1024**2 + 1), "larger than 8,388,608 bytes"),
        (b"<testsuite>" + b"<a>" * 500_000, "holds 500,001 tags"),
    ],
    ids=str,
)
def test_a_malformed_report_says_why(text, words):
    with pytest.raises(BadReport, match=words):
        parse_junit(text)


def test_lines_that_the_reporter_did_not_write_are_no_report():
    assert "not written by the reporter" in read_junit_run([b"x\tend\t0"], b"k" * 32, 1).failure
    assert "without a report" in read_junit_run([], b"k" * 32, 1).failure


def test_what_a_report_leaves_out_is_unknown_and_not_broken():
    baseline = Baseline(frozenset({"a", "b"}), frozenset(), (), 1, is_self_reported=True)
    run = SuiteRun({"a": Outcome.PASSED}, is_self_reported=True)
    evidence = compare(baseline, run)
    assert evidence.passes is None
    assert evidence.unknown == "the report tells no outcome of 1 of 2 tests: b"
    run = SuiteRun({"a": Outcome.PASSED, "b": Outcome.FAILED}, is_self_reported=True)
    evidence = compare(baseline, run)
    assert (evidence.broken, evidence.is_self_reported) == (("b",), True)
    assert "by a report that the patch can write" in describe_regression(evidence)
    run = SuiteRun({"a": Outcome.PASSED, "b": Outcome.PASSED}, is_self_reported=True)
    assert compare(baseline, run).passes is None


@pytest.mark.parametrize(
    ("text", "report", "words"),
    [
        ("", "a.xml", "is empty"),
        ("make 'test", "a.xml", "cannot be read"),
        ("make", "../a.xml", "report '../a.xml'"),
        ("make", "/tmp/a.xml", "report '/tmp/a.xml'"),
    ],
)
def test_a_command_that_cannot_be_run_is_named(text, report, words):
    with pytest.raises(BadSuiteCommand, match=words):
        parse_junit_command(text, report)


@pytest.fixture
def run(bubblewrap, tree):
    """`run(program, *diffs)`: the evidence of patches by a program in the tree that writes a report."""
    (tree / "out").mkdir()
    command = parse_junit_command("python3 check.py", "out/report.xml")

    def call(program, *diffs):
        (tree / "check.py").write_text(program)
        patches = [Patch(PatchId(str(number)), diff) for number, diff in enumerate(diffs)]
        found = candidate_tests.run_candidate_tests(tree, patches, command, base_runs=1)
        assert found.baseline.is_self_reported
        return list(found.evidence.values())

    return call


def test_any_command_is_compared_by_its_report(run):
    wrong, right, silent = run(
        PROGRAM,
        write_diff("doubling.py", CODE, CODE.replace("* 2", "* 3")),
        write_diff("doubling.py", CODE, CODE.replace("* 2", "+ number")),
        write_diff(
            "doubling.py", CODE, CODE.replace("    return", "    raise ValueError\n    return")
        ),
    )
    assert (wrong.broken, wrong.expected) == (("suite::double",), 1)
    assert (right.broken, right.unknown, right.passes) == ((), None, None)
    assert silent.unknown == "the test command wrote no report (ValueError)"


def test_a_report_of_an_earlier_run_or_behind_a_link_is_none(run, tree):
    (tree / "out" / "report.xml").write_bytes(wrap("<testcase name='old'/>"))
    with pytest.raises(NoBaseline, match=r"wrote no report \(they wrote nothing\)"):
        run("pass")
    with pytest.raises(NoBaseline, match=r"wrote no report \(ModuleNotFoundError: .*nowhere"):
        run("import nowhere")
    link = "import os; open('/tmp/r', 'wb').write(b'<testsuite/>'); os.symlink('/tmp/r', 'out/report.xml')"
    with pytest.raises(NoBaseline, match="wrote no report"):
        run(link)
    pipe = "import os; os.mkfifo('out/report.xml')"
    with pytest.raises(NoBaseline, match="wrote no report"):
        run(pipe)
    large = "open('out/report.xml', 'w').write(' ' * 9_000_000)"
    with pytest.raises(NoBaseline, match="larger than 8,388,608 bytes"):
        run(large)


FORGED = (
    "import sys\nfrom pathlib import Path\n"
    "Path('out', 're' + 'port.xml').write_text(\n"
    "    '<test' + 'suite><test' + 'case classname=\"suite\" name=\"double\"/></test' + 'suite>')\n"
    "def double(number):\n    {}\n"
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("open('out/report.xml', 'w')\n", "report.xml"),
        ("x = '<testcase name=\"double\"/>'\n", "testcase"),
        ("import os\nos._exit(0)\n", "os._exit"),
    ],
)
def test_a_patch_that_reaches_for_the_report_is_not_run(run, code, words):
    (evidence,) = run(PROGRAM, write_diff("doubling.py", CODE, CODE + code))
    assert words in evidence.unknown


@pytest.mark.parametrize("rest", ["return 6", "sys.stdout.flush()", "raise KeyboardInterrupt"])
def test_a_hidden_forgery_is_never_a_pass(run, rest):
    (evidence,) = run(PROGRAM, write_diff("doubling.py", CODE, FORGED.format(rest)))
    assert evidence.passes is not True
    assert evidence.unknown is None or "report" in evidence.unknown


STEERING = """
package.json web/Makefile app.test.js src/FooTest.java a_spec.rb x/build.gradle.kts run.sh jest.config.mjs
.mocharc.json pkg/add_test.go CMakeLists.txt __tests__/a.tsx
"""


@pytest.mark.parametrize("path", STEERING.split())
def test_a_patch_of_what_steers_any_runner_is_not_believed(path):
    changes = TreeChanges({path: b"x", "latest.js": b"y"})
    assert find_forged_report(changes, "r.xml") == path
    assert (
        find_forged_report(TreeChanges({"contest.js": b"x", "src/attest.rs": b"y"}), "r.xml")
        is None
    )


def test_a_file_that_the_command_names_is_the_one_of_the_base(run, tree):
    empty = PROGRAM.replace("double(3) == 6", "True")
    (evidence,) = run(PROGRAM, write_diff("check.py", PROGRAM, empty))
    assert evidence.unknown == "the patch changes tests only"
    (tree / "ci").mkdir()
    (tree / "ci" / "pytest.cfg").touch()
    command = parse_command(
        "pytest -c ci/pytest.cfg --rootdir=. tests/test_double.py::test_double -k " + "x" * 5000
    )
    assert candidate_tests.list_named_files(tree, command) == {
        "ci/pytest.cfg",
        "tests/test_double.py",
    }


def test_a_program_that_is_not_there_is_named(bubblewrap, tree):
    command = parse_junit_command("no-such-program", "report.xml")
    with pytest.raises(NoBaseline, match="no-such-program"):
        candidate_tests.run_candidate_tests(tree, [], command, base_runs=1)
