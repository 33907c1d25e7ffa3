"""Groups to learn from: the labelled groups themselves, and more of their kind drawn from pools of patches (pure).

A system may decide who is drawn, never what a model sees.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from model.evaluation.labelled_group import LabelledGroup, LabelledPatch

SEED = 1
PER_ISSUE = 3
"""Groups drawn of one kind for one issue; more of them repeat what is known."""
SEATS = 4
PARTS = (2, 3)
"""Sizes of the parts of groups."""
_ONLY_RESOLVED = "leaderboard"
"""Sources whose names begin so hold resolved patches only, so that their style gives the label away: never drawn."""
_RARELY = 0.02
"""Chance of a system that the groups of distinct edits never hold."""


class Kind(StrEnum):
    """How a group came about."""

    DISTINCT = "distinct"
    """Given: four different edits."""
    RECIPE = "recipe"
    """Given: the R4P paper's recipe, two of four runs by one system, copies allowed."""
    DRAWN_DISTINCT = "drawn distinct"
    DRAWN_RECIPE = "drawn recipe"
    """The given recipe's systems, the last one in another of its runs."""
    DRAWN_TWINS = "drawn twins"
    """Two runs of any system, and one run of each of two others."""
    OTHER_LANGUAGES = "other languages"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A group, its kind, and how its copies count."""

    kind: Kind
    group: LabelledGroup
    part: bool = False
    """Whether it is a few of a group's patches, and copies are one opinion, as where anybody may hand in another."""


def given(groups: Iterable[LabelledGroup], kind: Kind) -> list[Drawn]:
    """The groups as they are."""
    return [Drawn(kind, group) for group in groups]


def from_pools(pools: Sequence[LabelledGroup], like: Sequence[LabelledGroup]) -> Iterator[Drawn]:
    """Groups of every drawn kind; distinct ones favour the systems that are frequent in `like`."""
    odds = _odds(pools, like)
    for pool in pools:
        rng = random.Random(f"{SEED} {pool.instance_id}")
        runs = _runs(pool)
        yield from _drawn(Kind.DRAWN_DISTINCT, pool, _distinct(pool, odds, rng))
        yield from _drawn(Kind.DRAWN_RECIPE, pool, _recipe(runs))
        yield from _drawn(Kind.DRAWN_TWINS, pool, _twins(runs, rng))


def from_languages(pools: Iterable[LabelledGroup]) -> Iterator[Drawn]:
    """One group per pool of at least two."""
    for pool in pools:
        rng = random.Random(f"{SEED} {pool.instance_id}")
        if len(pool.patches) > 1:
            chosen = rng.sample(pool.patches, min(SEATS, len(pool.patches)))
            yield from _drawn(Kind.OTHER_LANGUAGES, pool, [tuple(chosen)])


def parts(drawn: Iterable[Drawn]) -> Iterator[Drawn]:
    """Of each group as many patches as PARTS says, drawn anew for each number."""
    for one in drawn:
        rng = random.Random(f"{SEED} {one.group.id}")
        for size in PARTS:
            if size < len(one.group.patches):
                chosen = tuple(rng.sample(one.group.patches, size))
                yield Drawn(one.kind, replace(one.group, patches=chosen), part=True)


Quartet = tuple[LabelledPatch, ...]


def _drawn(kind: Kind, pool: LabelledGroup, quartets: Iterable[Quartet]) -> Iterator[Drawn]:
    seen: set[frozenset[str]] = set()
    for quartet in quartets:
        key = frozenset(f"{one.source} {one.patch.id}" for one in quartet)
        if key not in seen and len(seen) < PER_ISSUE:
            seen.add(key)
            group = LabelledGroup(pool.instance_id, pool.repo, pool.issue, quartet, pool.language)
            yield Drawn(kind, group)


def _odds(pools: Iterable[LabelledGroup], like: Iterable[LabelledGroup]) -> Mapping[str, float]:
    wanted = Counter(one.source for group in like for one in group.patches)
    there = Counter(one.source for pool in pools for one in pool.patches)
    return {str(source): wanted[source] / count + _RARELY for source, count in there.items()}


def _distinct(
    pool: LabelledGroup, odds: Mapping[str, float], rng: random.Random
) -> Iterator[Quartet]:
    patches = [one for one in pool.patches if not _only_resolved(one.source)]
    for _ in range(2 * PER_ISSUE if len(patches) >= SEATS else 0):
        keys = [rng.random() ** (1 / odds[str(one.source)]) for one in patches]
        chosen = sorted(range(len(patches)), key=keys.__getitem__)[-SEATS:]
        yield tuple(patches[seat] for seat in chosen)


def _runs(pool: LabelledGroup) -> dict[str, LabelledPatch]:
    """Each run's patch, also where several wrote the same text."""
    runs: dict[str, LabelledPatch] = {}
    for one in pool.patches:
        for source in (str(one.source), *one.also_from):
            if not _only_resolved(source):
                runs.setdefault(source, one)
    return runs


def _recipe(runs: Mapping[str, LabelledPatch]) -> Iterator[Quartet]:
    fixed = ("swe-fixer/verified_no_p2p", "swe-fixer/verified_with_p2p", "polydev/hybrid-haiku-4.5")
    if all(run in runs for run in fixed):
        for last in ("swe-swiss/tts40-0", "swe-swiss/tts40-1", "swe-swiss/tts40-2"):
            if last in runs:
                yield tuple(runs[run] for run in (*fixed, last))


def _twins(runs: Mapping[str, LabelledPatch], rng: random.Random) -> Iterator[Quartet]:
    families: dict[str, list[str]] = defaultdict(list)
    for run in sorted(runs):
        families[system(run)].append(run)
    several = [family for family, members in families.items() if len(members) > 1]
    for _ in range(2 * PER_ISSUE if several and len(families) >= SEATS - 1 else 0):
        twin = rng.choice(several)
        others = rng.sample(sorted(set(families) - {twin}), SEATS - 2)
        chosen = [*rng.sample(families[twin], 2), *(rng.choice(families[one]) for one in others)]
        yield tuple(runs[run] for run in chosen)


def _only_resolved(source: str | None) -> bool:
    return str(source).startswith(_ONLY_RESOLVED)


def system(source: str | None) -> str:
    """The family of a source: all runs of one system."""
    return str(source).partition("/")[0]
