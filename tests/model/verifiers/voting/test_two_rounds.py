"""The two-rounds verifier filters in groups, then lets each vote name one patch."""

from model.domain import Issue, Verdict
from model.engines.scripted import ScriptLine
from model.prompts import prompt_template
from model.verifiers.two_rounds import MostLikelyVerifier, TwoRoundsVerifier
from model.verifiers.vote_sampling import Sampling
from model.verifiers.vote_schemes import R4PVerifier
from model.verifiers.voting_verifier import VotingOptions
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("It breaks", "when the list is empty")
SIX = [build_patch(str(n), f"solution {n};") for n in range(6)]
SECOND = "that a first review let pass"


def judge(patches, *lines, votes=2, **engine):
    engine = RecordingEngine(*lines, **engine)
    judging = VotingOptions(Sampling(stop_early=True))
    verifier = TwoRoundsVerifier(
        R4PVerifier(engine, prompt_template.load("r4p_group"), judging),
        MostLikelyVerifier(engine, prompt_template.load("most_likely"), judging),
    )
    return engine, verifier.verify(ISSUE, patches, votes=votes)


def script_passing(*numbers):
    return ScriptLine(box_containing=tuple(f"solution {n};" for n in numbers), repeat=True)


def script_naming(number):
    return ScriptLine(when=SECOND, box_containing=(f"solution {number};",), repeat=True)


def list_second_round(engine):
    return [request for request in engine.requests if SECOND in request.messages[0].content]


def test_passing_patches_share_a_prompt_and_the_named_patch_ranks_first():
    engine, verdict = judge(SIX, script_naming(4), script_passing(0, 1, 2, 4, 5))
    assert len(list_second_round(engine)) == 2
    for request in list_second_round(engine):
        assert "solution 3;" not in request.messages[1].content
        assert "<patch-5>" in request.messages[1].content
        assert "<patch-6>" not in request.messages[1].content
    verdicts = {patch.id: patch.verdict for patch in verdict.patches}
    assert verdicts == {str(n): Verdict.INCORRECT if n == 3 else Verdict.CORRECT for n in range(6)}
    ranks = {patch.id: patch.rank for patch in verdict.patches}
    assert max(ranks, key=ranks.get) == "4"
    # the belief stays what the votes of the first round said
    assert [patch.score for patch in verdict.patches] == [1, 1, 1, 0, 1, 1]
    assert verdict.patches[4].reason.startswith("2 of 2 votes name it the likeliest. 2 of 2 valid")
    assert verdict.asked == len(verdict.votes) == 6


def test_single_passing_patch_gets_no_second_round():
    engine, verdict = judge(SIX[:3], script_passing(1))
    assert list_second_round(engine) == []
    assert [patch.verdict for patch in verdict.patches].count(Verdict.CORRECT) == 1
    assert max(verdict.patches, key=lambda patch: patch.rank).id == "1"


def test_second_round_judges_all_when_no_patch_passes():
    engine, verdict = judge(SIX[:3], script_naming(2), script_passing())
    assert len(list_second_round(engine)) == 2
    assert {patch.verdict for patch in verdict.patches} == {Verdict.INCORRECT}
    assert max(verdict.patches, key=lambda patch: patch.rank).id == "2"


def test_vote_that_names_two_patches_is_no_vote():
    both = ScriptLine(when=SECOND, reply="\\boxed{1, 2}", repeat=True)
    _, verdict = judge(SIX[:2], both, script_passing(0, 1))
    assert len({patch.rank for patch in verdict.patches}) == 1
    assert "the box names 2 patches instead of one" in (verdict.votes[-1].failure or "")


def test_patch_too_long_for_the_line_up_keeps_its_first_rank():
    long = [build_patch(name, f"solution 1; {name * 6000}") for name in "xy"]
    engine, verdict = judge(
        [*SIX[:2], *long], script_naming(0), script_passing(0, 1), context_tokens=4500
    )
    assert len(list_second_round(engine)) == 2
    assert all("<patch-2>" in item.messages[1].content for item in list_second_round(engine))
    assert all("xxx" not in item.messages[1].content for item in list_second_round(engine))
    assert {patch.verdict for patch in verdict.patches} == {Verdict.CORRECT}
    assert len({patch.rank for patch in verdict.patches[2:]}) == 1


def test_first_round_ranks_when_no_two_patches_fit_together():
    long = [build_patch(name, f"solution 1; {name * 6000}") for name in "xy"]
    engine, verdict = judge([SIX[0], *long], script_passing(0, 1), context_tokens=4500)
    assert list_second_round(engine) == []
    assert len({patch.rank for patch in verdict.patches}) == 1
