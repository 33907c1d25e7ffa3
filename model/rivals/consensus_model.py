"""A small calibrated model on cheap facts about rivals, in numpy: probabilities without a language model.

An artefact holds several fits: one that saw every labelled issue, for everyday use, and for each block of issues one
that never saw it, so that whoever measures on those issues measures honestly. Each fit has three experts: one for
groups in which two rivals make the very same edit, one for groups of few rivals, one for all others. An expert adds up
log-odds: a logistic regression's and boosted trees'. Its probabilities are calibrated as they come, and each fit knows
from which of them on a claim was right often enough: docs/consensus.md shows both.
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
from model.rivals.features import Facts, facts
from model.voting.thresholds import Thresholds

Floats = NDArray[np.float64]

FORMAT = "r4p.consensus/3"
EVERYTHING = "everything"
"""The fit that saw all labelled issues."""
FEW = 4
"""Groups of fewer rivals than this tell less."""
CLIP = 4.0
"""Standard deviations beyond which a fact tells nothing more."""


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Boosted trees, node after node: a leaf is its own left and right."""

    roots: NDArray[np.int64]
    column: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    log_odds: Floats
    """What each leaf adds."""

    def sum(self, standard: Floats) -> Floats:
        """For each row, what the leaves it falls into add, over all trees."""
        # single precision, as the trees were grown
        rows = standard.astype(np.float32)
        node = np.tile(self.roots, (len(rows), 1))
        seat = np.arange(len(rows))[:, None]
        while True:
            low = rows[seat, self.column[node]] <= self.threshold[node]
            following = np.where(low, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return self.log_odds[node].sum(axis=1)  # type: ignore[no-any-return]
            node = following


@dataclass(frozen=True, slots=True, eq=False)
class GroupClassifier:
    """Facts to probability, for one sort of group."""

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float
    trees: BoostedTrees

    def probability(self, rows: Floats) -> Floats:
        """The probability that each patch is correct, one row of facts per patch."""
        standard = standardised(rows, self.mean, self.scale)
        log_odds = standard @ self.weights + self.bias + self.trees.sum(standard)
        return 1 / (1 + np.exp(-log_odds))


CLAIM_NOTHING = Thresholds(None, None)


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """What was learnt from one set of issues."""

    name: str
    copies: GroupClassifier
    """Judges groups in which two rivals make the very same edit."""
    few: GroupClassifier
    """Judges other groups of fewer than FEW rivals."""
    distinct: GroupClassifier
    """Judges all others."""
    thresholds: Thresholds
    """On the probability; chosen on issues of other blocks than the one held out."""

    def probabilities(self, issue: Issue, edits: Sequence[PatchEdit]) -> list[float]:
        """The probability of each patch to be correct, in order; equal edits get equal ones."""
        if not edits:
            return []
        known = facts(issue, edits)
        expert: GroupClassifier = getattr(self, expert_of(known))
        return [float(one) for one in expert.probability(matrix(known))]


EXPERTS = ("copies", "few", "distinct")


@dataclass(frozen=True, slots=True)
class HoldoutBlock:
    """Issues that are held out together: some repositories, or issue numbers of one."""

    name: str
    repositories: tuple[str, ...]
    first: int = 0
    below: int | None = None

    def holds(self, repository: str, number: int) -> bool:
        """Whether an issue belongs here."""
        return (
            repository in self.repositories
            and self.first <= number
            and (self.below is None or number < self.below)
        )


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusModel:
    """Every fit, the blocks they never saw, and how they came about."""

    fits: Mapping[str, FittedModel]
    """By the name of the block that was held out, or EVERYTHING."""
    blocks: tuple[HoldoutBlock, ...]
    manifest: Mapping[str, Any]
    fingerprint: str
    """12 hex digits of the file's hash."""

    def fit_for(self, repository: str, instance_id: str, *, strict: bool = False) -> FittedModel:
        """The fit that never saw this issue; EVERYTHING for an issue that nobody trained on.

        With `strict`, one that never saw the repository.
        """
        number = int(instance_id.rpartition("-")[2]) if instance_id[-1:].isdigit() else 0
        if strict and repository in self.fits:
            return self.fits[repository]
        held = (block.name for block in self.blocks if block.holds(repository, number))
        return self.fits[next(held, EVERYTHING)]


def matrix(known: Sequence[Facts]) -> Floats:
    """One row per patch, one column per fact."""
    return np.array([list(one.values()) for one in known], dtype=np.float64)


def has_copies(known: Sequence[Facts]) -> bool:
    """Whether two patches of the group make the very same edit."""
    return known[0]["group's same"] > 0


def expert_of(known: Sequence[Facts]) -> str:
    """Who of EXPERTS judges the group."""
    if has_copies(known):
        return "copies"
    return "few" if len(known) < FEW else "distinct"


def standardised(rows: Floats, mean: Floats, scale: Floats) -> Floats:
    """Standard deviations from the training mean, clipped."""
    return np.clip((rows - mean) / scale, -CLIP, CLIP)


@cache
def shipped() -> ConsensusModel:
    """The artefact that comes with the package."""
    return from_bytes((files("model.rivals") / "consensus.json.xz").read_bytes())


def to_bytes(artefact: ConsensusModel) -> bytes:
    """JSON, packed; the same artefact gives the same bytes."""
    document = {
        "format": FORMAT,
        "manifest": dict(artefact.manifest),
        "blocks": [
            [block.name, list(block.repositories), block.first, block.below]
            for block in artefact.blocks
        ],
        "fits": {
            name: {"thresholds": asdict(fit.thresholds)}
            | {expert: _expert_out(getattr(fit, expert)) for expert in EXPERTS}
            for name, fit in artefact.fits.items()
        },
    }
    text = json.dumps(document, separators=(",", ":"))
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def from_bytes(packed: bytes) -> ConsensusModel:
    """What `to_bytes` wrote. Raises BadArtefact for another format."""
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
                **{expert: _expert_in(fit[expert]) for expert in EXPERTS},
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


def _expert_out(expert: GroupClassifier) -> dict[str, Any]:
    arrays = ("mean", "scale", "weights")
    return {
        "bias": expert.bias,
        **{name: getattr(expert, name).tolist() for name in arrays},
        "trees": {one.name: getattr(expert.trees, one.name).tolist() for one in fields(BoostedTrees)}
        | _steps(expert.trees),
    }


def _steps(trees: BoostedTrees) -> dict[str, list[int]]:
    """How far it is to the next root and to each child: small numbers that recur, and so pack well."""
    here = np.arange(len(trees.left))
    return {
        "roots": np.diff(trees.roots, prepend=0).tolist(),
        "left": (trees.left - here).tolist(),
        "right": (trees.right - here).tolist(),
    }


def _expert_in(document: Mapping[str, Any]) -> GroupClassifier:
    real = {"threshold", "log_odds"}
    trees: dict[str, Any] = {
        name: np.array(values, np.float64 if name in real else np.int64)
        for name, values in document["trees"].items()
    }
    here = np.arange(len(trees["left"]))
    trees["roots"] = trees["roots"].cumsum()
    trees["left"] += here
    trees["right"] += here
    return GroupClassifier(
        mean=np.array(document["mean"], np.float64),
        scale=np.array(document["scale"], np.float64),
        weights=np.array(document["weights"], np.float64),
        bias=document["bias"],
        trees=BoostedTrees(**trees),
    )
