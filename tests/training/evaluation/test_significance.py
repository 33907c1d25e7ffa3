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


def build_rows(*counts):
    """Issues with so many patches each, and one group each."""
    ends = np.cumsum(counts)
    patches = tuple(np.arange(end - count, end) for end, count in zip(ends, counts, strict=True))
    return IssueRows(patches, tuple(np.array([at]) for at in range(len(counts))))


def mean_function(values):
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
def test_mcnemar_p_is_exact(only_one, only_other, two_sided, is_worse):
    assert compute_mcnemar_p(only_one, only_other) == pytest.approx(two_sided, abs=1e-15)
    assert compute_worse_p(only_one, only_other) == pytest.approx(is_worse, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "p = 1.000"), (0.001, "p = 0.001"), (2.0**-30, "p < 0.001")]
)
def test_p_value_is_never_formatted_as_zero(p, text):
    assert format_p_value(p) == text


def test_discordant_decisions_are_counted():
    assert count_discordant([True, True, False, False], [True, False, True, False]) == (1, 1)
    with pytest.raises(ValueError, match="zip"):
        count_discordant([True], [])


def test_shared_noise_has_no_difference():
    noisy = np.random.default_rng(0).normal(0, 10, 40)
    issue_rows = build_rows(*[1] * 40)
    estimate = bootstrap_differences(
        {"m": mean_function(noisy + 0.5)}, {"m": mean_function(noisy)}, issue_rows
    )["m"]
    assert estimate.value == pytest.approx(0.5)
    assert (estimate.low, estimate.high) == (pytest.approx(0.5), pytest.approx(0.5))
    alone = bootstrap_estimates({"m": mean_function(noisy)}, issue_rows)["m"]
    assert alone.high - alone.low > 4


def test_bootstrap_draws_issues():
    alike = mean_function([1] * 50 + [0] * 50)
    few = bootstrap_estimates({"m": alike}, build_rows(50, 50))["m"]
    many = bootstrap_estimates({"m": alike}, build_rows(*[1] * 100))["m"]
    assert (few.low, few.high) == (0.0, 1.0)
    assert (many.low, many.high) == (pytest.approx(0.40, abs=0.02), pytest.approx(0.60, abs=0.02))


def test_constant_share_has_a_wilson_interval():
    estimate = bootstrap_estimates(
        {"m": mean_function([1] * 10)}, build_rows(*[1] * 10), shares=["m"]
    )["m"]
    assert (estimate.low, estimate.high) == (pytest.approx(0.7225, abs=1e-4), pytest.approx(1.0))


def test_share_counts_issues_with_data():
    counted = np.array([True] * 4 + [False] * 6)

    def share(patches, _groups):
        return 0.0 if counted[patches].any() else math.nan

    estimate = bootstrap_estimates({"m": share}, build_rows(*[1] * 10), shares=["m"])["m"]
    assert (estimate.low, estimate.high) == (0.0, pytest.approx(0.4899, abs=1e-4))


def test_interval_of_a_difference_covers_the_truth():
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(60):
        candidate, champion = generator.normal(0.3, 1, 60), generator.normal(0, 1, 60)
        estimate = bootstrap_differences(
            {"m": mean_function(candidate)}, {"m": mean_function(champion)}, build_rows(*[1] * 60)
        )["m"]
        covered += estimate.low <= 0.3 <= estimate.high
    assert covered >= 52


def test_undefined_metric_stays_unknown():
    nowhere = {"m": lambda _patches, _groups: math.nan}
    assert bootstrap_estimates(nowhere, build_rows(1, 1))["m"].value is None
