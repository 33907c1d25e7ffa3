"""The verifier `reward-model` ranks patches by a trained score, and claims nothing without a calibrator."""

import math

import pytest

from model.calibration import evidence
from model.calibration.calibration import Calibrator, History
from model.domain import Issue, Patch, PatchId, Verdict, VoteCount
from model.engines.scripted import ScriptedEngine
from model.errors import BadEngine, Cancelled, EngineError
from model.prompts import prompt_template
from model.protocols import RawScore
from model.verifiers.reward_model import RewardModelVerifier
from model.voting.thresholds import Thresholds
from tests.model.builders import build_diff, build_patch

ISSUE = Issue("It breaks", "when the list is empty")
A, B, C = (build_patch(name, f"solution {name}") for name in "abc")


class ScoreEngine(ScriptedEngine):
    """An engine that scores a prompt by the key in it. Text in place of a number fails the prompt."""

    def __init__(self, scores):
        super().__init__([])
        self._scores = scores
        self.prompts = []

    def score(self, prompts):
        self.prompts += prompts
        values = [
            next(value for key, value in self._scores.items() if key in prompt[-1].content)
            for prompt in prompts
        ]
        return [
            EngineError(value) if isinstance(value, str) else RawScore(value, 10)
            for value in values
        ]


def judge(scores, patches, *, edited_lines=0, **options):
    verifier = RewardModelVerifier(
        ScoreEngine(scores), prompt_template.load("yes_no"), edited_lines
    )
    return verifier.verify(ISSUE, patches, votes=3, **options)


def test_belief_is_the_sigmoid_of_the_score_and_claims_nothing():
    verdict = judge({"solution a": math.log(3), "solution b": -9.0, "solution c": 0.0}, [A, B, C])
    assert [patch.score for patch in verdict.patches] == pytest.approx(
        [3 / 4, 1 / (1 + math.exp(9)), 1 / 2]
    )
    assert {patch.verdict for patch in verdict.patches} == {Verdict.UNSURE}
    assert {patch.votes for patch in verdict.patches} == {VoteCount()}
    assert [patch.reason.partition(";")[0] for patch in verdict.patches] == [
        "The reward model gives +1.10, place 1 of 3",
        "The reward model gives -9.00, place 3 of 3",
        "The reward model gives +0.00, place 2 of 3",
    ]
    assert (verdict.votes, verdict.asked, verdict.tokens.prompt) == ((), 0, 30)


def test_calibrator_turns_scores_into_probabilities_and_claims():
    """Its logit is 2 s - 1: the sigmoid's logit is the score itself."""
    verdict = judge({"solution a": 1.5, "solution b": -0.5, "solution c": 0.5}, [A, B, C])
    known = evidence.build_evidence(verdict, {}, "reward-model")
    calibrator = Calibrator(
        "2026-01-01", History(40, 30, 30), weights={"votes": 2.0}, intercept=-1.0,
        thresholds=Thresholds(0.8, 0.2),
    )  # fmt: skip
    patches = evidence.apply_calibrator(verdict, known, calibrator).patches
    assert [patch.probability for patch in patches] == pytest.approx(
        [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2)), 1 / 2]
    )
    assert [patch.verdict for patch in patches] == [
        Verdict.CORRECT,
        Verdict.INCORRECT,
        Verdict.UNSURE,
    ]


def test_calibrator_without_history_withholds_claims():
    verdict = judge({"solution a": 4.0}, [A])
    known = evidence.build_evidence(verdict, {}, "reward-model")
    young = Calibrator("2026-01-01", History(3, 3, 3), weights={"votes": 1.0})
    (patch,) = evidence.apply_calibrator(verdict, known, young).patches
    assert (patch.verdict, patch.probability) == (Verdict.UNSURE, None)


@pytest.mark.parametrize("failure", ["timeout", math.nan, math.inf])
def test_failed_score_is_unknown_and_does_not_take_a_place(failure):
    verdict = judge({"solution a": failure, "solution b": -2.0}, [A, B])
    failed, scored = verdict.patches
    assert (failed.score, failed.verdict) == (None, Verdict.UNSURE)
    assert failed.reason == "No opinion: the engine failed"
    assert "place 1 of 1" in scored.reason
    assert evidence.build_evidence(verdict, {}, "reward-model").keys() == {"b"}


def test_equal_edits_are_scored_once_and_unreadable_patches_not_at_all():
    twin = Patch(PatchId("twin"), build_diff("solution a"))
    broken = Patch(PatchId("broken"), "no diff")
    first, second, third = judge({"solution a": 1.0}, [A, twin, broken]).patches
    assert first.score == second.score == pytest.approx(1 / (1 + math.exp(-1)))
    assert second.reason.startswith("The same edit as a. The reward model gives +1.00, place 1 of")
    assert (third.verdict, third.score) == (Verdict.NOT_JUDGED, None)
    (short,) = judge({"solution a": 1.0}, [A], edited_lines=3).patches
    assert short.verdict is Verdict.NOT_JUDGED


def test_progress_is_reported_and_scoring_can_be_cancelled():
    progress = []
    many = [build_patch(f"p{number}", f"solution {number}") for number in range(20)]
    judge({"solution": 0.0}, many, on_vote=lambda *scored: progress.append(scored))
    assert progress == [(16, 20), (20, 20)]
    with pytest.raises(Cancelled):
        judge({"solution": 0.0}, [A], keep_going=lambda: False)


def test_engine_without_a_reward_model_is_refused():
    with pytest.raises(BadEngine, match=r"needs a reward model, and engine scripted .* name the"):
        RewardModelVerifier(ScriptedEngine([]), prompt_template.load("yes_no"))
