"""Intervals: whole issues are drawn, the same ones for both of a pair, and the truth is covered."""

import random

import numpy as np
import pytest

from model.evaluation.bootstrap import (
    Estimate,
    compute_effective_size,
    compute_interval,
    estimate_differences,
    estimate_metrics,
    index_issues,
)
from model.evaluation.judgement_columns import build_columns
from model.evaluation.metrics import METRICS, compute_accuracy
from model.evaluation.wilson import compute_wilson_interval
from tests.model.evaluation.builders import make_judged_group


def draw_groups(count, right, seed=0, each=1):
    """Issues whose patches are all judged rightly with a chance of `right`, or all wrongly."""
    drawn = random.Random(seed)
    return [
        make_judged_group(str(at), *[(0.9 if drawn.random() < right else 0.1, True)] * each)
        for at in range(count)
    ]


def estimate(judged, metric=compute_accuracy, seed=0):
    return estimate_metrics(build_columns(judged), index_issues(judged), {"it": metric}, seed=seed)[
        "it"
    ]


def test_interval_of_a_share_is_near_the_textbooks():
    estimated = estimate(draw_groups(400, 0.7))
    half = 1.96 * (estimated.value * (1 - estimated.value) / 400) ** 0.5
    assert estimated.low == pytest.approx(estimated.value - half, abs=0.01)
    assert estimated.high == pytest.approx(estimated.value + half, abs=0.01)


def test_more_patches_per_issue_do_not_narrow_the_interval():
    once, many = estimate(draw_groups(100, 0.7)), estimate(draw_groups(100, 0.7, each=5))
    assert many.high - many.low == pytest.approx(once.high - once.low, abs=1e-9)


def test_equal_issues_have_no_spread():
    groups = [
        make_judged_group(issue, (0.9, number % 2 == 0), number=number)
        for issue in ("same", "like it")
        for number in range(10)
    ]
    assert estimate(groups) == Estimate(0.5, 0.5, 0.5)


def test_groups_of_one_issue_give_no_interval():
    groups = [
        make_judged_group("same", (0.9, number % 2 == 0), number=number) for number in range(10)
    ]
    assert estimate(groups) == Estimate(0.5, None, None)
    rows = next(index_issues(groups).sample_draws(0))
    assert [list(one) for one in rows] == [list(range(10))] * 2


def test_seed_decides_the_drawn_issues():
    judged = draw_groups(60, 0.6)
    assert estimate(judged) == estimate(judged)
    drawn = [next(index_issues(judged).sample_draws(seed))[0].tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_undefined_metric_has_no_interval():
    judged = [make_judged_group("a", (0.5, True))]
    assert estimate(judged, METRICS["auroc"]) == Estimate(None, None, None)


def test_draws_with_an_undefined_metric_are_left_out():
    judged = [make_judged_group("a", (0.9, True)), make_judged_group("b", (0.1, False))]
    assert estimate(judged, METRICS["auroc"]) == Estimate(1.0, 1.0, 1.0)


def test_intervals_cover_the_truth_at_their_rate():
    covered = sum(
        estimated.low <= 0.7 <= estimated.high
        for estimated in (
            estimate(draw_groups(120, 0.7, seed=seed), seed=seed) for seed in range(60)
        )
    )
    assert covered >= 52  # of 57 expected


def test_pair_is_compared_on_the_same_issues():
    weak = draw_groups(200, 0.6)
    better = [
        make_judged_group(
            group.instance_id, (0.9 if at % 10 == 0 else group.patches[0].score, True)
        )
        for at, group in enumerate(weak)
    ]
    gain = estimate_differences(better, weak, {"accuracy": compute_accuracy})["accuracy"]
    alone = estimate(better), estimate(weak)
    assert gain.value == pytest.approx(alone[0].value - alone[1].value)
    assert 0 < gain.low < gain.value < gain.high
    assert gain.high - gain.low < (alone[0].high - alone[0].low) / 2


def test_only_common_groups_are_compared():
    left = [make_judged_group("a", (0.9, True)), make_judged_group("b", (0.9, True))]
    right = [make_judged_group("b", (0.1, True)), make_judged_group("c", (0.9, True))]
    assert (
        estimate_differences(left, right, {"accuracy": compute_accuracy})["accuracy"].value == 1.0
    )
    with pytest.raises(ValueError, match="share no group"):
        estimate_differences(left, right[1:], {"accuracy": compute_accuracy})


def test_wilson_interval_matches_the_textbook():
    assert compute_wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert compute_wilson_interval(0, 0) == (0.0, 1.0)
    assert compute_wilson_interval(0, 5)[0] == 0.0
    assert compute_wilson_interval(5, 5)[1] == 1.0


def test_light_issues_count_less_than_one():
    assert compute_effective_size(np.ones(12)) == 12
    assert compute_effective_size(np.asarray([1.0, 1.0, 2.0])) == pytest.approx(16 / 6)
    assert compute_effective_size(np.zeros(3)) == 0


def test_zero_rate_of_few_issues_has_a_wilson_bound():
    right = [make_judged_group(str(at), (0.9, True)) for at in range(20)]
    assert estimate(right) == Estimate(1.0, pytest.approx(compute_wilson_interval(20, 20)[0]), 1.0)
    wrong = [make_judged_group(str(at), (0.1, True)) for at in range(20)]
    assert estimate(wrong) == Estimate(0.0, 0.0, pytest.approx(0.161, abs=1e-3))
    # precision is of the issues with a claim of `correct` alone
    few = [*right[:3], *(make_judged_group(f"other {at}", (0.1, False)) for at in range(17))]
    assert estimate(few, METRICS["precision"]).low == pytest.approx(
        compute_wilson_interval(3, 3)[0]
    )


def test_metric_that_is_no_share_keeps_its_drawn_interval():
    right = [make_judged_group(str(at), (1.0, True)) for at in range(20)]
    assert estimate(right, METRICS["brier"]) == Estimate(0.0, 0.0, 0.0)
    same = estimate_differences(right, right, {"accuracy": compute_accuracy})["accuracy"]
    assert same == Estimate(0.0, 0.0, 0.0)
    assert compute_interval(0.0, np.zeros(9)) == (0.0, 0.0)
    assert compute_interval(0.0, np.zeros(9), trials=9) == compute_wilson_interval(0, 9)
