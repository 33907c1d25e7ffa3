"""The pointwise verifier uses the group's prompt with one patch and has its own votes."""

from model.domain import Issue, Verdict, VoteCount
from model.engines.scripted import ScriptLine
from model.prompts import prompt_template
from model.verifiers.vote_schemes import PointwiseVerifier, R4PVerifier
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("It breaks", "when the list is empty")
A, B = (build_patch(name, f"solution {name}") for name in "ab")
RIGHT_IS_A = ScriptLine(reply="Patch 1: I read it.", box_containing=("solution a",), repeat=True)
TEMPLATE = prompt_template.load("r4p_group")


def test_each_patch_is_judged_alone():
    engine = RecordingEngine(RIGHT_IS_A)
    verdict = PointwiseVerifier(engine, TEMPLATE).verify(ISSUE, [A, B], votes=2)
    assert [(patch.id, patch.verdict, patch.score) for patch in verdict.patches] == [
        ("a", Verdict.CORRECT, 1.0),
        ("b", Verdict.INCORRECT, 0.0),
    ]
    assert {patch.votes for patch in verdict.patches} == {VoteCount(2), VoteCount(0, 2)}
    assert sorted(verdict.partition) == [("a",), ("b",)]
    assert verdict.patches[0].reason == "2 of 2 valid votes hold it correct. I read it."
    for request in engine.requests:
        assert request.messages[1].content.count("solution ") == 1
        assert "<patch-2>" not in request.messages[1].content


def test_votes_on_one_patch_differ_in_their_seed_only():
    engine = RecordingEngine(RIGHT_IS_A)
    PointwiseVerifier(engine, TEMPLATE).verify(ISSUE, [A], votes=3)
    assert len({request.messages for request in engine.requests}) == 1
    assert len({request.seed for request in engine.requests}) == 3


def test_shares_the_prompt_but_not_the_votes_of_groups():
    group = R4PVerifier(RecordingEngine(RIGHT_IS_A), TEMPLATE)
    alone = PointwiseVerifier(RecordingEngine(ScriptLine(box_containing=(), repeat=True)), TEMPLATE)
    assert alone.engine != group.engine
    earlier = group.verify(ISSUE, [A], votes=2).votes
    verdict = alone.verify(ISSUE, [A], votes=1, earlier=earlier)
    assert verdict.patches[0].votes == VoteCount(incorrect=1)
    assert verdict.votes[:2] == earlier
