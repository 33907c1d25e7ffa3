import math

import numpy as np
import pytest

from model.evaluation.bootstrap import IssueRows
from training.evaluation.significance import (
    bootstrap_differences,
    bootstrap_estimates,
    compute_mcnemar_p,
    compute_worse_p,
    count_discordant,
    format_p_value,
)


def rows(*counts):
    """Issues with so many patches each, and one group each."""
    ends = np.cumsum(counts)
    patches = tuple(np.arange(end - count, end) for end, count in zip(ends, counts, strict=True))
    return IssueRows(patches, tuple(np.array([at]) for at in range(len(counts))))


def mean_of(values):
    values = np.asarray(values, dtype=float)
    return lambda patches, _groups: float(values[patches].mean())


@pytest.mark.parametrize(
    ("only_one", "only_other", "two_sided", "is_worse"),
    [
        (0, 0, 1.0, 1.0),
        (5, 5, 1.0, 638 / 1024),
        (8, 2, 112 / 1024, 1013 / 1024),
        (2, 8, 112 / 1024, 56 / 1024),
        (0, 6, 2 / 64, 1 / 64),
    ],
)
def test_mcnemar_counts_coin_tosses_exactly(only_one, only_other, two_sided, is_worse):
    assert compute_mcnemar_p(only_one, only_other) == pytest.approx(two_sided, abs=1e-15)
    assert compute_worse_p(only_one, only_other) == pytest.approx(is_worse, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "said"), [(1.0, "p = 1.000"), (0.001, "p = 0.001"), (2.0**-30, "p < 0.001")]
)
def test_no_p_value_is_told_as_nothing(p, said):
    assert format_p_value(p) == said


def test_who_alone_is_right_is_counted():
    assert count_discordant([True, True, False, False], [True, False, True, False]) == (1, 1)
    with pytest.raises(ValueError, match="zip"):
        count_discordant([True], [])


def test_what_both_share_is_no_difference():
    noisy = np.random.default_rng(0).normal(0, 10, 40)
    by = rows(*[1] * 40)
    found = bootstrap_differences({"m": mean_of(noisy + 0.5)}, {"m": mean_of(noisy)}, by)["m"]
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == (pytest.approx(0.5), pytest.approx(0.5))
    alone = bootstrap_estimates({"m": mean_of(noisy)}, by)["m"]
    assert alone.high - alone.low > 4


def test_issues_are_drawn_and_not_patches():
    alike = mean_of([1] * 50 + [0] * 50)
    few = bootstrap_estimates({"m": alike}, rows(50, 50))["m"]
    many = bootstrap_estimates({"m": alike}, rows(*[1] * 100))["m"]
    assert (few.low, few.high) == (0.0, 1.0)
    assert (many.low, many.high) == (pytest.approx(0.40, abs=0.02), pytest.approx(0.60, abs=0.02))


def test_a_share_that_was_always_so_may_not_stay_so():
    found = bootstrap_estimates({"m": mean_of([1] * 10)}, rows(*[1] * 10), shares=["m"])["m"]
    assert (found.low, found.high) == (pytest.approx(0.7225, abs=1e-4), pytest.approx(1.0))


def test_a_share_is_of_the_issues_in_which_something_is_counted():
    counted = np.array([True] * 4 + [False] * 6)

    def share(patches, _groups):
        return 0.0 if counted[patches].any() else math.nan

    found = bootstrap_estimates({"m": share}, rows(*[1] * 10), shares=["m"])["m"]
    assert (found.low, found.high) == (0.0, pytest.approx(0.4899, abs=1e-4))


def test_the_interval_of_a_difference_covers_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(60):
        one, other = generator.normal(0.3, 1, 60), generator.normal(0, 1, 60)
        found = bootstrap_differences({"m": mean_of(one)}, {"m": mean_of(other)}, rows(*[1] * 60))[
            "m"
        ]
        covered += found.low <= 0.3 <= found.high
    assert covered >= 52


def test_what_is_not_defined_stays_unknown():
    nowhere = {"m": lambda _patches, _groups: math.nan}
    assert bootstrap_estimates(nowhere, rows(1, 1))["m"].value is None
