"""The consensus model computes probabilities from features of rivals, in numpy and without a language model.

A model file holds several fits: one on every labelled issue, for everyday use, and one per block of issues that leaves
out this block, for honest measurements. Each fit has three classifiers: for groups with two equal edits, for groups of
few rivals, and for all other groups. A classifier adds the log-odds of a logistic regression and of boosted trees. Each
fit also has the thresholds from which a claim was right often enough; see docs/consensus.md.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.domain import Issue
from model.errors import BadArtefact
from model.patches.edits import PatchEdit
from model.rivals.features import Features, compute_features
from model.rivals.score_effects import Prediction, predict_with_effects
from model.voting.thresholds import Thresholds

Floats = NDArray[np.float64]

FORMAT = "r4p.consensus/3"
EVERYTHING = "everything"
"""The name of the fit on all labelled issues."""
FEW_RIVALS = 4
"""Groups with fewer rivals have their own classifier."""
MAX_DEVIATIONS = 4.0
"""Standardised features are clipped to this many standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Boosted trees as arrays over all nodes. A leaf is its own left and right child.

    `roots` are the first nodes of the trees. A patch goes left where feature number `column` is at most `threshold`.
    """

    roots: NDArray[np.int64]
    column: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    log_odds: Floats
    """The summand of each leaf."""

    def sum_leaves(self, standard: Floats) -> Floats:
        """Return the log-odds of each patch: the sum of the leaves that it reaches in all trees.

        `standard` holds standardised features of the shape (patches, features).
        """
        # single precision, as in training: a double could fall on the other side of a threshold
        rows = standard.astype(np.float32)
        # Shape (patches, trees): the node that each patch has reached in each tree.
        node = np.tile(self.roots, (len(rows), 1))
        # Shape (patches, 1), broadcast against the columns of all trees.
        seat = np.arange(len(rows))[:, None]
        while True:
            low = rows[seat, self.column[node]] <= self.threshold[node]
            following = np.where(low, self.left[node], self.right[node])
            # A leaf points to itself, so the walk has ended when no node changes.
            if np.array_equal(following, node):
                return self.log_odds[node].sum(axis=1)  # type: ignore[no-any-return]
            node = following


@dataclass(frozen=True, slots=True, eq=False)
class GroupClassifier:
    """A classifier from the features of a patch to the probability that it is correct, for one kind of group."""

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float
    trees: BoostedTrees

    def predict_probability(self, rows: Floats) -> Floats:
        """Compute the probability that each patch is correct. `rows` holds features, of shape (patches, features)."""
        standard = standardise(rows, self.mean, self.scale)
        log_odds = standard @ self.weights + self.bias + self.trees.sum_leaves(standard)
        return 1 / (1 + np.exp(-log_odds))


CLAIM_NOTHING = Thresholds(None, None)


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """The classifiers and thresholds of the consensus model that were fitted on one set of issues."""

    name: str
    copies: GroupClassifier
    """The classifier for groups with two equal edits."""
    few: GroupClassifier
    """The classifier for other groups of fewer than FEW_RIVALS rivals."""
    distinct: GroupClassifier
    """The classifier for all other groups."""
    thresholds: Thresholds
    """Thresholds on the probability, chosen on issues outside the held-out block."""

    def predict(self, issue: Issue, edits: Sequence[PatchEdit]) -> list[Prediction]:
        """Compute the probability that each patch is correct, in order. Equal edits get equal probabilities."""
        if not edits:
            return []
        features = compute_features(issue, edits)
        classifier: GroupClassifier = getattr(self, select_expert(features))
        return predict_with_effects(classifier.predict_probability, build_matrix(features))


EXPERTS = ("copies", "few", "distinct")


@dataclass(frozen=True, slots=True)
class HoldoutBlock:
    """A set of issues that a fit leaves out: some repositories, or a range of issue numbers of one repository.

    The range goes from `first` up to `below`, which is not part of it. None means no upper end.
    """

    name: str
    repositories: tuple[str, ...]
    first: int = 0
    below: int | None = None

    def contains(self, repository: str, number: int) -> bool:
        """Return whether the issue `number` of `repository` belongs to this block."""
        return (
            repository in self.repositories
            and self.first <= number
            and (self.below is None or number < self.below)
        )


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusModel:
    """The content of a consensus model file.

    It holds every fit, the blocks of issues that the fits leave out, and the manifest of the training.
    """

    fits: Mapping[str, FittedModel]
    """Fits by the name of the held-out block, or EVERYTHING."""
    blocks: tuple[HoldoutBlock, ...]
    manifest: Mapping[str, Any]
    fingerprint: str
    """The first 12 hex digits of the file's SHA-256."""

    def select_fit(self, repository: str, instance_id: str, *, strict: bool = False) -> FittedModel:
        """Return a fit that never saw an issue; for an issue outside all blocks, the fit on every labelled issue.

        `instance_id` ends in a dash and the issue's number; one without a number, such as that of a gym task, is in no
        range of numbers. With `strict`, the fit never saw the repository.
        """
        last = instance_id.rpartition("-")[2]
        number = int(last) if last.isascii() and last.isdigit() else 0
        if strict and repository in self.fits:
            return self.fits[repository]
        names = (block.name for block in self.blocks if block.contains(repository, number))
        return self.fits[next(names, EVERYTHING)]


def build_matrix(features: Sequence[Features]) -> Floats:
    """Convert the features of each patch to a matrix with one row per patch and one column per feature."""
    return np.array([list(row.values()) for row in features], dtype=np.float64)


def has_copies(features: Sequence[Features]) -> bool:
    """Return whether two patches of a group make exactly the same edit, given the features of its patches."""
    return features[0]["group's same"] > 0


def select_expert(features: Sequence[Features]) -> str:
    """Return the name of the classifier for a group: `copies`, `few` or `distinct`.

    `features` are those of the group's patches.
    """
    if has_copies(features):
        return "copies"
    return "few" if len(features) < FEW_RIVALS else "distinct"


def standardise(rows: Floats, mean: Floats, scale: Floats) -> Floats:
    """Convert features to standard deviations from the training mean, clipped to MAX_DEVIATIONS.

    `rows` has the shape (patches, features). `mean` and `scale`, the deviations in training, have one value a feature.
    """
    # Without the clip, one extreme feature outweighs all others.
    return np.clip((rows - mean) / scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)


@cache
def load_shipped() -> ConsensusModel:
    """Load the consensus model that this package ships."""
    return from_bytes((files("model.rivals") / "consensus.json.xz").read_bytes())


def to_bytes(artefact: ConsensusModel) -> bytes:
    """Return a consensus model as the bytes of its file, compressed JSON. Equal models give equal bytes."""
    document = {
        "format": FORMAT,
        "manifest": dict(artefact.manifest),
        "blocks": [
            [block.name, list(block.repositories), block.first, block.below]
            for block in artefact.blocks
        ],
        "fits": {
            name: {"thresholds": asdict(fit.thresholds)}
            | {expert: _encode_classifier(getattr(fit, expert)) for expert in EXPERTS}
            for name, fit in artefact.fits.items()
        },
    }
    text = json.dumps(document, separators=(",", ":"))
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def from_bytes(packed: bytes) -> ConsensusModel:
    """Read a consensus model that `to_bytes` wrote. Raises BadArtefact for another format."""
    document = json.loads(lzma.decompress(packed))
    if document.get("format") != FORMAT:
        raise BadArtefact(
            f"the consensus artefact has format {document.get('format')!r}, and {FORMAT!r} is read; "
            "write it again with `python -m training.consensus`"
        )
    return ConsensusModel(
        fits={
            name: FittedModel(
                name,
                thresholds=Thresholds(**fit["thresholds"]),
                **{expert: _decode_classifier(fit[expert]) for expert in EXPERTS},
            )
            for name, fit in document["fits"].items()
        },
        blocks=tuple(
            HoldoutBlock(name, tuple(repositories), first, below)
            for name, repositories, first, below in document["blocks"]
        ),
        manifest=document["manifest"],
        fingerprint=hashlib.sha256(packed).hexdigest()[:12],
    )


def _encode_classifier(classifier: GroupClassifier) -> dict[str, Any]:
    arrays = ("mean", "scale", "weights")
    return {
        "bias": classifier.bias,
        **{name: getattr(classifier, name).tolist() for name in arrays},
        "trees": {
            part.name: getattr(classifier.trees, part.name).tolist()
            for part in fields(BoostedTrees)
        }
        | _encode_links(classifier.trees),
    }


def _encode_links(trees: BoostedTrees) -> dict[str, list[int]]:
    """Encode links as distances to the next root and to each child. Small repeated numbers compress well."""
    nodes = np.arange(len(trees.left))
    return {
        "roots": np.diff(trees.roots, prepend=0).tolist(),
        "left": (trees.left - nodes).tolist(),
        "right": (trees.right - nodes).tolist(),
    }


def _decode_classifier(document: Mapping[str, Any]) -> GroupClassifier:
    float_arrays = {"threshold", "log_odds"}
    trees: dict[str, Any] = {
        name: np.array(values, np.float64 if name in float_arrays else np.int64)
        for name, values in document["trees"].items()
    }
    nodes = np.arange(len(trees["left"]))
    trees["roots"] = trees["roots"].cumsum()
    trees["left"] += nodes
    trees["right"] += nodes
    return GroupClassifier(
        mean=np.array(document["mean"], np.float64),
        scale=np.array(document["scale"], np.float64),
        weights=np.array(document["weights"], np.float64),
        bias=document["bias"],
        trees=BoostedTrees(**trees),
    )
