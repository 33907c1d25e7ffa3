"""Fit the experts (classifiers) of the consensus model on labelled groups and on pools, an issue's patches each.

One fit uses every issue. For each block of issues, another fit never sees that block, so that every issue can
be judged by a fit that did not train on it.
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
from training.calibrators.claims import ClaimTargets, choose_thresholds, count_history
from training.calibrators.evidence import PatchEvidence
from training.calibrators.recipes import compute_brier
from training.consensus import group_sampling
from training.consensus.feature_table import FeatureTable, Mask, compute_weights
from training.consensus.group_sampling import GroupKind, SampledGroup

if TYPE_CHECKING:  # scikit-learn loads when an expert is fitted
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

FILES = {
    "distinct": "distinct_eval_groups.jsonl.gz",
    "recipe": "r4p_style_eval_groups.jsonl.gz",
    "pools": "swebench_patches.jsonl.gz",
    "languages": "multilang_patches.jsonl.gz",
}
GIVEN = frozenset({GroupKind.DISTINCT, GroupKind.RECIPE})
"""Kinds of groups that are measured on."""
DJANGO = "django/django"
PARTS = 4
"""Number of blocks of Django, by issue number, with equally many issues each."""
OTHERS = {
    "sphinx": ("sphinx-doc/sphinx",),
    "matplotlib": ("matplotlib/matplotlib",),
    "xarray": ("pydata/xarray",),
    "seaborn and flask": ("mwaskom/seaborn", "pallets/flask"),
}
COPIES = {GroupKind.RECIPE: 1.0, GroupKind.DRAWN_RECIPE: 0.5, GroupKind.DRAWN_TWINS: 0.25}
"""Weight of an issue of each kind, for the expert of groups with copies."""
DISTINCT = {GroupKind.DISTINCT: 1.0, GroupKind.DRAWN_DISTINCT: 0.5, GroupKind.OTHER_LANGUAGES: 0.2}
"""Weight of an issue of each kind, for the expert of distinct edits."""
SHRINKAGE = 0.001
"""scikit-learn's C of the logistic regression."""
ROUNDS = 120
STEP = 0.05
"""Learning rate of the boosted trees."""
BAGS = 4
"""Number of boosted ensembles with different seeds. A single one moves metrics by a point."""
ASKED_DIGITS, ADDED_DIGITS = 8, 5
"""Decimals of a tree's thresholds and log-odds. More decimals enlarge the file by half and move no metric."""
BOOSTED = 2 / 3
"""Share of the boosted trees in the log-odds; the logistic regression has the rest."""
CLAIMS = ClaimTargets(accept=0.8, reject=0.7, share=0.92)
"""Claims shall be right nine times in ten. The share is two points higher: the chosen threshold flatters its own rows."""


MIXES: Mapping[str, Sequence[Mapping[GroupKind, float]]] = {
    "copies": (COPIES,),
    "few": (COPIES, DISTINCT),
    "distinct": (DISTINCT,),
}
"""Mixes of kinds per expert. The first kind of a mix is the reference for balancing."""


def load_groups(data: Path) -> list[SampledGroup]:
    """Load the groups to fit consensus on: given groups, groups sampled from pools, and parts of both.

    `data` is the folder with the FILES of labelled groups. Raises BadGroups.
    """
    distinct, recipe, pools, languages = (
        list(labelled_group.read_groups(data / name)) for name in FILES.values()
    )
    whole = [
        *group_sampling.label_kind(distinct, GroupKind.DISTINCT),
        *group_sampling.label_kind(recipe, GroupKind.RECIPE),
        *group_sampling.sample_from_pools(pools, distinct),
        *group_sampling.sample_from_languages(languages),
    ]
    return [*whole, *group_sampling.sample_parts(whole)]


def form_blocks(drawn: Sequence[SampledGroup]) -> tuple[HoldoutBlock, ...]:
    """Divide issues into blocks; each cross-validation fit of consensus leaves out some of them.

    Django's issues form PARTS blocks by issue number, cut so that the given groups in `drawn` are spread evenly. OTHERS
    has the blocks of the other repositories.
    """
    given = [sample.group for sample in drawn if sample.kind in GIVEN]
    numbers = sorted({_parse_number(group.instance_id) for group in given if group.repo == DJANGO})
    cuts = [0, *(numbers[len(numbers) * part // PARTS] for part in range(1, PARTS)), None]
    parts = [
        HoldoutBlock(f"django {part}", (DJANGO,), first or 0, below)
        for part, (first, below) in enumerate(pairwise(cuts), 1)
    ]
    return (*parts, *(HoldoutBlock(name, repositories) for name, repositories in OTHERS.items()))


@dataclass(frozen=True, slots=True, eq=False)
class FittedExpert:
    """One classifier of the consensus model, with the scikit-learn models that it was copied from."""

    expert: GroupClassifier
    linear: "LogisticRegression"
    """The logistic regression."""
    boosted: "Sequence[GradientBoostingClassifier]"
    """The ensembles of boosted trees, one for each seed."""


def select_training_rows(table: FeatureTable, name: str) -> Mask:
    """Return a mask of the rows of `table` that an expert (classifier) of consensus may learn from.

    `name` is the expert's key in MIXES: "copies", "few" or "distinct".
    """
    if name == "few":
        return table.is_part
    return ~table.is_part if name == "copies" else ~table.is_part & ~table.has_copies


def fit_expert(table: FeatureTable, name: str, seen: Mask) -> FittedExpert:
    """Fit one expert (classifier) of the consensus model on the rows of `table` in the mask `seen`.

    `name` is the expert's key in MIXES: "copies", "few" or "distinct".
    """
    among = seen & select_training_rows(table, name)
    weight: Floats = np.sum([compute_weights(table, mix, among) for mix in MIXES[name]], axis=0)
    used = weight > 0
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    rows, label, weight = table.facts[used], table.label[used], weight[used]
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    # a constant feature must not divide by zero
    scale[scale == 0] = 1.0
    standard = consensus_model.standardise(rows, mean, scale)
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
        trees=_copy_trees(boosted),
    )
    return FittedExpert(expert, linear, boosted)


def _copy_trees(boosted: "Sequence[GradientBoostingClassifier]") -> BoostedTrees:
    parts: dict[str, list[Any]] = {item.name: [] for item in fields(BoostedTrees)}
    start = 0
    for tree in (grown.tree_ for item in boosted for grown in item.estimators_[:, 0]):
        # leaves point to themselves, so that every row can take the same number of steps
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


def assign_blocks(table: FeatureTable, blocks: Sequence[HoldoutBlock]) -> NDArray[np.int64]:
    """Return, for each row of `table`, the index in `blocks` of the block with its issue; -1 for none."""
    issues = zip(table.repository.tolist(), table.issue.tolist(), strict=True)
    return np.array([_find_block(blocks, *issue) for issue in issues], np.int64)


def _find_block(blocks: Sequence[HoldoutBlock], repository: str, issue: str) -> int:
    holders = (
        index
        for index, block in enumerate(blocks)
        if block.contains(repository, _parse_number(issue))
    )
    return next(holders, -1)


def iterate_held_out(blocks: Sequence[HoldoutBlock]) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the name of each fit of consensus, with the indices in `blocks` of the blocks that it never sees.

    There is a fit without each block, a fit without all blocks of Django, and a fit on every issue.
    """
    yield from ((block.name, frozenset({index})) for index, block in enumerate(blocks))
    yield (
        DJANGO,
        frozenset(index for index, block in enumerate(blocks) if DJANGO in block.repositories),
    )
    yield EVERYTHING, frozenset()


def fit_artefact(
    table: FeatureTable, blocks: Sequence[HoldoutBlock], manifest: Mapping[str, Any]
) -> ConsensusModel:
    """Fit every expert of every fit of the consensus model. Takes minutes.

    The model stores `manifest`. It claims nothing until `add_thresholds` adds its verdict thresholds.
    """
    place = assign_blocks(table, blocks)
    fits = {}
    for name, held in track(list(iterate_held_out(blocks)), "fitting", transient=True):
        seen = ~np.isin(place, list(held))
        experts = {name: fit_expert(table, name, seen).expert for name in EXPERTS}
        fits[name] = FittedModel(name, thresholds=CLAIM_NOTHING, **experts)
    return ConsensusModel(fits, tuple(blocks), manifest, fingerprint="")


def add_thresholds(artefact: ConsensusModel, drawn: Sequence[SampledGroup]) -> ConsensusModel:
    """Return the consensus model with verdict thresholds for each fit.

    They are chosen on issues outside the blocks that the fit holds out. The belief in a patch comes from the fit that
    never saw its issue. Copies count as one opinion, because anyone may submit a copy.
    """
    predictions = list(predict_held_out(artefact, drawn))
    fits = {}
    for name, held in iterate_held_out(artefact.blocks):
        rows = [row for index, row in predictions if index not in held]
        beliefs = np.array([row.evidence.consensus for row in rows], np.float64)
        chosen = choose_thresholds(beliefs, rows, CLAIMS)
        fits[name] = replace(artefact.fits[name], thresholds=chosen)
    return replace(
        artefact, fits=fits, manifest={**artefact.manifest, **_describe_labels(artefact, drawn)}
    )


def _describe_labels(artefact: ConsensusModel, drawn: Sequence[SampledGroup]) -> dict[str, Any]:
    """Describe for the manifest: the targets of claims, and labels and Brier score of the whole groups, held out."""
    whole = (sample for sample in drawn if not sample.is_part)
    rows = [row for _, row in predict_held_out(artefact, whole)]
    beliefs = np.array([row.evidence.consensus for row in rows], np.float64)
    labels = {
        "history": asdict(count_history(rows)),
        "brier": round(compute_brier(beliefs, rows), 4),
    }
    return {"claims": asdict(CLAIMS), **labels}


def predict_held_out(
    artefact: ConsensusModel, drawn: Iterable[SampledGroup]
) -> Iterator[tuple[int, PatchEvidence]]:
    """Yield a (block index, evidence with label) pair for each patch of the given groups and of their parts.

    The evidence is the belief of the consensus fit that never saw the block. Issues outside all blocks, and patches
    without a belief, are skipped.
    """
    for group in (sample.group for sample in drawn if sample.kind in GIVEN):
        place = _find_block(artefact.blocks, group.repo, group.instance_id)
        if place < 0:
            continue
        verifier = ConsensusVerifier(artefact, artefact.fits[artefact.blocks[place].name])
        verdict = verifier.verify(group.issue, [patch.patch for patch in group.patches])
        for judged_patch, patch in zip(verdict.patches, group.patches, strict=True):
            if judged_patch.score is not None:
                evidence = Evidence(consensus=judged_patch.score)
                yield place, PatchEvidence(evidence, patch.resolved, group.instance_id)


def _parse_number(instance_id: str) -> int:
    tail = instance_id.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0
