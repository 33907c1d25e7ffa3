"""The verifier `swiss` compares pairs by standings, replays earlier votes, and claims nothing."""

from dataclasses import replace

import pytest

from model import catalog
from model.domain import Issue, PatchId, Verdict
from model.engines.scripted import ScriptLine
from model.errors import Cancelled, EngineDown
from tests.model.builders import build_patch
from tests.model.fake_engines import RecordingEngine

ISSUE = Issue("It breaks", "when the list is empty")
A, B, C, D = PATCHES = [build_patch(name, f"solution {name}") for name in "abcd"]
MERIT = [
    ScriptLine(when=f"solution {name}", box_containing=(f"solution {name}",), repeat=True)
    for name in "cadb"
]


def judge(patches, *lines, votes=3, **options):
    engine = RecordingEngine(*lines)
    verdict = catalog.load_verifier("swiss", engine).verify(ISSUE, patches, votes=votes, **options)
    return engine, verdict


def list_scores(verdict):
    return {patch.id: patch.score for patch in verdict.patches}


def test_order_of_merit_is_ranked_within_the_budget():
    engine, verdict = judge(PATCHES, *MERIT)
    scores = list_scores(verdict)
    assert max(scores, key=scores.get) == "c"
    assert min(scores, key=scores.get) == "b"
    assert len(engine.requests) == verdict.asked == 3 * 4
    assert {patch.verdict for patch in verdict.patches} == {Verdict.UNSURE}
    reason = verdict.patches[2].reason
    assert reason.startswith("Place 1 of 4 after ")
    assert all(len(part) == 2 for part in verdict.partition)


def test_equal_edits_are_one_player():
    twin = replace(A, id=PatchId("z"))
    engine, verdict = judge([A, B, twin], *MERIT, votes=1)
    assert len(engine.requests) == 2
    assert list_scores(verdict)["z"] == list_scores(verdict)["a"]
    assert verdict.patches[2].reason.startswith("The same edit as a. Place 1 of 2")


def test_earlier_votes_are_replayed_and_not_asked_again():
    whole_engine, whole = judge(PATCHES, *MERIT, votes=3)
    _, first = judge(PATCHES, *MERIT, votes=1)
    engine, again = judge(PATCHES, *MERIT, votes=2, earlier=first.votes)
    assert len(engine.requests) == len(whole_engine.requests) - len(first.votes)
    assert again.votes == whole.votes
    assert list_scores(again) == list_scores(whole)


def test_votes_of_another_group_are_kept_and_not_counted():
    _, foreign = judge([A, B], *MERIT, votes=1)
    _, verdict = judge(PATCHES, *MERIT, votes=1, earlier=foreign.votes)
    assert verdict.votes[:2] == foreign.votes
    assert sum(patch.votes.valid for patch in verdict.patches) == 2 * 4


@pytest.mark.parametrize("reply", ["\\boxed{1, 2}", "\\boxed{}"])
def test_box_with_both_or_none_is_a_draw(reply):
    _, verdict = judge(PATCHES, ScriptLine(reply=reply, repeat=True))
    assert set(list_scores(verdict).values()) == {0.5}


def test_failed_comparisons_are_unknown():
    _, verdict = judge(PATCHES, ScriptLine(fail="too busy", repeat=True))
    assert set(list_scores(verdict).values()) == {None}
    assert verdict.patches[0].reason == "No opinion: no comparison with a rival could be read"


def test_patch_without_a_rival_has_no_score():
    engine, verdict = judge([A], *MERIT)
    assert engine.requests == []
    assert verdict.patches[0].score is None
    assert verdict.patches[0].reason == "No opinion: no rival fits into a prompt with it"


def test_errors_are_raised():
    with pytest.raises(EngineDown):
        judge(PATCHES, ScriptLine(down="gone"))
    with pytest.raises(Cancelled):
        judge(PATCHES, *MERIT, keep_going=lambda: False)


def test_same_texts_give_the_same_votes():
    assert judge(PATCHES, *MERIT)[1].votes == judge(PATCHES[::-1], *MERIT)[1].votes
