"""Who is left out as a whole: by licence, by name, or because a style would give the label away (pure)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from training.curation.pools import Pool, PoolPatch, belief
from training.curation.steps import Reason
from training.datasets.groups import LabelSource

LEAST = 20
"""Labelled patches from which on a benchmark's system is known to have only one sort."""


def unwanted(patch: PoolPatch, patterns: Collection[str]) -> Reason:
    """Why a patch of a named source is left out; patterns as `family/*`."""
    named = any(fnmatchcase(patch.author or "", pattern) for pattern in patterns)
    return "of a source that is left out" if named else None


def unlicensed(pool: Pool, licences: Collection[str]) -> Reason:
    """Why an issue is left out whose repository's licence is not among these, by SPDX name.

    Whose maintainers let the bot learn from their history is asked for no licence.
    """
    if pool.source is LabelSource.OUTCOMES:
        return None
    if pool.licence is None:
        return "its licence is not known"
    return None if pool.licence in licences else "its licence is not among those wanted"


def without_one_sided(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Without a benchmark's systems of which only correct, or only incorrect patches are there.

    Who merges its own work is no benchmark's system: outcomes are left alone, their weights are capped instead.
    """
    beliefs: dict[str, list[str]] = defaultdict(list)
    for pool in pools:
        for one in pool.patches:
            if one.target is not None:
                beliefs[_system(pool, one)].append(belief(one))
    gone = {name for name, told in beliefs.items() if len(told) >= LEAST and len(set(told)) == 1}
    gone.discard("")
    kept, reasons = [], list[str]()
    for pool in pools:
        left = tuple(one for one in pool.patches if _system(pool, one) not in gone)
        reasons += ["its system's patches have one label"] * (len(pool.patches) - len(left))
        kept += [replace(pool, patches=left)] if left else []
    return kept, reasons


def _system(pool: Pool, patch: PoolPatch) -> str:
    """The family of a benchmark's source; empty where nobody is named, and of outcomes."""
    if pool.source is not LabelSource.BENCHMARK:
        return ""
    return (patch.author or "").partition("/")[0]
