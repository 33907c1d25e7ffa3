"""Form other groups from labelled groups: draws of K candidates, and pairs (pure).

A candidate keeps its id and its place in the file, so neither tells whether it is correct.
"""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from math import comb

from model.domain import PatchId
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch

SEED = 0
"""Seed of the draws. Each issue and each K draws by itself, so more issues change no other draw."""


def join_issues(groups: Iterable[LabelledGroup]) -> list[LabelledGroup]:
    """Return one group for each issue, with the patches of all its groups; an issue keeps the place of its first group.

    A patch whose text an earlier group of the issue holds is not repeated. The patches of joined groups get the ids
    `candidate-1`, `candidate-2`, …
    """
    joined: dict[str, LabelledGroup] = {}
    for group in groups:
        before = joined.get(group.instance_id)
        joined[group.instance_id] = _join(before, group) if before else group
    return list(joined.values())


def _join(first: LabelledGroup, second: LabelledGroup) -> LabelledGroup:
    texts = {patch.patch.diff for patch in first.patches}
    added = (patch for patch in second.patches if patch.patch.diff not in texts)
    patches = tuple(
        _number(number, patch) for number, patch in enumerate((*first.patches, *added), 1)
    )
    return replace(first, patches=patches)


def _number(number: int, patch: LabelledPatch) -> LabelledPatch:
    return replace(patch, patch=replace(patch.patch, id=PatchId(f"candidate-{number}")))


def draw_candidates(group: LabelledGroup, size: int, draws: int) -> list[LabelledGroup]:
    """Draw `draws` different sets of `size` candidates from a group, each without replacement.

    There are fewer sets when the group has fewer, and none when it has fewer than `size` candidates. The same group
    gives the same sets, and more draws begin with the sets of fewer draws.
    """
    count = len(group.patches)
    randomness = random.Random(f"{SEED} {group.instance_id} {size}")
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < min(draws, comb(count, size)):
        drawn.setdefault(tuple(sorted(randomness.sample(range(count), size))))
    return [
        replace(group, patches=tuple(group.patches[place] for place in places)) for places in drawn
    ]


def list_pairs(groups: Iterable[LabelledGroup]) -> list[LabelledGroup]:
    """Return every pair of a correct and an incorrect patch of one group, as a group of two.

    R4P (section 5.2) compares verifiers with reward models on such pairs, in figure 3 (b). The paper does not say how
    many pairs it takes from an issue. Here all pairs of a group count.
    """
    return [
        replace(group, patches=pair)
        for group in groups
        for pair in combinations(group.patches, 2)
        if pair[0].resolved != pair[1].resolved
    ]
