"""A hybrid verifier combines a shortlist with a second verdict and counts each vote once."""

import pytest

from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    Issue,
    ObservedEvidence,
    Patch,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    VoteCount,
)
from model.engines.scripted import ScriptLine
from model.prompts import prompt_template
from model.verifiers.hybrid import HybridVerifier
from model.verifiers.vote_schemes import PointwiseVerifier, R4PVerifier
from model.verifiers.yes_no import YesNoVerifier
from tests.model.builders import build_patch
from tests.model.fake_engines import LogprobEngine, RecordingEngine, build_token

ISSUE = Issue("It breaks", "when the list is empty")
EIGHT = [build_patch(str(n), f"solution {n};") for n in range(8)]


def build_yes_no(**chances):
    """A yes-no verifier that gives the numbered patches these chances."""
    answers = {
        f"solution {name.lstrip('n')};": [build_token("YES", YES=chance, NO=1 - chance)]
        for name, chance in chances.items()
    }
    return YesNoVerifier(LogprobEngine(answers), prompt_template.load("yes_no"))


def build_voting(*texts, name=R4PVerifier):
    engine = RecordingEngine(ScriptLine(reply="Patch 1: seen.", box_containing=texts, repeat=True))
    return name(engine, prompt_template.load("r4p_group")), engine


FALLING = {f"n{n}": 0.9 - n / 10 for n in range(8)}


def test_second_verdict_of_the_better_half_wins():
    second, engine = build_voting("solution 3;")
    verdict = HybridVerifier(build_yes_no(**FALLING), second).verify(ISSUE, EIGHT, votes=2)
    seated = {seat for vote in verdict.votes if len(vote.seats) == 4 for seat in vote.seats}
    assert seated == {"0", "1", "2", "3"}
    assert [patch.id for patch in verdict.patches] == [item.id for item in EIGHT]
    by_name = {patch.id: patch for patch in verdict.patches}
    assert by_name["3"].verdict is Verdict.CORRECT
    assert by_name["3"].votes == VoteCount(correct=2)
    assert by_name["0"].verdict is Verdict.INCORRECT  # though the first gave it 90 %
    assert by_name["7"].reason.startswith("Not on the shortlist. The model gives YES 20%")
    assert [patch.id for patch in verdict.patches if patch.is_preliminary] == ["4", "5", "6", "7"]
    ranked = sorted(by_name, key=lambda name: by_name[name].rank, reverse=True)
    assert ranked[:4] == ["3", "0", "1", "2"]
    assert (verdict.asked, len(verdict.votes), len(engine.requests)) == (10, 10, 2)
    assert verdict.tokens.prompt > 80


def test_shortlist_holds_at_least_three():
    second, _ = build_voting("solution")
    verdict = HybridVerifier(build_yes_no(**FALLING), second).verify(ISSUE, EIGHT[:4], votes=1)
    shortlisted = [patch.id for patch in verdict.patches if "shortlist" not in patch.reason]
    assert shortlisted == ["0", "1", "2"]


def test_progress_adds_up():
    second, _ = build_voting("solution 3;")
    progress = []
    HybridVerifier(build_yes_no(**FALLING), second).verify(
        ISSUE, EIGHT[:4], votes=2, on_vote=lambda *counts: progress.append(counts)
    )
    assert progress == [(4, 4), (6, 6)]


def test_first_verdict_stands_where_the_second_has_none():
    failing = R4PVerifier(
        RecordingEngine(ScriptLine(fail="boom", repeat=True)), prompt_template.load("r4p_group")
    )
    verdict = HybridVerifier(build_yes_no(n0=0.9, n1=0.1), failing).verify(
        ISSUE, EIGHT[:2], votes=1
    )
    assert [patch.verdict for patch in verdict.patches] == [Verdict.CORRECT, Verdict.INCORRECT]
    assert [patch.score for patch in verdict.patches] == pytest.approx([0.9, 0.1])
    assert verdict.patches[0].rank > verdict.patches[1].rank
    assert all(patch.is_preliminary for patch in verdict.patches)


def test_no_claim_without_any_opinion():
    failing = R4PVerifier(
        RecordingEngine(ScriptLine(fail="boom", repeat=True)), prompt_template.load("r4p_group")
    )
    verdict = HybridVerifier(failing, failing).verify(
        ISSUE, [EIGHT[0], Patch(PatchId("e"), "")], votes=1
    )
    assert [patch.verdict for patch in verdict.patches] == [Verdict.UNSURE, Verdict.NOT_JUDGED]
    assert [patch.score for patch in verdict.patches] == [None, None]


def test_earlier_votes_count_once_for_their_verifier():
    first, _ = build_voting("solution 1;", name=PointwiseVerifier)
    second, engine = build_voting("solution 1;")
    hybrid = HybridVerifier(first, second)
    earlier = hybrid.verify(ISSUE, EIGHT[:2], votes=2).votes
    asked = len(engine.requests)
    again = hybrid.verify(ISSUE, EIGHT[:2], votes=1, earlier=earlier)
    assert again.votes[: len(earlier)] == earlier
    assert len(again.votes) == len(earlier) + 2 + 1
    assert len(engine.requests) - asked == 1
    assert again.patches[1].votes == VoteCount(correct=3)


class TestsRun:
    """An execution-based verifier in the making: the share of tests that each patch passes, without an engine."""

    __test__ = False
    engine = EngineInfo("pytest", "8 tests", "0" * 12)

    def __init__(self, evidence=None, **passing):
        self.evidence = evidence
        self.passing = {name.lstrip("n"): share for name, share in passing.items()}

    def verify(self, _issue, candidates, *, votes, earlier=(), on_vote=None, keep_going=None):
        patches = tuple(
            PatchVerdict(
                candidate.id,
                Verdict.CORRECT if self.passing[candidate.id] == 1 else Verdict.INCORRECT,
                VoteCount(),
                f"{self.passing[candidate.id]:.0%} of the tests pass",
                Coverage(1, 1),
                score=self.passing[candidate.id],
                evidence=self.evidence,
            )
            for candidate in reversed(candidates)  # answers come as they are ready
        )
        parts = tuple((candidate.id,) for candidate in candidates)
        return GroupVerdict(patches, self.engine, tuple(earlier), 0, parts, Tokens(), 0, 0)


def test_execution_verifier_decides_the_shortlist_and_the_first_breaks_ties():
    tests = TestsRun(n0=0.5, n1=1, n2=1, n3=0.5)
    verdict = HybridVerifier(build_yes_no(**FALLING), tests).verify(ISSUE, EIGHT, votes=1)
    ranks = {patch.id: patch.rank for patch in verdict.patches}
    assert sorted(ranks, key=ranks.get, reverse=True)[:4] == ["1", "2", "0", "3"]
    assert verdict.patches[1].reason == "100% of the tests pass"
    assert verdict.engine.name == "scripted + pytest"
    assert verdict.patches[5].verdict is Verdict.INCORRECT  # 40 %, by the first alone


def test_what_tests_found_stays_in_the_reason_when_a_reader_decides():
    tests = TestsRun(ObservedEvidence(), n0=1, n1=0.5)
    verdict = HybridVerifier(tests, build_yes_no(**FALLING)).verify(ISSUE, EIGHT[:2], votes=1)
    reasons = {patch.id: patch.reason for patch in verdict.patches}
    assert reasons["0"].startswith("100% of the tests pass ")
    assert reasons["1"].startswith("50% of the tests pass ")
    assert all(patch.evidence for patch in verdict.patches)


def test_engine_joins_different_names():
    one, _ = build_voting("x")
    other = build_yes_no(n0=0.5)
    assert HybridVerifier(one, one).engine.name == "scripted"
    mixed = HybridVerifier(one, other).engine
    assert mixed.model == "script"
    assert mixed.prompt_fingerprint not in {
        one.engine.prompt_fingerprint,
        HybridVerifier(other, one).engine.prompt_fingerprint,
    }
    renamed = RecordingEngine()
    renamed.model = "big"
    big = R4PVerifier(renamed, prompt_template.load("r4p_group"))
    assert HybridVerifier(one, big).engine.model == "script + big"
