"""The result of a run as one JSON document, `r4p.evaluate/1` (pure). Its schema is `evaluate.schema.json` beside this."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from model.evaluation import bootstrap, metrics
from model.evaluation.bootstrap import Estimate, Issues
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import array, columns, constant
from model.verdict_json import Json

SCHEMA = "r4p.evaluate/1"

BASELINES = {"all_correct": 1.0, "none_correct": 0.0, "random": 0.5}
"""Predictors that look at nothing, by what they believe of every patch."""

_BASELINE_METRICS = {
    name: metrics.METRICS[name]
    for name in ("accuracy", "f1", "exact_match", "balanced_accuracy", "mcc")
}


def document(judged: Sequence[JudgedGroup], *, seed: int = 0) -> dict[str, Json]:
    """Metrics of groups that one judge has judged, of which there is at least one; values are rounded to 6 places."""
    key = judged[0].key
    by = bootstrap.issues(judged)
    measured = bootstrap.estimates(columns(judged), by, metrics.METRICS, seed=seed)
    baselines = {
        name: bootstrap.estimates(constant(judged, belief), by, _BASELINE_METRICS, seed=seed)
        for name, belief in BASELINES.items()
    }
    patches = [one for group in judged for one in group.patches]
    return {
        "schema": SCHEMA,
        "verifier": key.verifier,
        "engine": asdict(key.engine),
        "votes": key.votes,
        "issues": len({group.instance_id for group in judged}),
        "groups": len(judged),
        "patches": len(patches),
        "correct_patches": sum(one.resolved for one in patches),
        "calibrated": _are_calibrated(patches),
        **_estimates(measured),
        "constant_baselines": {name: _estimates(found) for name, found in baselines.items()},
        "best_at_k": _best_at_k(judged, metrics.by_standing),
        "majority": _majority(judged, by, seed) if metrics.tells_edits(judged) else None,
        "reliability": reliability(judged),
        "without_belief": sum(one.belief is None for one in patches),
        "seconds_per_patch": _seconds(judged),
        "tokens": {
            "prompt": sum(group.tokens.prompt for group in judged),
            "cached": sum(group.tokens.cached for group in judged),
            "completion": sum(group.tokens.completion for group in judged),
        },
    }


def _are_calibrated(patches: Sequence[JudgedPatch]) -> bool:
    """Whether every belief is a probability, and there is one."""
    told = [one for one in patches if one.belief is not None]
    return bool(told) and all(one.probability is not None for one in told)


def reliability(judged: Sequence[JudgedGroup]) -> list[Json]:
    """The reliability diagram: bins of equal mass, each with its patches, mean belief and share that is correct.

    Patches without a belief are in none.
    """
    of = columns(judged)
    return [
        {
            "patches": len(rows),
            "belief": _rounded(float(of.belief[rows].mean())),
            "correct": _rounded(float(of.label[rows].mean())),
        }
        for rows in metrics.diagram(of)
    ]


def _estimates(found: Mapping[str, Estimate]) -> dict[str, Json]:
    return {
        name: {
            "value": _rounded(one.value),
            "low": _rounded(one.low),
            "high": _rounded(one.high),
        }
        for name, one in found.items()
    }


def _majority(judged: Sequence[JudgedGroup], by: Issues, seed: int) -> dict[str, Json]:
    """What choosing the edit that most patches of a group make is worth."""
    whole = array([metrics.by_most(group, len(group.patches)) for group in judged])
    counted = replace(columns(judged), best=whole)
    of_group = {"best_of_group": metrics.best_of_group}
    return {
        **_estimates(bootstrap.estimates(counted, by, of_group, seed=seed)),
        "best_at_k": _best_at_k(judged, metrics.by_most),
    }


def _best_at_k(
    judged: Sequence[JudgedGroup], chosen: Callable[[JudgedGroup, int], float]
) -> list[Json]:
    largest = max(len(group.patches) for group in judged)
    return [
        {"k": count, "value": _rounded(metrics.best_at(judged, count, chosen))}
        for count in range(1, largest + 1)
    ]


def _seconds(judged: Iterable[JudgedGroup]) -> dict[str, Json]:
    """A group's seconds are shared equally by its patches."""
    each = [
        group.total_seconds / len(group.patches) for group in judged for _patch in group.patches
    ]
    middle, late = np.quantile(each, [0.5, 0.95])
    return {
        "mean": _rounded(float(np.mean(each))),
        "p50": _rounded(float(middle)),
        "p95": _rounded(float(late)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
