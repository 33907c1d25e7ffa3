"""Fits the consensus model: `python -m training.consensus.fitting --data DIR` writes its artefact, the same bytes every time.

DIR holds labelled groups and pools of patches, see FILES. One fit sees every issue; for each block of issues another
one is made that never sees it. Sums depend on how many threads add them up, so set OMP_NUM_THREADS=1 for the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from model.calibration.calibration import Evidence
from model.evaluation import labelled_group
from model.rivals import consensus_model
from model.rivals.consensus_model import (
    CLAIM_NOTHING,
    EVERYTHING,
    EXPERTS,
    BoostedTrees,
    ConsensusModel,
    FittedModel,
    Floats,
    GroupClassifier,
    HoldoutBlock,
)
from model.verifiers.consensus import ConsensusVerifier
from training.calibrators.fitting import Targets, thresholds
from training.consensus import group_sampling
from training.consensus.group_sampling import Drawn, Kind

if TYPE_CHECKING:  # scikit-learn loads when an expert is fitted
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
from training.calibrators.evidence import Row
from training.consensus.feature_table import Mask, Table, weights

FILES = {
    "distinct": "distinct_eval_groups.jsonl.gz",
    "recipe": "r4p_style_eval_groups.jsonl.gz",
    "pools": "swebench_patches.jsonl.gz",
    "languages": "multilang_patches.jsonl.gz",
}
GIVEN = frozenset({Kind.DISTINCT, Kind.RECIPE})
"""The kinds that are measured on."""
DJANGO = "django/django"
PARTS = 4
"""Blocks of Django, by issue number, with equally many issues each."""
OTHERS = {
    "sphinx": ("sphinx-doc/sphinx",),
    "matplotlib": ("matplotlib/matplotlib",),
    "xarray": ("pydata/xarray",),
    "seaborn and flask": ("mwaskom/seaborn", "pallets/flask"),
}
COPIES = {Kind.RECIPE: 1.0, Kind.DRAWN_RECIPE: 0.5, Kind.DRAWN_TWINS: 0.25}
DISTINCT = {Kind.DISTINCT: 1.0, Kind.DRAWN_DISTINCT: 0.5, Kind.OTHER_LANGUAGES: 0.2}
"""What there is to learn from, and how much an issue of each kind weighs."""
SHRINKAGE = 0.001
"""scikit-learn's C of the logistic regression."""
ROUNDS = 120
STEP = 0.05
"""What a boosted tree may add of what it found."""
BAGS = 4
"""Boosted ensembles of other seeds: one alone moves metrics by a point."""
ASKED_DIGITS, ADDED_DIGITS = 8, 5
"""Decimals of a tree's thresholds and log-odds: more would make the file a half larger and move no metric."""
BOOSTED = 2 / 3
"""The boosted trees' part of the log-odds; the rest is the logistic regression's."""


MIXES: Mapping[str, Sequence[Mapping[Kind, float]]] = {
    "copies": (COPIES,),
    "few": (COPIES, DISTINCT),
    "distinct": (DISTINCT,),
}
"""By expert; the first kind of a mix is the measure of the others."""


def load(data: Path) -> list[Drawn]:
    """The groups of all files, those drawn from them, and parts of both. Raises BadGroups."""
    distinct, recipe, pools, languages = (
        list(labelled_group.read(data / name)) for name in FILES.values()
    )
    whole = [
        *group_sampling.given(distinct, Kind.DISTINCT),
        *group_sampling.given(recipe, Kind.RECIPE),
        *group_sampling.from_pools(pools, distinct),
        *group_sampling.from_languages(languages),
    ]
    return [*whole, *group_sampling.parts(whole)]


def blocks_of(drawn: Sequence[Drawn]) -> tuple[HoldoutBlock, ...]:
    """Django in parts with equally many given issues, other repositories one block each or together."""
    given = [one.group for one in drawn if one.kind in GIVEN]
    numbers = sorted({_number(one.instance_id) for one in given if one.repo == DJANGO})
    cuts = [0, *(numbers[len(numbers) * part // PARTS] for part in range(1, PARTS)), None]
    parts = [
        HoldoutBlock(f"django {part}", (DJANGO,), first or 0, below)
        for part, (first, below) in enumerate(pairwise(cuts), 1)
    ]
    return (*parts, *(HoldoutBlock(name, repositories) for name, repositories in OTHERS.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """An expert, and the models of scikit-learn that it was copied from."""

    expert: GroupClassifier
    linear: "LogisticRegression"
    boosted: "Sequence[GradientBoostingClassifier]"


def lessons(of: Table, name: str) -> Mask:
    """The rows that an expert may learn from."""
    if name == "few":
        return of.part
    return ~of.part if name == "copies" else ~of.part & ~of.copies


def learn_expert(of: Table, name: str, seen: Mask) -> Learnt:
    """An expert that learns from the rows of `seen` alone."""
    among = seen & lessons(of, name)
    weight: Floats = np.sum([weights(of, mix, among) for mix in MIXES[name]], axis=0)
    used = weight > 0
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    rows, label, weight = of.facts[used], of.label[used], weight[used]
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    standard = consensus_model.standardised(rows, mean, scale)
    linear = LogisticRegression(C=SHRINKAGE, max_iter=1000, tol=1e-6)
    linear.fit(standard, label, sample_weight=weight)
    boosted = [
        GradientBoostingClassifier(
            n_estimators=ROUNDS,
            learning_rate=STEP,
            max_depth=3,
            subsample=0.5,
            max_features=0.1,
            min_samples_leaf=20,
            random_state=seed,
        ).fit(standard, label, sample_weight=weight)
        for seed in range(BAGS)
    ]
    prior = float(np.average(label, weights=weight))
    expert = GroupClassifier(
        mean=mean,
        scale=scale,
        weights=linear.coef_[0] * (1 - BOOSTED),
        bias=float(linear.intercept_[0] * (1 - BOOSTED) + BOOSTED * np.log(prior / (1 - prior))),
        trees=_copied(boosted),
    )
    return Learnt(expert, linear, boosted)


def _copied(boosted: "Sequence[GradientBoostingClassifier]") -> BoostedTrees:
    parts: dict[str, list[Any]] = {one.name: [] for one in fields(BoostedTrees)}
    start = 0
    for tree in (grown.tree_ for one in boosted for grown in one.estimators_[:, 0]):
        own = np.arange(tree.node_count)
        leaf = tree.children_left < 0
        added = tree.value[:, 0, 0] * STEP * BOOSTED / len(boosted)
        parts["roots"].append([start])
        parts["column"].append(np.where(leaf, 0, tree.feature))
        parts["threshold"].append(np.where(leaf, 0.0, np.round(tree.threshold, ASKED_DIGITS)))
        parts["left"].append(np.where(leaf, own, tree.children_left) + start)
        parts["right"].append(np.where(leaf, own, tree.children_right) + start)
        parts["log_odds"].append(np.where(leaf, np.round(added, ADDED_DIGITS), 0.0))
        start += tree.node_count
    return BoostedTrees(**{name: np.concatenate(values) for name, values in parts.items()})


def block_of_rows(of: Table, blocks: Sequence[HoldoutBlock]) -> NDArray[np.int64]:
    """Which block each row belongs to; -1 for none."""
    issues = zip(of.repository.tolist(), of.issue.tolist(), strict=True)
    return np.array([_place(blocks, *issue) for issue in issues], np.int64)


def _place(blocks: Sequence[HoldoutBlock], repository: str, issue: str) -> int:
    holders = (at for at, one in enumerate(blocks) if one.holds(repository, _number(issue)))
    return next(holders, -1)


def held_out(blocks: Sequence[HoldoutBlock]) -> Iterator[tuple[str, frozenset[int]]]:
    """Name and blocks of each fit: every block once, Django as a whole, and nothing."""
    yield from ((block.name, frozenset({at})) for at, block in enumerate(blocks))
    yield DJANGO, frozenset(at for at, one in enumerate(blocks) if DJANGO in one.repositories)
    yield EVERYTHING, frozenset()


def learn(of: Table, blocks: Sequence[HoldoutBlock], manifest: Mapping[str, Any]) -> ConsensusModel:
    """All fits, which claim nothing yet. Takes minutes."""
    place = block_of_rows(of, blocks)
    fits = {}
    for name, held in track(list(held_out(blocks)), "fitting", transient=True):
        seen = ~np.isin(place, list(held))
        experts = {one: learn_expert(of, one, seen).expert for one in EXPERTS}
        fits[name] = FittedModel(name, thresholds=CLAIM_NOTHING, **experts)
    return ConsensusModel(fits, tuple(blocks), manifest, fingerprint="")


def with_thresholds(artefact: ConsensusModel, drawn: Sequence[Drawn]) -> ConsensusModel:
    """The same fits, each with the thresholds that a calibrator would choose on issues outside the blocks it held out.

    Every belief is by the fit that never saw the issue, with copies as one opinion, as where anybody may hand in another.
    """
    told, targets = list(held_out_beliefs(artefact, drawn)), Targets()
    fits = {}
    for name, held in held_out(artefact.blocks):
        rows = [row for at, row in told if at not in held]
        beliefs = np.array([row.evidence.consensus for row in rows], np.float64)
        chosen = thresholds(beliefs, rows, targets)
        fits[name] = replace(artefact.fits[name], thresholds=chosen)
    return replace(artefact, fits=fits, manifest={**artefact.manifest, "claims": asdict(targets)})


def held_out_beliefs(artefact: ConsensusModel, drawn: Iterable[Drawn]) -> Iterator[tuple[int, Row]]:
    """The block and what was believed of each patch of given groups, and of parts of them."""
    for group in (one.group for one in drawn if one.kind in GIVEN):
        place = _place(artefact.blocks, group.repo, group.instance_id)
        if place < 0:
            continue
        verifier = ConsensusVerifier(artefact, artefact.fits[artefact.blocks[place].name])
        said = verifier.verify(group.issue, [one.patch for one in group.patches])
        for one, patch in zip(said.patches, group.patches, strict=True):
            if one.score is not None:
                evidence = Evidence(consensus=one.score)
                yield place, Row(evidence, patch.resolved, group.instance_id)


def _number(instance_id: str) -> int:
    tail = instance_id.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0
