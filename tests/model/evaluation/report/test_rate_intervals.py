"""Rates by issue: the same draws, and so the same intervals, as the metrics of a run."""

import numpy as np
import pytest

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import build_document
from model.evaluation.judgement_columns import build_columns, score_decisions, to_array
from model.evaluation.report.rate_intervals import estimate_means, estimate_rates, number_names
from tests.model.evaluation.report.builders import build_run


def test_the_accuracy_of_one_bin_is_that_of_the_document_with_its_interval():
    judged = build_run()
    of = build_columns(judged)
    issue = number_names([group.instance_id for group in judged for _ in group.patches])
    bins = np.zeros(len(of.label), dtype=np.intp)
    (found,) = estimate_means(score_decisions(of.belief, of.label), bins, 1, issue)
    told = build_document(judged)["accuracy"]
    assert (found.value, found.low, found.high) == pytest.approx(
        (told["value"], told["low"], told["high"]), abs=1e-6
    )


def test_bins_part_the_values_and_a_negative_one_counts_nowhere():
    issue = number_names(["a", "b", "a", "b", "a"])
    found = estimate_means(to_array([1, 0, 0, 0, 1]), np.asarray([0, 0, 1, 1, -1]), 3, issue)
    assert [one.value for one in found] == [0.5, 0.0, None]
    assert (found[0].low, found[0].high) == (0.0, 1.0)
    assert found[2] == Estimate(None, None, None)


def test_one_issue_gives_no_interval():
    found = estimate_means(
        to_array([1, 0, 1]), np.asarray([0, 0, 1]), 2, number_names(["a", "a", "b"])
    )
    assert found == [Estimate(0.5, None, None), Estimate(1.0, None, None)]


def test_a_rate_weighs_issues_by_what_they_hold():
    tops, bottoms = to_array([3, 0])[:, None], to_array([3, 1])[:, None]
    (found,) = estimate_rates(tops, bottoms, number_names(["a", "b"]))
    assert found.value == 0.75


def test_names_are_numbered_as_they_appear():
    assert list(number_names(["b", "a", "b", "c"])) == [0, 1, 0, 2]
