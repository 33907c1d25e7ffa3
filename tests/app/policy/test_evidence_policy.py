"""Evidence takes claims back, and never makes one."""

from dataclasses import replace

import pytest

from app.github.facts import CommitCheck
from app.policy.evidence_policy import (
    EvidenceRule,
    GroupFacts,
    compare_group,
    decide_ci,
    find_passing,
    find_rule,
    weigh_evidence,
)
from model.domain import (
    CiResult,
    CiState,
    Coverage,
    ObservedEvidence,
    PatchId,
    PatchVerdict,
    RegressionResult,
    ReproductionResult,
    Verdict,
    VoteCount,
)

CLAIM = PatchVerdict(
    PatchId("#4"), Verdict.CORRECT, VoteCount(4), "It works.", Coverage(1, 1), probability=0.9
)
BROKEN = ObservedEvidence(RegressionResult(812, 3, ("t::a",)))
RED = ObservedEvidence(ci=CiResult(CiState.FAILED, 12, 3, ("lint",)))


def test_a_patch_that_breaks_tests_is_not_claimed_correct():
    weighed = weigh_evidence(replace(CLAIM, evidence=BROKEN))
    assert (weighed.verdict, weighed.probability) == (Verdict.UNSURE, None)
    assert weighed.reason == (
        "It breaks 3 of 812 tests that pass on the base; so the verdict does not claim it correct. It works."
    )
    assert find_rule(BROKEN) is EvidenceRule.BREAKS_TESTS


@pytest.mark.parametrize(
    ("rewritten", "rule", "reason"),
    [
        (
            3,
            EvidenceRule.REWRITES_TESTS,
            (
                "It breaks 3 of 812 tests that pass on the base, and rewrites or removes all of them itself. A maintainer "
                "has to say whether it may; so the verdict does not claim it correct. It works."
            ),
        ),
        (
            1,
            EvidenceRule.BREAKS_TESTS,
            (
                "It breaks 3 of 812 tests that pass on the base, and rewrites or removes 1 of them itself; so the verdict "
                "does not claim it correct. It works."
            ),
        ),
    ],
)
def test_a_patch_that_rewrites_what_it_breaks_is_left_to_a_maintainer(rewritten, rule, reason):
    evidence = ObservedEvidence(RegressionResult(812, 3, ("t::a",), rewritten))
    weighed = weigh_evidence(replace(CLAIM, evidence=evidence))
    assert (find_rule(evidence), weighed.verdict) == (rule, Verdict.UNSURE)
    assert weighed.reason == reason


def test_an_unsure_patch_that_breaks_tests_has_no_probability():
    before = replace(CLAIM, verdict=Verdict.UNSURE, evidence=BROKEN)
    weighed = weigh_evidence(before)
    assert (weighed.verdict, weighed.probability) == (Verdict.UNSURE, None)
    refuted = replace(before, verdict=Verdict.INCORRECT)
    assert weigh_evidence(refuted) == refuted


def test_a_patch_that_fails_the_reproduction_tests_is_not_claimed_correct_if_a_rival_passes_all():
    fails = ObservedEvidence(reproduction=ReproductionResult(2, 0))
    half = ObservedEvidence(reproduction=ReproductionResult(2, 1))
    late = ObservedEvidence(reproduction=ReproductionResult(1, 1))
    all_pass = ObservedEvidence(reproduction=ReproductionResult(2, 2))
    evidence = {PatchId("#4"): fails, PatchId("#5"): half, PatchId("#6"): late}
    assert compare_group(evidence, tests_claim=False) == GroupFacts()
    assert weigh_evidence(replace(CLAIM, evidence=fails)).verdict is Verdict.CORRECT
    group = compare_group(evidence | {PatchId("#7"): all_pass}, tests_claim=True)
    assert group == GroupFacts((PatchId("#7"),))
    weighed = weigh_evidence(replace(CLAIM, evidence=fails), group)
    assert weighed.verdict is Verdict.UNSURE
    assert weighed.reason == (
        "It passes no reproduction test, and #7 passes all; so the verdict does not claim it correct. It works."
    )
    assert find_rule(half, group.passing) is None


def test_without_reproduction_tests_no_patch_passes_them():
    empty = ObservedEvidence(reproduction=ReproductionResult(0, 0))
    evidence = {PatchId("#4"): empty, PatchId("#5"): empty, PatchId("#6"): None}
    assert find_passing(evidence) == ()
    group = compare_group({PatchId("#4"): empty}, tests_claim=False)
    assert weigh_evidence(replace(CLAIM, evidence=empty), group).verdict is Verdict.CORRECT


@pytest.mark.parametrize("verdict", [Verdict.CORRECT, Verdict.UNSURE])
def test_the_operator_may_let_tests_claim_what_breaks_more_than_a_rival(verdict):
    fewer = ObservedEvidence(RegressionResult(812, 1, ("t::a",)))
    unknown = ObservedEvidence(unknown="the run failed")
    evidence = {PatchId("#4"): BROKEN, PatchId("#5"): fewer, PatchId("#6"): unknown}
    before = replace(CLAIM, verdict=verdict, evidence=BROKEN)
    group = compare_group(evidence, tests_claim=True)
    assert group.beaten == {"#4"}
    weighed = weigh_evidence(before, group)
    assert (weighed.verdict, weighed.probability) == (Verdict.INCORRECT, None)
    assert weighed.reason == (
        "It breaks 3 of 812 tests that pass on the base; a rival breaks fewer, and the operator lets tests decide that. "
        "It works."
    )
    level = compare_group({PatchId("#4"): BROKEN, PatchId("#5"): BROKEN}, tests_claim=True)
    assert weigh_evidence(before, level).verdict is Verdict.UNSURE
    disputed = ObservedEvidence(RegressionResult(812, 9, ("t::a",), 9))
    partly = ObservedEvidence(RegressionResult(812, 4, ("t::a",), 3))
    rewriting = {PatchId("#4"): disputed, PatchId("#5"): partly, PatchId("#6"): fewer}
    assert compare_group(rewriting, tests_claim=True).beaten == frozenset()
    alone = compare_group({PatchId("#4"): BROKEN, PatchId("#6"): unknown}, tests_claim=True)
    assert weigh_evidence(before, alone).verdict is Verdict.UNSURE
    silent = compare_group(evidence, tests_claim=False)
    assert weigh_evidence(before, silent).verdict is Verdict.UNSURE
    rival = replace(before, id=PatchId("#5"), evidence=fewer)
    assert weigh_evidence(rival, group).verdict is Verdict.UNSURE


def test_a_patch_whose_ci_fails_is_not_claimed_correct():
    weighed = weigh_evidence(replace(CLAIM, evidence=RED))
    assert (weighed.verdict, find_rule(RED)) == (Verdict.UNSURE, EvidenceRule.CI_FAILED)
    assert "A check of its CI fails" in weighed.reason


@pytest.mark.parametrize(
    "evidence",
    [
        None,
        ObservedEvidence(),
        ObservedEvidence(RegressionResult(812, 0)),
        ObservedEvidence(unknown="the tests were ended after 300 s"),
        ObservedEvidence(reproduction=ReproductionResult(2, 2)),
        *(
            ObservedEvidence(ci=CiResult(state))
            for state in (CiState.PASSED, CiState.RUNNING, CiState.NOT_RUN)
        ),
    ],
)
@pytest.mark.parametrize("verdict", list(Verdict))
def test_evidence_that_breaks_nothing_changes_no_verdict(evidence, verdict):
    before = replace(CLAIM, verdict=verdict, evidence=evidence)
    assert weigh_evidence(before) == before


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.CORRECT, Verdict.UNSURE}))
@pytest.mark.parametrize("evidence", [BROKEN, RED], ids=["tests", "CI"])
def test_other_verdicts_stay(verdict, evidence):
    before = replace(CLAIM, verdict=verdict, evidence=evidence)
    assert weigh_evidence(before) == before


def check(name, state):
    return CommitCheck(name, CiState(state))


@pytest.mark.parametrize(
    ("checks", "base", "expected"),
    [
        ([], [], None),
        ([], [check("test", "passed")], CiResult(CiState.NOT_RUN)),
        ([check("test", "passed")], [], CiResult(CiState.PASSED, 1)),
        (
            [check("test", "failed"), check("lint", "passed")],
            [],
            CiResult(CiState.FAILED, 2, 1, ("test",)),
        ),
        (
            [check("test", "failed"), check("lint", "passed")],
            [check("test", "failed")],
            CiResult(CiState.PASSED, 1),
        ),
        ([check("test", "failed")], [check("test", "failed")], CiResult(CiState.NOT_RUN)),
        ([check("test", "not_run")], [], CiResult(CiState.NOT_RUN)),
        (
            [check("test", "running"), check("lint", "passed")],
            [],
            CiResult(CiState.RUNNING, 1),
        ),
        (
            [check("test", "running"), check("lint", "failed")],
            [],
            CiResult(CiState.FAILED, 1, 1, ("lint",)),
        ),
    ],
)
def test_ci_is_decided_from_the_checks_of_both_commits(checks, base, expected):
    assert decide_ci(checks, base) == expected


def test_names_of_failed_checks_are_bounded():
    many = [check(f"{number:02}" + "x" * 500, "failed") for number in range(40)]
    found = decide_ci(many, [])
    assert (found.failed, len(found.names), max(map(len, found.names))) == (40, 10, 100)
