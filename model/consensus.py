"""A small calibrated model on cheap facts about rivals, in numpy: probabilities without a language model.

An artefact holds several fits: one that saw every labelled issue, for everyday use, and for each block of issues one
that never saw it, so that whoever measures on those issues measures honestly. Each fit has two experts: one for groups
in which two rivals make the very same edit, one for groups in which all differ. An expert is the mean of a logistic
regression and a forest of randomised trees, made a probability by Platt's scaling on held-out issues.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.domain import Issue
from model.edits import Edit
from model.errors import BadArtefact
from model.features import Facts, facts

Floats = NDArray[np.float64]

FORMAT = "r4p.consensus/1"
EVERYTHING = "everything"
"""The fit that saw all labelled issues."""
CLIP = 4.0
"""Standard deviations beyond which a fact tells nothing more."""
_SURE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Randomised trees, node after node: a leaf is its own left and right."""

    roots: NDArray[np.int64]
    column: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    share: Floats
    """Share of correct patches in each node."""

    def probability(self, standard: Floats) -> Floats:
        """Mean over the trees of the share in the leaf that each row falls into."""
        # single precision, as the trees were grown
        rows = standard.astype(np.float32)
        node = np.tile(self.roots, (len(rows), 1))
        seat = np.arange(len(rows))[:, None]
        while True:
            low = rows[seat, self.column[node]] <= self.threshold[node]
            following = np.where(low, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return self.share[node].mean(axis=1)  # type: ignore[no-any-return]
            node = following


@dataclass(frozen=True, slots=True, eq=False)
class Expert:
    """Facts to probability, for one sort of group."""

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float
    forest: Forest
    slope: float = 1.0
    """Platt's scaling of the log-odds."""
    offset: float = 0.0

    def uncalibrated(self, rows: Floats) -> Floats:
        """The mean of both models, one row of facts per patch."""
        standard = standardised(rows, self.mean, self.scale)
        linear = sigmoid(standard @ self.weights + self.bias)
        return (linear + self.forest.probability(standard)) / 2

    def probability(self, rows: Floats) -> Floats:
        """The probability that each patch is correct."""
        return sigmoid(self.slope * log_odds(self.uncalibrated(rows)) + self.offset)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What was learnt from one set of issues."""

    name: str
    copies: Expert
    """Judges groups in which two rivals make the very same edit."""
    distinct: Expert
    """Judges groups in which all rivals differ."""

    def probabilities(self, issue: Issue, edits: Sequence[Edit]) -> list[float]:
        """The probability of each patch to be correct, in order; equal edits get equal ones."""
        if not edits:
            return []
        known = facts(issue, edits)
        expert = self.copies if has_copies(known) else self.distinct
        return [float(one) for one in expert.probability(matrix(known))]


@dataclass(frozen=True, slots=True)
class Block:
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
class Artefact:
    """Every fit, the blocks they never saw, and how they came about."""

    fits: Mapping[str, Fit]
    """By the name of the block that was held out, or EVERYTHING."""
    blocks: tuple[Block, ...]
    manifest: Mapping[str, Any]
    fingerprint: str
    """12 hex digits of the file's hash."""

    def fit_for(self, repository: str, instance_id: str, *, strict: bool = False) -> Fit:
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


def standardised(rows: Floats, mean: Floats, scale: Floats) -> Floats:
    """Standard deviations from the training mean, clipped."""
    return np.clip((rows - mean) / scale, -CLIP, CLIP)


def log_odds(probability: Floats) -> Floats:
    """The log-odds, finite for 0 and 1."""
    sure = np.clip(probability, _SURE, 1 - _SURE)
    return np.log(sure / (1 - sure))


def sigmoid(log_odds: Floats) -> Floats:
    """The inverse of `log_odds`."""
    return 1 / (1 + np.exp(-log_odds))


@cache
def shipped() -> Artefact:
    """The artefact that comes with the package."""
    return from_bytes((files("model.artefacts") / "consensus.json.gz").read_bytes())


def to_bytes(artefact: Artefact) -> bytes:
    """JSON, packed; the same artefact gives the same bytes."""
    document = {
        "format": FORMAT,
        "manifest": dict(artefact.manifest),
        "blocks": [
            [block.name, list(block.repositories), block.first, block.below]
            for block in artefact.blocks
        ],
        "fits": {
            name: {"copies": _expert_out(fit.copies), "distinct": _expert_out(fit.distinct)}
            for name, fit in artefact.fits.items()
        },
    }
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)


def from_bytes(packed: bytes) -> Artefact:
    """What `to_bytes` wrote. Raises BadArtefact for another format."""
    document = json.loads(gzip.decompress(packed))
    if document.get("format") != FORMAT:
        raise BadArtefact(
            f"the consensus artefact has format {document.get('format')!r}, and {FORMAT!r} is read; "
            "write it again with `python -m training.consensus`"
        )
    return Artefact(
        fits={
            name: Fit(name, _expert_in(fit["copies"]), _expert_in(fit["distinct"]))
            for name, fit in document["fits"].items()
        },
        blocks=tuple(
            Block(name, tuple(repositories), first, below)
            for name, repositories, first, below in document["blocks"]
        ),
        manifest=document["manifest"],
        fingerprint=hashlib.sha256(packed).hexdigest()[:12],
    )


_FOREST = ("roots", "column", "threshold", "left", "right", "share")


def _expert_out(expert: Expert) -> dict[str, Any]:
    return {
        "mean": expert.mean.tolist(),
        "scale": expert.scale.tolist(),
        "weights": expert.weights.tolist(),
        "bias": expert.bias,
        "slope": expert.slope,
        "offset": expert.offset,
        "forest": {name: getattr(expert.forest, name).tolist() for name in _FOREST},
    }


def _expert_in(document: Mapping[str, Any]) -> Expert:
    forest = document["forest"]
    real, whole = np.float64, np.int64
    return Expert(
        mean=np.array(document["mean"], real),
        scale=np.array(document["scale"], real),
        weights=np.array(document["weights"], real),
        bias=document["bias"],
        slope=document["slope"],
        offset=document["offset"],
        forest=Forest(
            roots=np.array(forest["roots"], whole),
            column=np.array(forest["column"], whole),
            threshold=np.array(forest["threshold"], real),
            left=np.array(forest["left"], whole),
            right=np.array(forest["right"], whole),
            share=np.array(forest["share"], real),
        ),
    )
