"""Metrics against numbers worked out by hand, and the properties that hold for any beliefs."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from model.evaluation.judgement_columns import build_columns, build_constant_columns
from model.evaluation.metrics import (
    METRICS,
    assign_bins,
    average_best_at_k,
    bin_reliability,
    compute_best_by_majority,
    compute_ece,
    compute_pair_accuracy,
    has_edits,
    split_into_bins,
)
from tests.model.evaluation.builders import cast_vote, make_judged_group, set_edits

# Accepted 0.9, 0.7, 0.8; rejected 0.2, 0.1, 0.3; tossed 0.5 and no opinion.
# Hits 0.9, 0.8 and half of 0.5: 2.5. False alarms 0.7 and half of "no opinion": 1.5.
# Misses 0.3 and half of 0.5: 1.5. Rejections 0.2, 0.1 and half of "no opinion": 2.5.
GROUPS = [
    make_judged_group("a", (0.9, True), (0.7, False), (0.2, False), (0.5, True)),
    make_judged_group("b", (0.8, True), (0.3, True), (0.1, False), (None, False)),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", 5 / 8),
        ("f1", 5 / 8),  # precision 2.5 / 4, recall 2.5 / 4
        ("exact_match", 0.0),  # a: 0.7 is wrong; b: 0.3 is wrong
        ("balanced_accuracy", 5 / 8),
        ("mcc", (2.5 * 2.5 - 1.5 * 1.5) / 16),
        # correct .9 .5 .8 .3 against incorrect .7 .2 .1 .5: 4 + (2 + half) + 4 + 2 of 16
        ("auroc", 12.5 / 16),
        # .01 .49 .04 .25 .04 .49 .01 .25
        ("brier", 1.58 / 8),
        ("claimed", 6 / 8),
        ("claimed_accuracy", 4 / 6),
        ("precision", 2 / 3),
        ("precision_when_sure", 1.0),
        # .9 and .1 are the most certain and right, then .2 and .8 right; .7 and .3 are wrong
        ("coverage_at_90", 4 / 8),
        ("best_of_group", 1.0),
        ("random", 0.5),
        ("oracle", 1.0),
    ],
)
def test_metric_matches_hand_computed_values(name, value):
    assert METRICS[name](build_columns(GROUPS)) == pytest.approx(value)


def test_exact_match_counts_tosses_by_their_chance():
    both = make_judged_group("a", (0.9, True), (0.1, False))
    one_toss = make_judged_group("b", (0.9, True), (None, False))
    assert METRICS["exact_match"](build_columns([both, one_toss])) == 0.75


def test_best_of_group_averages_ties():
    tied = make_judged_group("a", (0.9, True), (0.9, False), (0.9, False), (0.1, True))
    assert METRICS["best_of_group"](build_columns([tied])) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("patches", "coverage"),
    [
        ([(0.9, True)] * 9 + [(0.1, True)], 1.0),  # nine of ten are right, all equally certain
        ([(0.9, True)] * 8 + [(0.1, True)] * 2, 0.0),
        ([(0.95, True)] + [(0.9, False)] * 3, 0.25),
        ([(0.5, True), (None, False)], 0.0),  # a toss is no decision
    ],
)
def test_coverage_takes_equally_certain_patches_together(patches, coverage):
    assert METRICS["coverage_at_90"](build_columns([make_judged_group("a", *patches)])) == coverage


def test_ece_is_the_gap_of_bins_of_equal_mass():
    # two levels of five patches: 0.8 of which 3 are correct, 0.1 of which none is
    sure = make_judged_group("a", *[(0.8, True)] * 3, *[(0.8, False)] * 2)
    no = make_judged_group("b", *[(0.1, False)] * 5)
    assert compute_ece(build_columns([sure, no])) == pytest.approx((0.2 + 0.1) / 2)
    beliefs = build_columns([sure, no]).belief
    assert sorted(set(assign_bins(beliefs))) == [2, 7]  # equal beliefs share a bin


def test_missing_belief_is_in_no_bin():
    sure = make_judged_group("a", *[(0.8, True)] * 4, (0.8, False))
    silent = make_judged_group("b", *[(None, True)] * 5)
    columns = build_columns([sure, silent])
    assert compute_ece(columns) == pytest.approx(0)
    assert [list(one) for one in bin_reliability(columns)] == [[0, 1, 2, 3, 4]]
    assert math.isnan(compute_ece(build_columns([silent])))
    assert bin_reliability(build_columns([silent])) == []


def test_bins_have_every_patch_once_and_are_not_empty():
    low, high = split_into_bins(np.array([0.8, 0.1, 0.8, 0.1, 0.8]))
    assert (list(low), list(high)) == ([1, 3], [0, 2, 4])
    assert split_into_bins(np.array([])) == []


def test_format_and_forced_shares_are_of_all_votes():
    votes = [cast_vote([]), cast_vote(["candidate-1"], forced=True), cast_vote(None, forced=True)]
    group = make_judged_group("a", (0.5, True), votes=votes, asked=4)
    assert METRICS["format_valid"](build_columns([group])) == 0.5
    assert METRICS["forced"](build_columns([group])) == 0.25


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        # .9 .5 against .7 .2: won, won, lost, won
        ([(0.9, True), (0.7, False), (0.2, False), (0.5, True)], 3 / 4),
        # .8 .3 against .1 and no opinion: all won
        ([(0.8, True), (0.3, True), (0.1, False), (None, False)], 1),
        ([(0.5, True), (0.5, False)], 1 / 2),
        ([(None, True), (None, False), (0.0, False)], 1 / 4),
    ],
)
def test_pair_accuracy_by_hand(pairs, value):
    assert compute_pair_accuracy(make_judged_group("a", *pairs)) == value


def test_pair_accuracy_follows_the_rank():
    group = make_judged_group("a", (0.9, True), (0.1, False))
    ranked = [
        replace(patch, rank=rank) for patch, rank in zip(group.patches, (0.5, 1.0), strict=True)
    ]
    assert compute_pair_accuracy(replace(group, patches=tuple(ranked))) == 0
    assert math.isnan(compute_pair_accuracy(make_judged_group("a", (0.9, True))))


def test_metric_without_data_is_nan():
    unsure = build_columns([make_judged_group("a", (0.5, True))])
    undefined = {name for name, metric in METRICS.items() if math.isnan(metric(unsure))}
    assert undefined == {
        "auroc",
        "balanced_accuracy",
        "claimed_accuracy",
        "precision",
        "precision_when_sure",
        "format_valid",
        "forced",
    }
    nothing = build_columns([])
    assert math.isnan(METRICS["accuracy"](nothing))
    assert math.isnan(METRICS["ece"](nothing))


@pytest.mark.parametrize(
    ("belief", "accuracy", "f1", "exact"),
    [(1.0, 0.25, 0.4, 0.0), (0.0, 0.75, 0.0, 0.0), (0.5, 0.5, 1 / 3, 1 / 16)],
)
def test_constant_predictor_has_the_metrics_of_the_labels(belief, accuracy, f1, exact):
    same = build_constant_columns([make_judged_group("a", (0, True), *[(1, False)] * 3)], belief)
    assert METRICS["accuracy"](same) == accuracy
    assert METRICS["f1"](same) == pytest.approx(f1)
    assert METRICS["exact_match"](same) == exact
    assert METRICS["mcc"](same) == 0.0


def test_probability_counts_before_the_score():
    group = make_judged_group("a", (0.9, False))
    calm = replace(group, patches=(replace(group.patches[0], probability=0.2),))
    assert METRICS["accuracy"](build_columns([group])) == 0.0
    assert METRICS["accuracy"](build_columns([calm])) == 1.0


def test_best_of_k_is_the_mean_over_every_draw():
    # of the 3 pairs of .9 (wrong), .5 (right), .1 (right): wrong, wrong, right
    group = make_judged_group("a", (0.9, False), (0.5, True), (0.1, True))
    assert [average_best_at_k([group], k) for k in (1, 2, 3)] == pytest.approx([2 / 3, 1 / 3, 0])
    assert math.isnan(average_best_at_k([group], 4))


beliefs = st.none() | st.floats(0, 1, allow_nan=False)
some_groups = st.lists(
    st.lists(st.tuples(beliefs, st.booleans()), min_size=1, max_size=5), min_size=1, max_size=6
).map(lambda rows: [make_judged_group(str(at), *pairs) for at, pairs in enumerate(rows)])


@given(some_groups, st.randoms(use_true_random=False))
def test_metrics_do_not_depend_on_the_order(groups, randomness: random.Random):
    shuffled = [
        replace(group, patches=tuple(randomness.sample(group.patches, len(group.patches))))
        for group in randomness.sample(groups, len(groups))
    ]
    for name, metric in METRICS.items():
        assert metric(build_columns(shuffled)) == pytest.approx(
            metric(build_columns(groups)), nan_ok=True, abs=1e-9
        ), name


@given(some_groups)
def test_metrics_are_shares_and_mcc_a_correlation(groups):
    for name, metric in METRICS.items():
        value = metric(build_columns(groups))
        lowest = -1 if name == "mcc" else 0
        assert math.isnan(value) or lowest - 1e-9 <= value <= 1 + 1e-9, name


@given(some_groups)
def test_best_of_all_is_best_of_group_and_of_one_is_random(groups):
    for group in groups:
        columns = build_columns([group])
        assert average_best_at_k([group], len(group.patches)) == pytest.approx(
            METRICS["best_of_group"](columns)
        )
        assert average_best_at_k([group], 1) == pytest.approx(METRICS["random"](columns))


def test_metrics_equal_scikit_learns():
    drawn = random.Random(7)
    rows = [
        [(drawn.choice((0.2, 0.4, 0.7, drawn.random())), drawn.random() < 0.4)] for _ in range(300)
    ]
    columns = build_columns([make_judged_group(str(at), *row) for at, row in enumerate(rows)])
    decided = columns.belief > 0.5
    for name, value in {
        "accuracy": oracle.accuracy_score(columns.label, decided),
        "f1": oracle.f1_score(columns.label, decided),
        "balanced_accuracy": oracle.balanced_accuracy_score(columns.label, decided),
        "mcc": oracle.matthews_corrcoef(columns.label, decided),
        "auroc": oracle.roc_auc_score(columns.label, columns.belief),
        "brier": oracle.brier_score_loss(columns.label, columns.belief),
    }.items():
        assert METRICS[name](columns) == pytest.approx(value), name


def test_majority_takes_the_most_frequent_edit():
    group = set_edits(make_judged_group("a", *[(0.1, True)] * 2, *[(0.9, False)] * 2), "aabc")
    assert compute_best_by_majority(group, 4) == 1
    assert compute_best_by_majority(group, 1) == 0.5
    # of the six pairs, the two of one edit are correct, four are mixed ties, one has none
    assert compute_best_by_majority(group, 2) == pytest.approx((1 + 4 * 0.5 + 0) / 6)
    assert (
        average_best_at_k([group, make_judged_group("b", (0.5, True))], 3, compute_best_by_majority)
        == compute_best_by_majority(group, 3)
        == 0.5 * (1 + 1 / 3)
    )


def test_majority_of_unreadable_patches_is_random():
    assert (
        compute_best_by_majority(
            set_edits(make_judged_group("a", (0.9, True), (0.1, False)), "  "), 2
        )
        == 0.5
    )
    assert (
        compute_best_by_majority(
            set_edits(make_judged_group("a", (0.9, True), (0.1, False)), " a"), 2
        )
        == 0
    )


def test_older_file_has_no_edits():
    old = make_judged_group("a", (0.9, True), (0.1, False))
    assert not has_edits([old])
    assert has_edits([set_edits(old, "a ")])
    assert not has_edits([set_edits(old, "ab"), old])
