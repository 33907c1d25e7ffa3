"""Rates by issue: the same draws, and so the same intervals, as the metrics of a run."""

import numpy as np
import pytest

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import build_document
from model.evaluation.judgement_columns import build_columns, score_decisions, to_array
from model.evaluation.rate_intervals import estimate_means, estimate_rates, number_names
from tests.model.evaluation.report.builders import build_run


def test_accuracy_of_one_bin_equals_the_documents():
    judged = build_run()
    columns = build_columns(judged)
    issue = number_names([group.instance_id for group in judged for _ in group.patches])
    bins = np.zeros(len(columns.label), dtype=np.intp)
    (estimates,) = estimate_means(score_decisions(columns.belief, columns.label), bins, 1, issue)
    accuracy = build_document(judged)["accuracy"]
    assert (estimates.value, estimates.low, estimates.high) == pytest.approx(
        (accuracy["value"], accuracy["low"], accuracy["high"]), abs=1e-6
    )


def test_negative_bin_counts_nowhere():
    issue = number_names(["a", "b", "a", "b", "a"])
    estimates = estimate_means(to_array([1, 0, 0, 0, 1]), np.asarray([0, 0, 1, 1, -1]), 3, issue)
    assert [one.value for one in estimates] == [0.5, 0.0, None]
    assert (estimates[0].low, estimates[0].high) == (0.0, 1.0)
    assert estimates[2] == Estimate(None, None, None)


def test_one_issue_has_no_interval():
    estimates = estimate_means(
        to_array([1, 0, 1]), np.asarray([0, 0, 1]), 2, number_names(["a", "a", "b"])
    )
    assert estimates == [Estimate(0.5, None, None), Estimate(1.0, None, None)]


def test_rate_weighs_issues_by_their_size():
    tops, bottoms = to_array([3, 0])[:, None], to_array([3, 1])[:, None]
    (estimates,) = estimate_rates(tops, bottoms, number_names(["a", "b"]))
    assert estimates.value == 0.75


def test_names_are_numbered_in_order():
    assert list(number_names(["b", "a", "b", "c"])) == [0, 1, 0, 2]
