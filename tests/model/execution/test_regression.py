"""What counts as broken, by hand-made runs."""

import pytest

from model.errors import NoBaseline
from model.execution.regression import Baseline, RegressionEvidence, build_baseline, compare
from model.execution.suite_run import Outcome, SuiteRun, build_failed_run

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


def test_only_tests_that_pass_on_the_base_each_time_are_expected():
    first = SuiteRun({"a": PASSED, "b": PASSED, "c": FAILED, "d": SKIPPED}, seconds=2)
    second = SuiteRun({"a": PASSED, "b": FAILED, "c": FAILED, "d": SKIPPED}, seconds=3)
    assert build_baseline([first, second]) == Baseline(frozenset("a"), frozenset("b"), (), 3)


def test_a_failed_run_on_the_base_gives_no_baseline():
    with pytest.raises(NoBaseline, match="no disk"):
        build_baseline([SuiteRun({"a": PASSED}), build_failed_run("no disk")])


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("a", "the only test that passes on the base is flaky"),
        ("ab", "all 2 tests that pass on the base are flaky"),
        ("dabce", "all 5 tests that pass on the base are flaky"),
    ],
)
def test_a_base_with_flaky_tests_only_is_told_from_one_where_nothing_passes(tests, reason):
    first = SuiteRun(dict.fromkeys(tests, PASSED) | {"never": FAILED})
    second = SuiteRun(dict.fromkeys(tests, FAILED) | {"never": FAILED})
    names = {"a": "a", "ab": "a, b", "dabce": "a, b, c and 2 more"}[tests]
    with pytest.raises(NoBaseline) as caught:
        build_baseline([first, second])
    assert str(caught.value) == (
        f"{reason}, because no test passes in each of 2 runs; repair or replace them: {names}"
    )
    with pytest.raises(NoBaseline, match="none of 1 tests passes on the base; check the command"):
        build_baseline([SuiteRun({"never": FAILED}), SuiteRun({"never": FAILED})])


BASELINE = Baseline(frozenset({"a", "b", "c", "d"}), frozenset(), ("plugin",), 1.0)


def test_what_does_not_pass_any_more_is_broken():
    run = SuiteRun({"a": PASSED, "b": FAILED, "c": SKIPPED}, set_up=("plugin",))
    assert compare(BASELINE, run) == RegressionEvidence(("b", "c", "d"), 4)


def test_new_and_failing_tests_of_the_base_do_not_matter():
    run = SuiteRun(dict.fromkeys("abcd", PASSED) | {"new": FAILED}, set_up=("plugin",))
    assert compare(BASELINE, run).passes is True


def test_a_run_that_says_nothing_is_unknown_and_no_zero():
    evidence = compare(BASELINE, build_failed_run("the tests were ended after 5 s"))
    assert (evidence.broken, evidence.passes) == ((), None)
    assert evidence.unknown == "the tests were ended after 5 s"


def test_another_set_up_than_the_bases_is_unknown():
    run = SuiteRun(dict.fromkeys("abcd", PASSED), set_up=("plugin", "Cheat"))
    assert compare(BASELINE, run).unknown == "the patch changes how the tests are run: Cheat"
