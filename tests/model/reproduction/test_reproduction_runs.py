"""Reproduction tests on a real tree in the real sandbox: which are kept, and what they say about patches."""

import pytest

from model.domain import Patch, PatchId
from model.reproduction import reproduction_runs
from model.reproduction.reproduction_test import DropReason, IssueOutcome, collect_tests
from tests.model.execution.conftest import write_diff
from tests.model.reproduction.conftest import (
    CODE,
    GOOD,
    RUNS,
    SUITE,
    WRONG,
    build_patch,
    write_test,
)

RESOLVED, REPRODUCED = IssueOutcome.RESOLVED, IssueOutcome.REPRODUCED
OTHER, UNKNOWN = IssueOutcome.OTHER, IssueOutcome.UNKNOWN
SIZE = """
import os
if os.path.getsize("halving.py") > 50:
    print("Issue resolved")
else:
    print("Issue reproduced")
"""


def test_a_test_tells_the_right_patch_from_the_wrong_one(judge):
    broken = CODE.replace("number // 2", "None + number")
    outcomes = judge(write_test(), good=GOOD, wrong=WRONG, broken=broken)
    assert outcomes == {"good": RESOLVED, "wrong": REPRODUCED, "broken": OTHER}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (write_test("half(4) == 2"), DropReason.RESOLVED_ON_BASE),
        (write_test("third(3) == 1"), DropReason.OTHER_ON_BASE),
        (write_test(imports="from thirds import half"), DropReason.IMPORT_ERROR),
        ("print('Issue reproduced'", DropReason.SYNTAX_ERROR),
        ("assert False", DropReason.ERROR),
        (
            "from halving import half\ndef test_it():\n    assert half(3) == 1.5\n",
            DropReason.SILENT,
        ),
        ("import sys\nsys.stdout.write('Issue reproduced')", DropReason.SILENT),
        ("print('Issue reproduced')\nprint('Issue resolved')", DropReason.OTHER_ON_BASE),
        ("import os\nos._exit(0)", DropReason.NO_RESULT),
        ("from halving import half\nprint('Issue reproduced')", DropReason.NEVER_RESOLVED),
        (SIZE, DropReason.UNSTABLE),
    ],
)
def test_a_test_that_does_not_reproduce_the_issue_is_dropped_with_its_reason(keep, text, reason):
    kept = keep(text)
    assert (kept.tests, kept.dropped) == ((), {reason: 1})


def test_equal_tests_count_as_votes_for_one(keep):
    commented = f"# The same again.\n{write_test()}"
    kept = keep(write_test(), commented, write_test("half(5) == 2.5"))
    assert [test.votes for test in kept.tests] == [2, 1]
    assert kept.dropped == {DropReason.DUPLICATE: 1}
    assert kept.seconds.keys() == {test.id for test in kept.tests}


def test_a_patch_that_cannot_be_run_is_unknown_with_the_reason(tree, keep):
    kept = keep(write_test())
    patches = [
        build_patch("forbidden", f"import ctypes\n{GOOD}"),
        Patch(PatchId("gone"), write_diff("other.py", "x = 1\n", "x = 2\n")),
    ]
    found = reproduction_runs.run_on_candidates(tree, patches, kept, RUNS)
    assert set(found.outcomes.values()) == {(UNKNOWN,)}
    assert "ctypes" in found.unknown[PatchId("forbidden")]
    assert "does not apply" in found.unknown[PatchId("gone")]


def test_a_patch_that_hangs_is_unknown_and_soon_given_up(tree, keep, monkeypatch):
    monkeypatch.setattr(reproduction_runs, "_LEAST_SECONDS", 1.0)
    monkeypatch.setattr(reproduction_runs, "_PATIENCE", 0.0)
    kept = keep(*(write_test(f"half({n}) == {n / 2}") for n in (3, 5, 7, 9)))
    assert len(kept.tests) == 4
    patches = [build_patch("asleep", f"import time\ntime.sleep(600)\n{GOOD}")]
    found = reproduction_runs.run_on_candidates(tree, patches, kept, RUNS)
    assert found.outcomes == {"asleep": (UNKNOWN,) * 4}


def test_the_tree_stays_as_it_is(tree, keep):
    keep(write_test())
    assert (tree / "halving.py").read_text() == CODE
    assert (tree / "tests" / "test_halving.py").read_text() == SUITE
    assert sorted(path.name for path in tree.iterdir()) == ["halving.py", "tests"]


def test_without_tests_nothing_is_run(tree):
    kept = reproduction_runs.keep_reproducing(tree, collect_tests(()), RUNS)
    found = reproduction_runs.run_on_candidates(tree, [build_patch("good", GOOD)], kept, RUNS)
    assert (kept.tests, found.outcomes) == ((), {"good": ()})
