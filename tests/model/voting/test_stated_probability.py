"""Probabilities that a reply states beside its box, and the score that they give."""

import pytest

from model.domain import PatchId, Vote
from model.voting.boxed_answer import read_probabilities
from model.voting.votes import compute_score


@pytest.mark.parametrize(
    ("reply", "stated"),
    [
        ("It is fine. Patch 1: 0.35", {1: 0.35}),
        ("**Patch 2**: 0.9\n- patch-3: .5", {2: 0.9, 3: 0.5}),
        ("Patch 1: 35 %, Patch 2: 100%", {1: 0.35, 2: 1.0}),
        ("Patch 1: 0.2 … no, Patch 1: 0.8", {1: 0.8}),  # the last one counts
        ("Patch 1: 1.7 and patch 2: 250 %", {}),
        ("Patch 1: 12 lines change. Patch 2: 1 line. Patch 3: 0.35.1", {}),
        ("", {}),
    ],
)
def test_probability_is_read_where_it_is_stated(reply, stated):
    assert read_probabilities(reply) == pytest.approx(stated)


def cast(reply, correct, seats=("a", "b")):
    boxed = None if correct is None else frozenset(PatchId(name) for name in correct)
    return Vote(1, tuple(map(PatchId, seats)), boxed, reply)


def test_score_is_the_mean_of_what_readable_votes_state():
    votes = [
        cast("Patch 1: 0.6 Patch 2: 0.1", "a"),
        cast("Patch 1: 0.3 Patch 2: 0.8", "a", seats=("b", "a")),
        cast("Patch 1: 0.99", None),  # no box, so no vote
    ]
    assert compute_score(votes, PatchId("a")) == pytest.approx((0.6 + 0.8) / 2)
    assert compute_score(votes, PatchId("b")) == pytest.approx((0.1 + 0.3) / 2)
    assert compute_score(votes, PatchId("c")) is None


def test_vote_without_a_probability_counts_by_its_box():
    votes = [cast("no number", "a"), cast("Patch 1: 0.4 Patch 2: 0.4", "")]
    assert compute_score(votes, PatchId("a")) == pytest.approx(0.7)
    assert compute_score(votes, PatchId("b")) == pytest.approx(0.2)
