"""Convert labelled pools into the JSON groups that `r4p evaluate` reads, one object a line (pure)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from training.curation.pools import Pool, PoolPatch

MIN_CONFIDENCE = 0.8
"""Less certain labels are left out, because a labelled group holds only correct or incorrect."""


def build_labelled_groups(
    pools: Iterable[Pool], min_confidence: float = MIN_CONFIDENCE
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return each issue with its confidently labelled patches, and counts of what was left out by reason."""
    labelled, left_out = [], Counter[str]()
    for pool in pools:
        patches = [patch for patch in pool.patches if _is_sure(patch, min_confidence)]
        unknown = sum(patch.target is None for patch in pool.patches)
        left_out["patches whose label is unknown"] += unknown
        left_out["patches whose label is not sure"] += len(pool.patches) - unknown - len(patches)
        if patches:
            labelled.append(_build_labelled_group(pool, patches))
        else:
            left_out["issues without a known patch"] += 1
    return labelled, +left_out


def _is_sure(patch: PoolPatch, least_confident: float) -> bool:
    if patch.target is None:
        return False
    return max(patch.target, 1 - patch.target) >= least_confident


def _build_labelled_group(pool: Pool, patches: Iterable[PoolPatch]) -> dict[str, Any]:
    return {
        "instance_id": pool.issue,
        "repo": pool.repo,
        "problem_statement": pool.statement,
        "patches": [
            {
                "patch": patch.diff,
                "resolved": patch.target is not None and patch.target >= 0.5,
                "probability": patch.target,
                "source": "outcomes",
            }
            for patch in patches
        ],
    }
