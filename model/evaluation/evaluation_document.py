"""Build the JSON document `r4p.evaluate/1` of one run (pure). `evaluate.schema.json` is its schema."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from model.evaluation import bootstrap, metrics
from model.evaluation.bootstrap import Estimate, IssueRows
from model.evaluation.gyms.suite_worth import TestSetWorth
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import build_columns, build_constant_columns, to_array
from model.evaluation.rate_intervals import estimate_rates, number_names
from model.verdict_json import Json

SCHEMA = "r4p.evaluate/1"

BASELINES = {"all_correct": 1.0, "none_correct": 0.0, "random": 0.5}
"""Constant predictors by name, with their belief in every patch."""

_BASELINE_METRICS = {
    name: metrics.METRICS[name]
    for name in (
        *("coverage_at_90", "auroc", "ece"),
        *("accuracy", "f1", "exact_match", "balanced_accuracy", "mcc"),
    )
}


def build_document(judged: Sequence[JudgedGroup], *, seed: int = 0) -> dict[str, Json]:
    """Build the `r4p.evaluate/1` document: metrics with intervals of one judge's judged groups.

    `judged` holds at least one group, and `seed` is that of the bootstrap. Values are rounded to 6 places.
    """
    key = judged[0].key
    issue_rows = bootstrap.index_issues(judged)
    measured = bootstrap.estimate_metrics(
        build_columns(judged), issue_rows, metrics.METRICS, seed=seed
    )
    baselines = {
        name: bootstrap.estimate_metrics(
            build_constant_columns(judged, belief), issue_rows, _BASELINE_METRICS, seed=seed
        )
        for name, belief in BASELINES.items()
    }
    patches = [patch for group in judged for patch in group.patches]
    return {
        "schema": SCHEMA,
        "verifier": key.verifier,
        "engine": asdict(key.engine),
        "votes": key.votes,
        "issues": len({group.instance_id for group in judged}),
        "groups": len(judged),
        "patches": len(patches),
        "correct_patches": sum(patch.resolved for patch in patches),
        "calibrated": _are_calibrated(patches),
        **_round_estimates(measured),
        "constant_baselines": {
            name: _round_estimates(estimates) for name, estimates in baselines.items()
        },
        "best_at_k": _build_best_at_k(judged, metrics.compute_best_by_rank),
        "majority": _build_majority(judged, issue_rows, seed)
        if metrics.has_edits(judged)
        else None,
        **_build_pair_accuracy(judged, seed),
        **_build_tests(judged),
        "reliability": build_reliability(judged),
        "without_belief": sum(patch.belief is None for patch in patches),
        "seconds_per_patch": _build_seconds(judged),
        "tokens": {
            "prompt": sum(group.tokens.prompt for group in judged),
            "cached": sum(group.tokens.cached for group in judged),
            "completion": sum(group.tokens.completion for group in judged),
        },
    }


def _are_calibrated(patches: Sequence[JudgedPatch]) -> bool:
    """Whether at least one patch has a belief, and every belief is a probability."""
    believed = [patch for patch in patches if patch.belief is not None]
    return bool(believed) and all(patch.probability is not None for patch in believed)


def build_reliability(judged: Sequence[JudgedGroup]) -> list[Json]:
    """Build the data of a reliability diagram: a list of bins with about equally many patches.

    Each bin is an object with `patches` (their number), `belief` (the mean) and `correct` (the share). Patches without
    a belief are in no bin.
    """
    columns = build_columns(judged)
    return [
        {
            "patches": len(rows),
            "belief": _round(float(columns.belief[rows].mean())),
            "correct": _round(float(columns.label[rows].mean())),
        }
        for rows in metrics.bin_reliability(columns)
    ]


def _round_estimates(estimates: Mapping[str, Estimate]) -> dict[str, Json]:
    return {
        name: {
            "value": _round(estimate.value),
            "low": _round(estimate.low),
            "high": _round(estimate.high),
        }
        for name, estimate in estimates.items()
    }


def _build_majority(
    judged: Sequence[JudgedGroup], issue_rows: IssueRows, seed: int
) -> dict[str, Json]:
    """Build Best@K of choosing the edit that most patches of a group make."""
    whole = to_array(
        [metrics.compute_best_by_majority(group, len(group.patches)) for group in judged]
    )
    counted = replace(build_columns(judged), best=whole)
    of_group = {"best_of_group": metrics.compute_best_of_group}
    return {
        **_round_estimates(bootstrap.estimate_metrics(counted, issue_rows, of_group, seed=seed)),
        "best_at_k": _build_best_at_k(judged, metrics.compute_best_by_majority),
    }


def _build_pair_accuracy(judged: Sequence[JudgedGroup], seed: int) -> dict[str, Json]:
    """Build the mean accuracy on pairs, over the groups with a correct and an incorrect patch."""
    mixed = [group for group in judged if len({patch.resolved for patch in group.patches}) == 2]
    if not mixed:
        return {"pair_accuracy": None}
    accuracies = to_array([metrics.compute_pair_accuracy(group) for group in mixed])
    # the bootstrap draws issues; the mean of the column `best` is the metric
    counted = replace(build_columns(mixed), best=accuracies)
    measured = {"pair_accuracy": metrics.compute_best_of_group}
    return _round_estimates(
        bootstrap.estimate_metrics(counted, bootstrap.index_issues(mixed), measured, seed=seed)
    )


def _build_tests(judged: Sequence[JudgedGroup]) -> dict[str, Json]:
    """Build how much the tests of each kind tell (R2E-Gym, equations 3 to 6); nothing for a verifier without tests."""
    kinds = {worth.kind: None for group in judged for worth in group.tests}
    return {"tests": {kind: _build_test_kind(judged, kind) for kind in kinds}} if kinds else {}


def _build_test_kind(judged: Sequence[JudgedGroup], kind: str) -> Json:
    rows = [(group, worth) for group in judged for worth in group.tests if worth.kind == kind]
    issues = number_names([group.instance_id for group, _ in rows])
    names = ("distinguishability", "toxicity")
    shares = np.asarray(
        [[getattr(worth, name) for name in names] for _, worth in rows], dtype=np.float64
    )
    estimates = estimate_rates(shares, np.ones_like(shares), issues)
    return {
        "groups": len(rows),
        "tests": sum(worth.tests for _, worth in rows),
        **_round_estimates(dict(zip(names, estimates, strict=True))),
        "distinguishing": _list_tests(rows, "distinguishing"),
        "toxic": _list_tests(rows, "toxic"),
    }


def _list_tests(rows: Sequence[tuple[JudgedGroup, TestSetWorth]], name: str) -> list[Json]:
    named = sorted(
        (group.instance_id, test) for group, worth in rows for test in getattr(worth, name)
    )
    return [{"issue": issue, "test": test} for issue, test in named]


def _build_best_at_k(
    judged: Sequence[JudgedGroup], chosen: Callable[[JudgedGroup, int], float]
) -> list[Json]:
    largest = max(len(group.patches) for group in judged)
    return [
        {"k": count, "value": _round(metrics.average_best_at_k(judged, count, chosen))}
        for count in range(1, largest + 1)
    ]


def _build_seconds(judged: Iterable[JudgedGroup]) -> dict[str, Json]:
    """Summarise seconds per patch. The seconds of a group are divided equally among its patches."""
    seconds = [
        group.total_seconds / len(group.patches) for group in judged for _patch in group.patches
    ]
    middle, late = np.quantile(seconds, [0.5, 0.95])
    return {
        "mean": _round(float(np.mean(seconds))),
        "p50": _round(float(middle)),
        "p95": _round(float(late)),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
