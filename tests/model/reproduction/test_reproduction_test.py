"""What a run says about an issue, and which tests have the most votes."""

import pytest

from model.execution.suite_run import Outcome, SuiteRun, build_failed_run
from model.reproduction.reproduction_test import (
    DropReason,
    IssueOutcome,
    ReproductionEvidence,
    ReproductionTest,
    choose_tests,
    collect_tests,
    read_outcome,
)

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
RESOLVED, REPRODUCED = IssueOutcome.RESOLVED, IssueOutcome.REPRODUCED


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        ({"Issue resolved": PASSED}, RESOLVED),
        ({"Issue reproduced": PASSED}, REPRODUCED),
        ({"Issue reproduced": PASSED, "raised AssertionError": FAILED}, REPRODUCED),
        ({"Issue resolved": PASSED, "raised AssertionError": FAILED}, IssueOutcome.OTHER),
        ({"Issue resolved": PASSED, "Issue reproduced": PASSED}, IssueOutcome.OTHER),
        ({"Other issues": PASSED}, IssueOutcome.OTHER),
        ({"raised KeyError": FAILED}, IssueOutcome.OTHER),
        ({}, IssueOutcome.OTHER),
    ],
)
def test_only_one_clear_saying_is_an_outcome(outcomes, outcome):
    assert read_outcome(SuiteRun(outcomes)) is outcome


def test_a_failed_run_is_unknown():
    assert read_outcome(build_failed_run("late")) is IssueOutcome.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "double.__code__.co_consts",
        "import ctypes",
        "double.__globals__['__loader__'].get_data('doubling.py')",
        "open('/reporters/tamper_evidence.py')",
    ],
)
def test_a_test_that_reads_code_is_dropped_before_it_runs(text):
    assert collect_tests([text]).dropped == {DropReason.FORBIDDEN_CODE: 1}


def choose(rows, most, votes=None):
    """The names of the chosen tests. `rows` holds a test's outcomes on the candidates as letters, by its name."""
    names = {"+": RESOLVED, "-": REPRODUCED, "?": IssueOutcome.UNKNOWN}
    tests = tuple(ReproductionTest(name, "", (votes or {}).get(name, 1)) for name in rows)
    columns = list(rows.values())
    table = {
        str(at): tuple(names[column[at]] for column in columns) for at in range(len(columns[0]))
    }
    chosen = choose_tests(ReproductionEvidence(tests, table), most)
    ids = [test.id for test in chosen.tests]
    for patch, outcomes in chosen.outcomes.items():
        assert list(outcomes) == [names[rows[name][int(patch)]] for name in ids]
    return "".join(ids)


def test_tests_that_behave_alike_vote_for_each_other():
    assert choose({"a": "+--", "b": "-+-", "c": "-+-", "d": "+++"}, 2) == "bc"
    assert choose({"a": "+--", "b": "-+-", "c": "-+-"}, 1, votes={"a": 3}) == "a"


def test_a_test_that_no_candidate_resolves_comes_last():
    assert choose({"a": "---", "b": "---", "c": "-?-", "d": "+--"}, 2) == "da"


def test_without_candidates_the_most_sampled_tests_are_chosen():
    tests = (ReproductionTest("a", "", 1), ReproductionTest("b", "", 2))
    assert [test.id for test in choose_tests(ReproductionEvidence(tests), 1).tests] == ["b"]
