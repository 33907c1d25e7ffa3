"""The verifiers that judge by tests: verdicts, reasons and the hybrid of equation 2, on evidence made by hand."""

import pytest

from model.domain import Issue, ObservedEvidence, Patch, PatchId, RegressionResult, Verdict
from model.errors import Cancelled
from model.execution.evidence_record import EvidenceRecord, RecordedTests, hash_patch
from model.prompts import prompt_template
from model.verifiers.execution import ExecutionVerifier
from model.verifiers.hybrid import HybridVerifier
from model.verifiers.yes_no import YesNoVerifier
from tests.model.builders import build_patch
from tests.model.fake_engines import LogprobEngine, build_token
from tests.model.verifiers.test_execution_score import build_evidence

ISSUE = Issue("It breaks", "")
INCORRECT, CORRECT, UNSURE = Verdict.INCORRECT, Verdict.CORRECT, Verdict.UNSURE


def build_group(**evidence):
    """Patches with these names, and a record of their evidence."""
    patches = [build_patch(name, f"solution {name};") for name in evidence]
    records = {
        hash_patch(patch.diff): EvidenceRecord(
            "t", patch.id, hash_patch(patch.diff), "pytest", evidence[patch.id]
        )
        for patch in patches
    }
    return patches, RecordedTests(records, "0" * 12)


def judge(name="execution", **evidence):
    patches, source = build_group(**evidence)
    verifier = ExecutionVerifier(name, source, with_reproduction=name == "execution")
    return {patch.id: patch for patch in verifier.verify(ISSUE, patches).patches}


@pytest.mark.parametrize(
    ("group", "verdicts"),
    [
        ({"a": build_evidence(0), "b": build_evidence(2)}, [UNSURE, INCORRECT]),
        ({"a": build_evidence(0, "+"), "b": build_evidence(0, "-")}, [CORRECT, INCORRECT]),
        ({"a": build_evidence(0, "+-"), "b": build_evidence(0, "++")}, [UNSURE, CORRECT]),
        ({"a": build_evidence(0, "-"), "b": build_evidence(0, "-")}, [UNSURE, UNSURE]),
        ({"a": build_evidence(1, "+"), "b": build_evidence(1, "+")}, [UNSURE, UNSURE]),
        ({"a": build_evidence(1, "+"), "b": build_evidence(0, "+")}, [INCORRECT, CORRECT]),
        ({"a": build_evidence(3)}, [INCORRECT]),
        ({"a": build_evidence(0)}, [UNSURE]),
        ({"a": build_evidence(0, "?"), "b": build_evidence(unknown="late")}, [UNSURE, UNSURE]),
        ({"a": build_evidence(2, "+", rewritten=2), "b": build_evidence(0)}, [UNSURE, UNSURE]),
        ({"a": build_evidence(2, rewritten=1), "b": build_evidence(0)}, [INCORRECT, UNSURE]),
        ({"a": build_evidence(1), "b": build_evidence(1, rewritten=1)}, [INCORRECT, UNSURE]),
    ],
    ids=[
        *("breaks tests", "the only one that fails", "passes some", "no patch passes"),
        *("all break as many", "a rival breaks none", "alone and breaks", "alone", "unknown"),
        *("rewrites what it breaks", "rewrites a part", "a rival rewrites"),
    ],
)
def test_verdicts_follow_from_the_tests(group, verdicts):
    assert [patch.verdict for patch in judge(**group).values()] == verdicts


def test_regression_does_not_look_at_reproduction_tests():
    patches = judge("regression", a=build_evidence(0, "-"), b=build_evidence(1, "+"))
    assert [(patch.verdict, patch.score) for patch in patches.values()] == [
        (UNSURE, 1.0),
        (INCORRECT, 0.0),
    ]


def test_reason_and_evidence_state_the_facts():
    patches = judge(a=build_evidence(0, "+-?"), b=build_evidence(unknown="late"))
    assert patches["a"].reason == (
        "Breaks none of 10 tests that pass on the base. "
        "Passes 1 of 3 tests written for the issue, fails new1; 1 unknown."
    )
    assert patches["b"].reason == "Unknown: late."
    assert patches["b"].evidence == ObservedEvidence(unknown="late")
    assert (patches["b"].score, patches["b"].verdict) == (None, UNSURE)
    assert patches["a"].evidence.regression == RegressionResult(10, 0)
    assert (patches["a"].evidence.reproduction.tests, patches["a"].score) == (2, None)


def test_evidence_counts_the_tests_that_a_patch_rewrites():
    patches = judge(a=build_evidence(2, rewritten=1), b=build_evidence(0))
    assert patches["a"].evidence.regression == RegressionResult(10, 2, ("old0", "old1"), 1)
    assert "rewrites or removes 1 of them itself" in patches["a"].reason


def test_a_patch_without_a_record_is_unknown_and_an_unreadable_one_is_not_judged():
    patches, source = build_group(a=build_evidence(0))
    more = [*patches, build_patch("new", "x"), Patch(PatchId("none"), "no diff")]
    verdict = ExecutionVerifier("regression", source, with_reproduction=False).verify(ISSUE, more)
    assert [patch.score for patch in verdict.patches] == [1.0, None, None]
    assert "run `r4p gym run` again" in verdict.patches[1].reason
    assert verdict.patches[2].verdict is Verdict.NOT_JUDGED


def test_cancelled_work_gives_no_verdict():
    patches, source = build_group(a=build_evidence(0))
    verifier = ExecutionVerifier("regression", source, with_reproduction=False)
    with pytest.raises(Cancelled):
        verifier.verify(ISSUE, patches, keep_going=lambda: False)


def build_hybrid(chances, evidence, shortlist=None):
    """A hybrid whose execution-free part gives the patches these chances."""
    answers = {
        f"solution {name};": [build_token("YES", YES=chance, NO=1 - chance)]
        for name, chance in chances.items()
    }
    first = YesNoVerifier(LogprobEngine(answers), prompt_template.load("yes_no"))
    patches, source = build_group(**evidence)
    second = ExecutionVerifier("execution", source, with_reproduction=True)
    verdict = HybridVerifier(first, second, shortlist).verify(ISSUE, patches, votes=1)
    return {patch.id: patch for patch in verdict.patches}


def list_order(patches):
    return sorted(patches, key=lambda name: patches[name].rank, reverse=True)


def test_equation_2_orders_by_tests_then_by_the_execution_free_score():
    patches = build_hybrid(
        {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6},
        {
            "a": build_evidence(0, "+-"),
            "b": build_evidence(1, "++"),
            "c": build_evidence(0, "++"),
            "d": build_evidence(0, "++"),
        },
    )
    # d is right by its tests, and the shortlist of three leaves it out as the equation does
    assert list_order(patches) == ["c", "a", "b", "d"]
    assert patches["c"].score == pytest.approx((2 + 0.7) / 3)
    assert patches["a"].score == pytest.approx((1 + 0.9) / 3)
    assert patches["b"].score == pytest.approx(0.8 / 3)
    assert [patches[name].verdict for name in "abc"] == [CORRECT, INCORRECT, CORRECT]
    assert patches["d"].reason.startswith("Not on the shortlist.")
    assert patches["d"].evidence is None


def test_a_shortlist_of_all_patches_runs_the_tests_on_each():
    patches = build_hybrid(
        {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1},
        {name: build_evidence(name != "d") for name in "abcd"},
        shortlist=0,
    )
    assert list_order(patches)[0] == "d"
    assert all(patch.evidence for patch in patches.values())


def test_unknown_reproduction_tests_rank_between_passing_and_failing():
    patches = build_hybrid(
        {"a": 0.9, "b": 0.8, "c": 0.3},
        {
            "a": build_evidence(0, "-"),
            "b": build_evidence(unknown="late"),
            "c": build_evidence(0, "+"),
        },
    )
    assert list_order(patches) == ["c", "b", "a"]


def test_unknown_regression_tests_speak_neither_for_nor_against_a_patch():
    patches = build_hybrid(
        {"a": 0.9, "b": 0.8, "c": 0.3},
        {
            "a": build_evidence(1),
            "b": build_evidence(unknown="late"),
            "c": build_evidence(0),
        },
    )
    assert list_order(patches) == ["b", "c", "a"]
    assert patches["b"].reason.startswith("Unknown: late. The model gives YES 80%")
    assert (patches["b"].score, patches["b"].verdict) == (pytest.approx(0.8), CORRECT)


def test_passing_regression_tests_leave_the_execution_free_verdict_in_place():
    patches = build_hybrid({"a": 0.2, "b": 0.9}, {"a": build_evidence(0), "b": build_evidence(4)})
    assert (patches["a"].verdict, patches["a"].score) == (INCORRECT, pytest.approx(0.2))
    assert (patches["b"].verdict, patches["b"].score) == (INCORRECT, 0.0)
    assert list_order(patches) == ["a", "b"]
