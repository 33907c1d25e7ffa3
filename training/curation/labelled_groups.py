"""Outcomes as labelled groups, one JSON object a line: what `r4p evaluate` reads (pure)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from training.curation.pools import Pool, PoolPatch

LEAST_CONFIDENT = 0.8
"""A label that is less sure is left out: a labelled group has no way to say perhaps."""


def groups(
    pools: Iterable[Pool], least_confident: float = LEAST_CONFIDENT
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Each issue with the patches whose truth is known, and what was left out, by reason."""
    found, left_out = [], Counter[str]()
    for pool in pools:
        told = [one for one in pool.patches if _is_sure(one, least_confident)]
        unknown = sum(one.target is None for one in pool.patches)
        left_out["patches whose label is unknown"] += unknown
        left_out["patches whose label is not sure"] += len(pool.patches) - unknown - len(told)
        if told:
            found.append(_group(pool, told))
        else:
            left_out["issues without a known patch"] += 1
    return found, +left_out


def _is_sure(patch: PoolPatch, least_confident: float) -> bool:
    if patch.target is None:
        return False
    return max(patch.target, 1 - patch.target) >= least_confident


def _group(pool: Pool, told: Iterable[PoolPatch]) -> dict[str, Any]:
    return {
        "instance_id": pool.issue,
        "repo": pool.repo,
        "problem_statement": pool.statement,
        "patches": [
            {
                "patch": one.diff,
                "resolved": one.target is not None and one.target >= 0.5,
                "probability": one.target,
                "source": "outcomes",
            }
            for one in told
        ],
    }
