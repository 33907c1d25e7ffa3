"""Pairwise: every two patches in both orders, and a score that no liking for a seat can move."""

import pytest

from model import prompts
from model.domain import Issue, Verdict, VoteCount
from model.engines.scripted import Line
from model.verifiers.pairwise import PairwiseVerifier
from tests.model.builders import patch
from tests.model.fakes import Recording

ISSUE = Issue("It breaks", "when the list is empty")
A, B, C, D = (patch(name, f"solution {name}") for name in "abcd")


def judge(patches, *lines, votes=1):
    engine = Recording(*lines)
    return engine, PairwiseVerifier(engine, prompts.load("pairwise")).verify(
        ISSUE, patches, votes=votes
    )


def scores(verdict):
    return {one.id: one.score for one in verdict.patches}


def test_who_wins_every_comparison_scores_one():
    engine, verdict = judge([A, B, C], Line(box_containing=("solution a",), repeat=True))
    assert len(engine.requests) == verdict.asked == 6
    assert scores(verdict) == {"a": 1, "b": 0, "c": 0}
    assert verdict.patches[0].votes == VoteCount(correct=4)
    assert {vote.seats for vote in verdict.votes} >= {("a", "b"), ("b", "a")}


@pytest.mark.parametrize("seat", [1, 2])
def test_a_judge_who_only_looks_at_the_seat_says_nothing(seat):
    _, verdict = judge([A, B, C, D], Line(reply=f"\\boxed{{{seat}}}", repeat=True), votes=2)
    assert set(scores(verdict).values()) == {0.5}
    assert {one.verdict for one in verdict.patches} == {Verdict.UNSURE}


def test_an_order_of_merit_is_found():
    lines = [
        Line(when=f"solution {one}", box_containing=(f"solution {one}",), repeat=True)
        for one in "cadb"
    ]
    _, verdict = judge([A, B, C, D], *lines)
    assert sorted("abcd", key=scores(verdict).get, reverse=True) == list("cadb")


def test_who_has_no_rival_is_compared_with_no_change():
    engine, verdict = judge([A], Line(box_containing=(), repeat=True))
    assert verdict.asked == 1
    assert "<patch-2>\n\n</patch-2>" in engine.requests[0].messages[1].content
    assert verdict.patches[0].verdict is Verdict.INCORRECT


def test_above_four_the_cost_grows_with_the_number_of_parts():
    patches = [patch(str(n), f"solution {n};") for n in range(8)]
    _, verdict = judge(patches, Line(box_containing=("solution 5;",), repeat=True), votes=2)
    assert verdict.asked == 2 * 24
    assert scores(verdict)["5"] == 1
