"""Drop issues by text or licence, and sources of patches by name or because all their labels agree (pure).

The text filters follow R4P (appendix A).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from training.curation.pools import Pool, PoolPatch, describe_belief
from training.curation.steps import Reason
from training.datasets.groups import LabelSource

MIN_LABELLED = 20
"""A benchmark system is checked for one-sided labels from this many labelled patches on."""


def find_unwanted(patch: PoolPatch, patterns: Collection[str]) -> Reason:
    """Return why a patch is dropped if its source matches one of `patterns`, such as `family/*`; else None."""
    named = any(fnmatchcase(patch.author or "", pattern) for pattern in patterns)
    return "of a source that is left out" if named else None


def find_unlicensed(pool: Pool, licences: Collection[str]) -> Reason:
    """Return why an issue is dropped if its repository's licence is not in `licences` (SPDX names); else None.

    Only benchmarks are checked. Repositories with `training: on` need no licence check.
    """
    if pool.source is LabelSource.OUTCOMES:
        return None
    if pool.licence is None:
        return "its licence is not known"
    return None if pool.licence in licences else "its licence is not among those wanted"


def drop_one_sided(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Drop the patches of each benchmark system (author) whose labels all agree: its style reveals the label.

    Returns the issues with the kept patches, and a reason for each dropped patch. Patches from recorded outcomes stay,
    because their weights are capped.
    """
    beliefs: dict[str, list[str]] = defaultdict(list)
    for pool in pools:
        for patch in pool.patches:
            if patch.target is not None:
                beliefs[_get_system(pool, patch)].append(describe_belief(patch))
    gone = {
        name
        for name, labels in beliefs.items()
        if len(labels) >= MIN_LABELLED and len(set(labels)) == 1
    }
    gone.discard("")
    kept, reasons = [], list[str]()
    for pool in pools:
        left = tuple(patch for patch in pool.patches if _get_system(pool, patch) not in gone)
        reasons += ["its system's patches have one label"] * (len(pool.patches) - len(left))
        kept += [replace(pool, patches=left)] if left else []
    return kept, reasons


def _get_system(pool: Pool, patch: PoolPatch) -> str:
    """Return the benchmark family of a patch. Empty for outcomes and unnamed authors."""
    if pool.source is not LabelSource.BENCHMARK:
        return ""
    return (patch.author or "").partition("/")[0]


_IMAGE = re.compile(
    r"!\[[^\]]*\]\(|!\[[^\]]*\]\[|<img\b|<video\b"
    r"|https?://[^\s)>\"']+\.(?:png|jpe?g|gif|svg|webp|bmp|mp4|mov)\b"
    r"|https?://(?:user-images\.githubusercontent\.com|github\.com/user-attachments/assets)/",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"https?://[^\s)>\]]+"
    r"|(?<![\w/])(?:[\w.-]+/[\w.-]+)?(?:#|\bGH-)\d+\b"
    r"|(?<!\w)@[\w-]+(?:\[bot\])?"
    r"|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)
"""Links, issue references, mentions and commits, which a reader of the text cannot open."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Limits on the text of an issue."""

    min_characters: int = 100
    """Minimum length."""
    max_characters: int = 4_000
    only_ascii: bool = False
    """The paper's setting. It drops most issues that are not in English."""
    min_words: int = 10
    """Minimum words besides links, mentions and numbers."""


def find_rejection(pool: Pool, limits: StatementLimits) -> Reason:
    """Return why curation drops an issue because of its text; None to keep it."""
    text = pool.statement.strip()
    if len(text) < limits.min_characters:
        return f"shorter than {limits.min_characters:,} characters"
    if len(text) > limits.max_characters:
        return f"longer than {limits.max_characters:,} characters"
    if limits.only_ascii and not text.isascii():
        return "not only ASCII"
    if _IMAGE.search(text):
        return "shows an image"
    if len(_WORD.findall(_ELSEWHERE.sub(" ", text))) < limits.min_words:
        return "says it elsewhere"
    return None
