"""Sample training groups for consensus from labelled groups and pools of patches (pure).

A pool holds all patches of an issue. The system that wrote a patch may decide whether it is sampled. It is
never a feature.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from model.evaluation.labelled_group import LabelledGroup, LabelledPatch

SEED = 1
PER_ISSUE = 3
"""Most sampled groups of one kind for one issue."""
SEATS = 4
PARTS = (2, 3)
"""Sizes of parts of groups."""
_ONLY_RESOLVED = "leaderboard"
"""Prefix of sources with resolved patches only. Their style would reveal the label, so they are not sampled."""
_RARELY = 0.02
"""Sampling weight of a system that the groups of distinct edits do not contain."""


class GroupKind(StrEnum):
    """How a training group of consensus was formed: given by a file, or drawn from an issue's patches."""

    DISTINCT = "distinct"
    """Given: four different edits."""
    RECIPE = "recipe"
    """Given: the R4P paper's recipe, two of four runs by one system, copies allowed."""
    DRAWN_DISTINCT = "drawn distinct"
    """Drawn: four patches of an issue, mostly of systems that are frequent in DISTINCT."""
    DRAWN_RECIPE = "drawn recipe"
    """Drawn: systems as in RECIPE, the last one in another run."""
    DRAWN_TWINS = "drawn twins"
    """Drawn: two runs of one system, and one run of each of two others."""
    OTHER_LANGUAGES = "other languages"
    """Drawn: patches of an issue from the pools in other programming languages."""


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """A labelled group to fit consensus on, with the kind of sampling that formed it."""

    kind: GroupKind
    group: LabelledGroup
    is_part: bool = False
    """True for a subset of another group's patches. Its copies count as one opinion."""


def label_kind(groups: Iterable[LabelledGroup], kind: GroupKind) -> list[SampledGroup]:
    """Return each labelled group, unchanged, as a SampledGroup whose `kind` tells how its patches were chosen."""
    return [SampledGroup(kind, group) for group in groups]


def sample_from_pools(
    pools: Sequence[LabelledGroup], like: Sequence[LabelledGroup]
) -> Iterator[SampledGroup]:
    """Sample groups of the three `DRAWN_*` kinds from pools. A pool has all patches of one issue.

    Groups of kind DRAWN_DISTINCT favour patches of systems that wrote many patches in the groups `like`. The sampling
    is the same each time.
    """
    odds = _compute_odds(pools, like)
    for pool in pools:
        rng = random.Random(f"{SEED} {pool.instance_id}")
        runs = _index_runs(pool)
        yield from _build_samples(GroupKind.DRAWN_DISTINCT, pool, _sample_distinct(pool, odds, rng))
        yield from _build_samples(GroupKind.DRAWN_RECIPE, pool, _sample_recipe(runs))
        yield from _build_samples(GroupKind.DRAWN_TWINS, pool, _sample_twins(runs, rng))


def sample_from_languages(pools: Iterable[LabelledGroup]) -> Iterator[SampledGroup]:
    """Sample one group of up to four patches from each pool with at least two patches.

    The pools hold all patches of issues in other programming languages. The sampling is the same each time.
    """
    for pool in pools:
        rng = random.Random(f"{SEED} {pool.instance_id}")
        if len(pool.patches) > 1:
            chosen = rng.sample(pool.patches, min(SEATS, len(pool.patches)))
            yield from _build_samples(GroupKind.OTHER_LANGUAGES, pool, [tuple(chosen)])


def sample_parts(drawn: Iterable[SampledGroup]) -> Iterator[SampledGroup]:
    """Sample smaller groups of patches from each group: one group of each size in PARTS below the group's size."""
    for sample in drawn:
        rng = random.Random(f"{SEED} {sample.group.id}")
        for size in PARTS:
            if size < len(sample.group.patches):
                chosen = tuple(rng.sample(sample.group.patches, size))
                yield SampledGroup(sample.kind, replace(sample.group, patches=chosen), is_part=True)


Quartet = tuple[LabelledPatch, ...]


def _build_samples(
    kind: GroupKind, pool: LabelledGroup, quartets: Iterable[Quartet]
) -> Iterator[SampledGroup]:
    seen: set[frozenset[str]] = set()
    for quartet in quartets:
        key = frozenset(f"{patch.source} {patch.patch.id}" for patch in quartet)
        if key not in seen and len(seen) < PER_ISSUE:
            seen.add(key)
            group = LabelledGroup(pool.instance_id, pool.repo, pool.issue, quartet, pool.language)
            yield SampledGroup(kind, group)


def _compute_odds(
    pools: Iterable[LabelledGroup], like: Iterable[LabelledGroup]
) -> Mapping[str, float]:
    wanted = Counter(patch.source for group in like for patch in group.patches)
    there = Counter(patch.source for pool in pools for patch in pool.patches)
    return {str(source): wanted[source] / count + _RARELY for source, count in there.items()}


def _sample_distinct(
    pool: LabelledGroup, odds: Mapping[str, float], rng: random.Random
) -> Iterator[Quartet]:
    patches = [patch for patch in pool.patches if not _holds_only_resolved(patch.source)]
    for _ in range(2 * PER_ISSUE if len(patches) >= SEATS else 0):
        # weighted sampling without replacement (Efraimidis and Spirakis, 2006)
        keys = [rng.random() ** (1 / odds[str(patch.source)]) for patch in patches]
        chosen = sorted(range(len(patches)), key=keys.__getitem__)[-SEATS:]
        yield tuple(patches[seat] for seat in chosen)


def _index_runs(pool: LabelledGroup) -> dict[str, LabelledPatch]:
    """Index patches by run. A text that several runs wrote appears under each."""
    runs: dict[str, LabelledPatch] = {}
    for patch in pool.patches:
        for source in (str(patch.source), *patch.also_from):
            if not _holds_only_resolved(source):
                runs.setdefault(source, patch)
    return runs


def _sample_recipe(runs: Mapping[str, LabelledPatch]) -> Iterator[Quartet]:
    fixed = ("swe-fixer/verified_no_p2p", "swe-fixer/verified_with_p2p", "polydev/hybrid-haiku-4.5")
    if all(run in runs for run in fixed):
        for last in ("swe-swiss/tts40-0", "swe-swiss/tts40-1", "swe-swiss/tts40-2"):
            if last in runs:
                yield tuple(runs[run] for run in (*fixed, last))


def _sample_twins(runs: Mapping[str, LabelledPatch], rng: random.Random) -> Iterator[Quartet]:
    families: dict[str, list[str]] = defaultdict(list)
    for run in sorted(runs):
        families[read_system(run)].append(run)
    several = [family for family, members in families.items() if len(members) > 1]
    for _ in range(2 * PER_ISSUE if several and len(families) >= SEATS - 1 else 0):
        twin = rng.choice(several)
        others = rng.sample(sorted(set(families) - {twin}), SEATS - 2)
        chosen = [
            *rng.sample(families[twin], 2),
            *(rng.choice(families[other_rows]) for other_rows in others),
        ]
        yield tuple(runs[run] for run in chosen)


def _holds_only_resolved(source: str | None) -> bool:
    return str(source).startswith(_ONLY_RESOLVED)


def read_system(source: str | None) -> str:
    """Return the name of the system that wrote a patch: the part of `source` before the slash.

    The result is "None" for a patch without a source.
    """
    return str(source).partition("/")[0]
