"""How the report words a difference: by its interval alone, and no gain as plainly as a gain."""

import pytest

from model.evaluation.bootstrap import Estimate
from training.gpu_proof import findings
from training.gpu_proof.findings import Change, Finding


@pytest.mark.parametrize(
    ("metric", "low", "high", "change"),
    [
        ("auroc", 0.001, 0.2, Change.GAIN),
        ("auroc", -0.001, 0.2, Change.NO_GAIN),
        ("auroc", 0.0, 0.2, Change.NO_GAIN),
        ("auroc", 0.0, 0.0, Change.NO_GAIN),
        ("auroc", -0.2, -0.001, Change.LOSS),
        ("brier", -0.2, -0.001, Change.GAIN),
        ("brier", 0.001, 0.2, Change.LOSS),
        ("brier", -0.2, 0.0, Change.NO_GAIN),
        ("auroc", None, None, Change.UNKNOWN),
    ],
)
def test_only_an_interval_on_the_better_side_of_zero_is_a_gain(metric, low, high, change):
    assert findings.classify_change(Estimate(0.0, low, high), metric) is change


@pytest.mark.parametrize(
    ("metric", "estimate", "text"),
    [
        ("auroc", Estimate(0.04, 0.01, 0.08), "gain in auroc: +0.040 (+0.010 … +0.080)"),
        ("auroc", Estimate(0.01, -0.02, 0.04), "no gain in auroc: +0.010 (-0.020 … +0.040)"),
        ("brier", Estimate(0.03, 0.01, 0.05), "loss in brier: +0.030 (+0.010 … +0.050)"),
        (
            "accuracy",
            Estimate(None, None, None),
            "accuracy not measured: too few issues, or a slice has not finished",
        ),
    ],
)
def test_a_difference_is_told_in_words_and_numbers(metric, estimate, text):
    assert findings.describe_change(metric, estimate) == text
    finding = Finding("after, minus before", "distinct", metric, estimate)
    assert finding.sentence == f"after, minus before, distinct: {text}"


def test_the_summary_begins_with_no_gain_where_there_is_none():
    nothing = Finding("a", "distinct", "auroc", Estimate(0.0, -0.1, 0.1))
    gain = Finding("a", "distinct", "auroc", Estimate(0.2, 0.1, 0.3))
    loss = Finding("a", "distinct", "brier", Estimate(0.2, 0.1, 0.3))
    unknown = Finding("a", "distinct", "auroc", Estimate(None, None, None))
    assert findings.summarise([nothing, loss]) == (
        "No gain. Of all differences: 0 gains, 1 times no gain, 1 losses."
    )
    assert findings.summarise([gain, nothing, unknown]) == (
        "Of all differences: 1 gains, 1 times no gain, 0 losses."
    )
    assert findings.summarise([unknown]) == "Nothing was measured."
