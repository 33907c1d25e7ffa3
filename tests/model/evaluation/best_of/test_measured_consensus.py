"""The table of re-judged Best@K in docs/evaluation.md is what consensus measures. Needs the large data: R4P_DATA."""

from pathlib import Path

import pytest

from model.evaluation.best_of.best_of_document import build_best_of
from model.evaluation.best_of.candidate_sets import DRAWS, draw_sets
from model.evaluation.evaluation_document import build_document
from model.evaluation.evaluation_run import sample_groups
from model.evaluation.judge_catalog import build_consensus_judge
from model.evaluation.labelled_group import read_groups
from model.evaluation.regrouping import list_pairs

PAGE = Path(__file__).parents[4] / "docs" / "evaluation.md"


def format_interval(estimate, sign=""):
    value, low, high = (
        f"{part:{sign}.3f}" for part in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} … {high})"


@pytest.mark.proof
def test_best_of_table_is_what_consensus_measures(large_data):
    groups = sample_groups(read_groups(large_data / "swebench_patches.jsonl.gz"))
    drawn, judge = draw_sets(groups, (1, 2, 4, 8, 16), DRAWS), build_consensus_judge(strict=False)
    document = build_best_of(drawn, map(judge.judge, drawn.to_judge), judge)
    assert sum(point.unknown for point in document.points) == 0
    page = PAGE.read_text()
    for point in document.points:
        cells = (
            f"{point.k}",
            f"{point.issues}",
            f"{point.sets:,}",
            f"{point.random.value:.3f}",
            format_interval(point.resolved),
            f"{point.oracle.value:.3f}",
            format_interval(point.gain, "+"),
        )
        assert f"| {' | '.join(cells)} |" in page


@pytest.mark.proof
def test_pair_accuracy_is_what_consensus_measures(large_data):
    pairs = sample_groups(list_pairs(read_groups(large_data / "distinct_eval_groups.jsonl.gz")))
    page = " ".join(PAGE.read_text().split())
    for strict in (False, True):
        judge = build_consensus_judge(strict=strict)
        measured = build_document([judge.judge(pair) for pair in pairs])["pair_accuracy"]
        value, low, high = (f"{measured[part]:.3f}" for part in ("value", "low", "high"))
        assert f"{value} ({low} … {high})" in page
