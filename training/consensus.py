"""Fits the consensus model: `python -m training.consensus --data DIR` writes its artefact, the same bytes every time.

DIR holds labelled groups and pools of patches, see FILES. One fit sees every issue; for each block of issues another
one is made that never sees it, calibration included.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import sklearn
import typer
from rich.progress import track
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from model import consensus
from model.consensus import EVERYTHING, Artefact, Block, Expert, Fit, Forest
from model.evaluation import groups
from model.features import columns
from training import draws
from training.draws import Drawn, Kind
from training.table import Mask, Table, table, weights

FILES = {
    "distinct": "distinct_eval_groups.jsonl.gz",
    "recipe": "r4p_style_eval_groups.jsonl.gz",
    "pools": "swebench_patches.jsonl.gz",
    "languages": "multilang_patches.jsonl.gz",
}
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
"""What the experts learn from, and how much an issue of each kind weighs."""
SHRINKAGE = 0.001
"""scikit-learn's C of the logistic regression."""
TREES, LEAVES, LEAF_ROWS, TRIED = 100, 40, 10, 0.2
SEED = 0


@dataclass(frozen=True, slots=True)
class Sort:
    """One of the two experts: what it learns from, and which groups it judges."""

    copies: bool
    mix: Mapping[Kind, float]


SORTS = (Sort(copies=True, mix=COPIES), Sort(copies=False, mix=DISTINCT))


def load(data: Path) -> list[Drawn]:
    """The groups of all files, and those drawn from them. Raises BadGroups."""
    distinct, recipe, pools, languages = (list(groups.read(data / name)) for name in FILES.values())
    return [
        *draws.given(distinct, Kind.DISTINCT),
        *draws.given(recipe, Kind.RECIPE),
        *draws.from_pools(pools, distinct),
        *draws.from_languages(languages),
    ]


def blocks_of(drawn: Sequence[Drawn]) -> tuple[Block, ...]:
    """Django in parts with equally many given issues, other repositories one block each or together."""
    given = [one.group for one in drawn if one.kind in {Kind.DISTINCT, Kind.RECIPE}]
    numbers = sorted({_number(one.instance_id) for one in given if one.repo == DJANGO})
    cuts = [0, *(numbers[len(numbers) * part // PARTS] for part in range(1, PARTS)), None]
    parts = [
        Block(f"django {part}", (DJANGO,), first or 0, below)
        for part, (first, below) in enumerate(pairwise(cuts), 1)
    ]
    return (*parts, *(Block(name, repositories) for name, repositories in OTHERS.items()))


def fit_expert(of: Table, sort: Sort, seen: Mask) -> Expert:
    """An expert that learns from the rows of `seen` alone, not calibrated."""
    expert, _, _ = fitted(of, sort, seen)
    return expert


def fitted(
    of: Table, sort: Sort, seen: Mask
) -> tuple[Expert, LogisticRegression, ExtraTreesClassifier]:
    """The expert beside the two models of scikit-learn that it was copied from."""
    among = seen if sort.copies else seen & ~of.copies
    weight = weights(of, sort.mix, among)
    used = weight > 0
    rows, label, weight = of.facts[used], of.label[used], weight[used]
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    standard = consensus.standardised(rows, mean, scale)
    linear = LogisticRegression(C=SHRINKAGE, max_iter=1000, tol=1e-6)
    linear.fit(standard, label, sample_weight=weight)
    forest = ExtraTreesClassifier(
        TREES,
        min_samples_leaf=LEAF_ROWS,
        max_leaf_nodes=LEAVES,
        max_features=TRIED,
        random_state=SEED,
    )
    forest.fit(standard, label, sample_weight=weight)
    expert = Expert(
        mean=mean,
        scale=scale,
        weights=linear.coef_[0],
        bias=float(linear.intercept_[0]),
        forest=_copied(forest),
    )
    return expert, linear, forest


def _copied(forest: ExtraTreesClassifier) -> Forest:
    parts: dict[str, list[Any]] = {
        name: [] for name in ("roots", "column", "threshold", "left", "right", "share")
    }
    start = 0
    for grown in forest.estimators_:
        tree = grown.tree_
        own = np.arange(tree.node_count)
        leaf = tree.children_left < 0
        parts["roots"].append([start])
        parts["column"].append(np.where(leaf, 0, tree.feature))
        parts["threshold"].append(np.where(leaf, 0.0, tree.threshold))
        parts["left"].append(np.where(leaf, own, tree.children_left) + start)
        parts["right"].append(np.where(leaf, own, tree.children_right) + start)
        parts["share"].append(np.where(leaf, tree.value[:, 0, 1], 0.0))
        start += tree.node_count
    return Forest(**{name: np.concatenate(values) for name, values in parts.items()})


class Folds:
    """Fits for every set of held-out blocks, each made once."""

    def __init__(self, of: Table, blocks: Sequence[Block]) -> None:
        self.of = of
        self.blocks = blocks
        numbers = [_number(issue) for issue in of.issue.tolist()]
        self.block = np.array(
            [
                next((at for at, one in enumerate(blocks) if one.holds(repository, number)), -1)
                for repository, number in zip(of.repository.tolist(), numbers, strict=True)
            ]
        )
        self._experts: dict[tuple[bool, frozenset[int]], Expert] = {}

    def expert(self, sort: Sort, held: frozenset[int]) -> Expert:
        """The expert that never saw the blocks of `held`, not calibrated."""
        key = (sort.copies, held)
        if key not in self._experts:
            self._experts[key] = fit_expert(self.of, sort, ~np.isin(self.block, list(held)))
        return self._experts[key]

    def calibrated(self, sort: Sort, held: frozenset[int]) -> Expert:
        """The same with Platt's scaling, fitted on the other blocks, each judged by experts that saw neither."""
        said, truth = [], []
        for at in sorted(set(range(len(self.blocks))) - held):
            rows = self._judged(sort) & (self.block == at)
            if rows.any():
                expert = self.expert(sort, held | {at})
                said.append(expert.uncalibrated(self.of.facts[rows]))
                truth.append(self.of.label[rows])
        odds = consensus.log_odds(np.concatenate(said))[:, None]
        platt = LogisticRegression(C=1e6, max_iter=1000).fit(odds, np.concatenate(truth))
        return replace(
            self.expert(sort, held),
            slope=float(platt.coef_[0, 0]),
            offset=float(platt.intercept_[0]),
        )

    def fit(self, name: str, held: frozenset[int]) -> Fit:
        """Both experts, calibrated, that never saw the blocks of `held`."""
        copies, distinct = (self.calibrated(sort, held) for sort in SORTS)
        return Fit(name, copies, distinct)

    def _judged(self, sort: Sort) -> Mask:
        """Rows of given groups that this expert would judge."""
        given = np.isin(self.of.kind, [Kind.DISTINCT.value, Kind.RECIPE.value])
        return given & (self.of.copies == sort.copies)


def held_out(blocks: Sequence[Block]) -> Iterator[tuple[str, frozenset[int]]]:
    """Name and blocks of each fit: every block once, Django as a whole, and nothing."""
    yield from ((block.name, frozenset({at})) for at, block in enumerate(blocks))
    yield DJANGO, frozenset(at for at, one in enumerate(blocks) if DJANGO in one.repositories)
    yield EVERYTHING, frozenset()


def learn(of: Table, blocks: Sequence[Block], manifest: Mapping[str, Any]) -> Artefact:
    """All fits. Takes minutes."""
    folds = Folds(of, blocks)
    fits = {
        name: folds.fit(name, held)
        for name, held in track(list(held_out(blocks)), "fitting", transient=True)
    }
    return Artefact(fits, tuple(blocks), manifest, fingerprint="")


def manifest_of(data: Path, drawn: Sequence[Drawn]) -> dict[str, Any]:
    """What the artefact was made of and with."""
    return {
        "data": {
            name: hashlib.sha256((data / name).read_bytes()).hexdigest() for name in FILES.values()
        },
        "groups": {kind.value: sum(one.kind is kind for one in drawn) for kind in Kind},
        "seeds": {"draws": draws.SEED, "trees": SEED},
        "facts": list(columns()),
        "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
    }


def main(
    data: Annotated[Path, typer.Option(help="Folder of the labelled groups.")],
    out: Annotated[Path, typer.Option(help="The artefact.")] = Path(
        "model/artefacts/consensus.json.gz"
    ),
) -> None:
    """Fit the consensus model and write its artefact."""
    drawn = load(data)
    artefact = learn(table(drawn), blocks_of(drawn), manifest_of(data, drawn))
    out.write_bytes(consensus.to_bytes(artefact))
    typer.echo(f"{out}: {len(artefact.fits)} fits, {out.stat().st_size:,} bytes")


def _number(instance_id: str) -> int:
    tail = instance_id.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0


if __name__ == "__main__":
    typer.run(main)
