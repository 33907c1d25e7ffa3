"""Best@K of sets that are judged anew, in exact numbers."""

import json
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from math import comb
from statistics import fmean

import jsonschema_rs
import pytest

from model.catalog import load_verifier
from model.domain import Verdict, VoteCount
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.evaluation.best_of.best_of_document import DOCUMENT_ADAPTER, build_best_of, read_choice
from model.evaluation.best_of.candidate_sets import draw_sets
from model.evaluation.bootstrap import Estimate
from model.evaluation.judge_catalog import build_judge
from model.voting.selection import compute_best_at_k
from tests.model.evaluation.best_of.test_candidate_sets import build_group
from tests.model.evaluation.builders import cast_vote, make_judged_group, set_edits

SCHEMA = json.loads((files("model.evaluation.best_of") / "best_of.schema.json").read_text())


def measure(groups, sizes, draws, *lines, verifier="pointwise", votes=1):
    drawn = draw_sets(groups, sizes, draws)
    judge = build_judge(verifier, load_verifier(verifier, ScriptedEngine(lines)), votes)
    document = build_best_of(drawn, map(judge.judge, drawn.to_judge), judge)
    jsonschema_rs.validator_for(SCHEMA).validate(json.loads(DOCUMENT_ADAPTER.dump_json(document)))
    return {point.k: point for point in document.points}


def accept(*names):
    """A judge that accepts the candidates with these texts, and no other."""
    return ScriptLine(box_containing=tuple(f"+{name}." for name in names), repeat=True)


def test_every_set_judged_anew_gives_the_exact_best_at_k():
    """A judge of single patches does not see rivals, so re-judging every set gives the formula's value."""
    group = build_group(True, False, False, True, False)
    accepted = {2, 3, 4}
    points = measure([group], (1, 2, 3, 4, 5), 99, accept(*(f"o__r-1 {at}" for at in accepted)))
    scores = [(float(at in accepted), at in {1, 4}) for at in range(1, 6)]
    for k, point in points.items():
        if k > 1:
            assert point.resolved.value == pytest.approx(compute_best_at_k(scores, k), abs=1e-6)
        assert point.random.value == pytest.approx(2 / 5)
        assert point.oracle.value == pytest.approx(1 - comb(3, k) / comb(5, k), abs=1e-6)
        assert (point.issues, point.too_few, point.unknown) == (1, 0, 0)
        assert point.sets == comb(5, k)
    # by hand for K = 2: {1,5} ties at 0; {1,2}, {1,3}, {2,5}, {3,5} pick a wrong one; {2,3} too; 4 ties with 2 and 3
    assert points[2].resolved.value == pytest.approx((0.5 + 1 + 1 + 0.5 + 0.5) / 10)
    assert points[1].resolved == points[1].random == points[1].oracle
    assert points[1].gain.value == 0


def test_choice_no_better_than_chance_gains_exactly_nothing():
    """A gain is a difference, so the interval of a share of 0 would claim a gain that nobody measured."""
    groups = [build_group(True, False, issue=f"o__r-{at}") for at in range(5)]
    points = measure(groups, (1, 2), 1, accept())
    assert points[1].gain == points[2].gain == Estimate(0.0, 0.0, 0.0)
    assert points[2].oracle.low == pytest.approx(5 / (5 + 1.959964**2), abs=1e-6)  # Wilson's, of 5


def test_two_rounds_are_asked_about_each_set():
    """Round one accepts 1 and 2, and round two prefers 2: it wins wherever it is drawn, else 1, else nobody knows."""
    group = build_group(False, True, False, True)
    final = ScriptLine(when="most likely", box_containing=("+o__r-1 2.",), repeat=True)
    points = measure(
        [group], (2,), 99, final, accept("o__r-1 1", "o__r-1 2"), verifier="r4p-two-rounds"
    )
    # {1,2} {2,3} {2,4}: 2, correct. {1,3} {1,4}: 1, wrong. {3,4}: both refused and tied, one of them correct; round two
    # boxes neither, which is no readable choice of one patch, so the tie stays open
    assert (points[2].sets, points[2].unknown) == (5, 1)
    assert points[2].resolved.value == pytest.approx(3 / 5)


def test_each_issue_counts_the_same_and_small_ones_are_left_out():
    large = build_group(True, True, True, False, issue="o__r-1")
    small = build_group(False, False, issue="o__r-2")
    points = measure([large, small], (2, 4), 99, accept("o__r-1 1"))
    # six sets of the large issue: 1 is picked in three, and of the others {2,3} {2,4} {3,4} tie at 1, 1/2 and 1/2
    assert points[2].resolved.value == pytest.approx(((3 + 1 + 0.5 + 0.5) / 6 + 0) / 2, abs=1e-6)
    assert (points[2].issues, points[2].too_few, points[2].sets) == (2, 0, 7)
    assert (points[4].issues, points[4].too_few, points[4].sets) == (1, 1, 1)
    assert points[4].resolved.value == 1.0
    assert points[4].resolved.low is None  # one issue says nothing of others
    assert points[2].gain.value == pytest.approx(
        points[2].resolved.value - points[2].random.value, abs=1e-6
    )


def test_interval_draws_issues():
    """100 issues, of which the judge resolves 60: the interval is that of a share of 100."""
    groups = [build_group(at < 60, at >= 60, issue=f"o__r-{at}") for at in range(100)]
    points = measure(groups, (2,), 1, accept(*(f"o__r-{at} 1" for at in range(100))))
    assert points[2].resolved.value == 0.6
    assert points[2].resolved.low == pytest.approx(0.6 - 1.96 * 0.049, abs=0.02)
    assert points[2].resolved.high == pytest.approx(0.6 + 1.96 * 0.049, abs=0.02)
    assert points[2].random.value == 0.5
    assert points[2].oracle.value == 1.0


def test_failed_judgements_are_unknown_and_not_wrong():
    groups = [build_group(True, False, issue=f"o__r-{at}") for at in range(3)]
    broken = ScriptLine(when="o__r-2", fail="out of memory", repeat=True)
    points = measure(groups, (2,), 1, broken, accept("o__r-0 1", "o__r-1 1"))
    assert (points[2].issues, points[2].sets, points[2].unknown) == (2, 2, 1)
    assert points[2].resolved.value == points[2].oracle.value == 1.0
    every = measure(groups, (2,), 1, replace(broken, when=""))
    assert (every[2].issues, every[2].unknown, every[2].resolved.value) == (0, 3, None)


def judge_with(*pairs, votes=(), asked=0, edits=None, unread=(), failed=1):
    group = make_judged_group("a", *pairs, votes=votes, asked=asked)
    group = set_edits(group, edits or "abcdefgh"[: len(pairs)])
    patches = (
        replace(patch, verdict=Verdict.UNSURE, votes=VoteCount(none=failed))
        if at in unread
        else patch
        for at, patch in enumerate(group.patches, 1)
    )
    return replace(group, patches=tuple(patches))


YES, NO = cast_vote(["candidate-1"]), cast_vote(None)


@pytest.mark.parametrize(
    ("judged", "choice"),
    [
        (judge_with((0.9, True), (0.2, False)), 1.0),
        (judge_with((0.2, True), (0.9, False)), 0.0),
        (judge_with((0.5, True), (0.5, False), (0.5, False)), 1 / 3),
        (judge_with((None, True), (0.1, False)), 0.0),  # too long to be judged
        (judge_with((None, True), (None, False)), None),
        (judge_with((None, True), (0.9, False), unread=[1]), None),  # it might have won
        (
            judge_with((None, True), (0.9, False), unread=[1], failed=0),
            None,
        ),  # a reward model has no votes
        (judge_with((0.9, True), (0.2, False), votes=[YES, NO], asked=2), 1.0),
        (judge_with((0.5, True), (0.5, False), votes=[YES, NO], asked=2), None),
        (judge_with((0.5, True), (0.5, True), votes=[YES, NO], asked=2, edits="aa"), 1.0),
        (judge_with((0.5, True), (0.5, True), votes=[YES, NO], asked=2, edits="  "), None),
    ],
)
def test_choice_is_unknown_where_an_unread_vote_leaves_it_open(judged, choice):
    assert read_choice(judged) == choice


def test_tie_of_all_pairs_is_a_random_pick():
    group = build_group(True, False, False)
    points = measure([group], (2,), 99, accept())
    by_hand = fmean(fmean(pair) for pair in combinations([1, 0, 0], 2))
    assert points[2].resolved.value == points[2].random.value == pytest.approx(by_hand, abs=1e-6)
