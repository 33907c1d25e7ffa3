"""The pairwise verifier shows both orders, so that a preference for a seat has no effect."""

from dataclasses import replace

import pytest

from model.calibration.calibration import Calibrator, History
from model.calibration.evidence import apply_calibrator, build_evidence
from model.domain import Issue, Patch, PatchId, Verdict, VoteCount
from model.engines.scripted import ScriptLine
from model.prompts import prompt_template
from model.verifiers.vote_sampling import Sampling
from model.verifiers.vote_schemes import PairwiseVerifier
from model.verifiers.voting_verifier import VotingOptions
from model.voting.thresholds import Thresholds
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("It breaks", "when the list is empty")
A, B, C, D = (build_patch(name, f"solution {name}") for name in "abcd")

CALIBRATOR = Calibrator(
    "2026-11-01T00:00:00Z",
    History(40, 60, 60),
    weights={"votes": 1.0},
    thresholds=Thresholds(0.8, 0.2),
)


def judge(patches, *lines, votes=1):
    engine = RecordingEngine(*lines)
    return engine, PairwiseVerifier(engine, prompt_template.load("pairwise")).verify(
        ISSUE, patches, votes=votes
    )


def list_scores(verdict):
    return {patch.id: patch.score for patch in verdict.patches}


def test_winner_of_every_comparison_scores_one():
    engine, verdict = judge([A, B, C], ScriptLine(box_containing=("solution a",), repeat=True))
    assert len(engine.requests) == verdict.asked == 6
    assert list_scores(verdict) == {"a": 1, "b": 0, "c": 0}
    assert verdict.patches[0].votes == VoteCount(correct=4)
    assert {vote.seats for vote in verdict.votes} >= {("a", "b"), ("b", "a")}


@pytest.mark.parametrize("seat", [1, 2])
def test_seat_bias_gives_every_patch_one_half(seat):
    _, verdict = judge([A, B, C, D], ScriptLine(reply=f"\\boxed{{{seat}}}", repeat=True), votes=2)
    assert set(list_scores(verdict).values()) == {0.5}
    assert {patch.verdict for patch in verdict.patches} == {Verdict.UNSURE}


def test_order_of_merit_is_ranked():
    lines = [
        ScriptLine(when=f"solution {item}", box_containing=(f"solution {item}",), repeat=True)
        for item in "cadb"
    ]
    _, verdict = judge([A, B, C, D], *lines)
    assert sorted("abcd", key=list_scores(verdict).get, reverse=True) == list("cadb")


def test_single_patch_is_compared_with_an_empty_patch():
    engine, verdict = judge([A], ScriptLine(box_containing=(), repeat=True))
    assert verdict.asked == 1
    assert "<patch-2>\n\n</patch-2>" in engine.requests[0].messages[1].content
    assert verdict.patches[0].score == 0


def test_requests_grow_with_the_number_of_parts_above_four():
    patches = [build_patch(str(n), f"solution {n};") for n in range(8)]
    _, verdict = judge(patches, ScriptLine(box_containing=("solution 5;",), repeat=True), votes=2)
    assert verdict.asked == 2 * 24
    assert list_scores(verdict)["5"] == 1


def test_best_of_two_is_ranked_first_and_stays_unsure():
    _, verdict = judge([A, B], ScriptLine(box_containing=("solution a",), repeat=True), votes=5)
    assert list_scores(verdict) == {"a": 1, "b": 0}
    assert {patch.verdict for patch in verdict.patches} == {Verdict.UNSURE}
    ranked = "That ranks it, and does not say whether it is correct"
    assert [patch.reason for patch in verdict.patches] == [
        f"Preferred 10 of 10 times over rivals. {ranked}",
        f"Preferred 0 of 10 times over rivals. {ranked}",
    ]


def test_only_a_calibrator_with_history_claims():
    _, verdict = judge([A, B], ScriptLine(box_containing=("solution a",), repeat=True))
    evidence = build_evidence(verdict, {}, "pairwise")
    for calibrator in (None, replace(CALIBRATOR, history=History(2, 2, 2))):
        plain = apply_calibrator(verdict, evidence, calibrator)
        assert {patch.verdict for patch in plain.patches} == {Verdict.UNSURE}
        assert {patch.probability for patch in plain.patches} == {None}
    best, other = apply_calibrator(verdict, evidence, CALIBRATOR).patches
    assert (best.verdict, other.verdict) == (Verdict.CORRECT, Verdict.INCORRECT)
    assert best.probability > 0.8
    assert best.reason.startswith("Uncalibrated, this would be unsure. Preferred 2 of 2 times")


def test_unreadable_comparisons_are_reported_and_not_counted():
    lines = [
        ScriptLine(when="solution c", reply="I can't say", repeat=True),
        ScriptLine(box_containing=("solution a",), repeat=True),
    ]
    _, verdict = judge([A, B, C], *lines)
    best, _, unread = verdict.patches
    assert best.reason.startswith(
        "Preferred 2 of 2 times over rivals; 2 more failed or could not be read."
    )
    assert (unread.score, unread.verdict) == (None, Verdict.UNSURE)
    assert unread.reason.startswith("None of 4 votes could be read")


def test_copy_and_empty_patch_have_their_reason():
    twin, empty = replace(A, id=PatchId("twin")), Patch(PatchId("empty"), "")
    _, verdict = judge([A, B, twin, empty], ScriptLine(box_containing=("solution a",), repeat=True))
    assert verdict.patches[2].reason.startswith("The same edit as a. Preferred 2 of 2 times")
    assert verdict.patches[3].verdict is Verdict.NOT_JUDGED


def test_ranking_never_stops_early():
    engine = RecordingEngine(ScriptLine(box_containing=("solution a",), repeat=True))
    judging = VotingOptions(Sampling(stop_early=True))
    verdict = PairwiseVerifier(engine, prompt_template.load("pairwise"), judging).verify(
        ISSUE, [A, B, C], votes=3
    )
    assert (verdict.asked, verdict.spared) == (18, 0)
