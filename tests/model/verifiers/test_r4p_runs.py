"""The R4P verifier continues earlier runs and skips superfluous votes."""

from model.domain import Verdict, VoteCount
from model.engines.scripted import ScriptLine
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine
from tests.model.verifiers.test_r4p import ISSUE, RIGHT_IS_A, A, B, C, judge, verdicts, verifier


def test_later_run_continues_the_plan_and_counts_all_votes():
    whole, rest = (
        RecordingEngine(RIGHT_IS_A),
        RecordingEngine(ScriptLine(box_containing=(), repeat=True)),
    )
    patches = [build_patch(str(n), f"solution {n}") for n in range(5)]
    verifier(whole).verify(ISSUE, patches, votes=5)
    earlier = verifier(RecordingEngine(RIGHT_IS_A)).verify(ISSUE, patches, votes=3)
    progress = []
    verdict = verifier(rest).verify(
        ISSUE,
        patches,
        votes=2,
        earlier=earlier.votes,
        on_vote=lambda *counts: progress.append(counts),
    )
    assert rest.requests == whole.requests[6:]
    assert verdict.votes[:6] == earlier.votes
    assert (verdict.asked, verdict.valid, progress) == (10, 10, [(4, 4)])
    assert {patch.votes.valid for patch in verdict.patches} == {5}
    assert verdict.partition == earlier.partition


def test_failed_earlier_vote_stays_none():
    earlier = judge([A, B], ScriptLine(fail="boom"), votes=1)
    verdict = judge([A, B], RIGHT_IS_A, votes=2, earlier=earlier.votes)
    assert verdict.patches[0].votes == VoteCount(correct=2, none=1)


def judge_with_early_stop(lines, patches, votes, **options):
    engine = RecordingEngine(*lines)
    verdict = verifier(engine, stop_early=True).verify(ISSUE, patches, votes=votes, **options)
    return engine, verdict


def test_skips_and_counts_superfluous_votes():
    progress = []
    engine, verdict = judge_with_early_stop(
        [RIGHT_IS_A], [A, B], votes=5, on_vote=lambda *counts: progress.append(counts)
    )
    assert [len(batch) for batch in engine.batches if batch] == [3]
    assert (verdict.asked, verdict.valid, verdict.spared) == (3, 3, 2)
    assert progress == [(3, 3)]
    assert verdicts(verdict) == {"a": Verdict.CORRECT, "b": Verdict.INCORRECT}
    assert verdict.patches[0].votes == VoteCount(correct=3)


def test_disagreeing_votes_are_all_requested():
    engine, verdict = judge_with_early_stop(
        [ScriptLine(box_containing=("solution a",)), ScriptLine(box_containing=()), RIGHT_IS_A],
        [A],
        votes=5,
    )
    assert [len(batch) for batch in engine.batches if batch] == [3, 1]
    assert (verdict.spared, verdict.patches[0].votes) == (1, VoteCount(correct=3, incorrect=1))
    _, whole = judge_with_early_stop(
        [ScriptLine(fail="boom"), ScriptLine(fail="boom"), RIGHT_IS_A], [A], votes=5
    )
    assert (whole.spared, whole.patches[0].votes) == (0, VoteCount(correct=3, none=2))


def test_decided_part_stops_by_itself():
    patches = [build_patch(str(n), f"solution {n};") for n in range(6)]
    engine, verdict = judge_with_early_stop(
        [ScriptLine(box_containing=("3;",), repeat=True)], patches, votes=3
    )
    assert (len(engine.requests), verdict.asked, verdict.spared) == (4, 4, 2)
    assert {patch.votes.valid for patch in verdict.patches} == {2}


def test_later_run_skips_votes_that_earlier_votes_decided():
    earlier = judge([A, B], RIGHT_IS_A, votes=9).votes
    engine, verdict = judge_with_early_stop([RIGHT_IS_A], [A, B], votes=3, earlier=earlier)
    assert (engine.requests, verdict.asked, verdict.spared) == ([], 9, 3)
    assert verdict.votes == earlier
    assert verdict.patches[0].votes == VoteCount(correct=9)


def test_votes_of_another_group_are_returned_and_not_counted():
    foreign = judge([A, B], ScriptLine(box_containing=(), repeat=True), votes=2).votes
    verdict = judge([A, B, C], RIGHT_IS_A, votes=1, earlier=foreign)
    assert verdict.votes[:2] == foreign
    assert verdict.patches[0].votes == VoteCount(correct=1)
