"""Arrange sampled groups as one table of features and labels, with weights for a fit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from model.domain import Issue
from model.patches import edits
from model.patches.edits import PatchEdit
from model.rivals.consensus_model import Floats, build_matrix, has_copies
from model.rivals.features import Features, compute_features
from model.rivals.rival_agreement import build_panels
from training.consensus.group_sampling import GroupKind, SampledGroup, read_system

Mask = NDArray[np.bool_]
_MOST = 5.0
"""Balancing raises or lowers a weight by at most this factor."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The features and labels to fit consensus on, as arrays with a row per patch of every sampled group."""

    facts: Floats
    """Features of the patches, with the shape (rows, features)."""
    label: NDArray[np.int64]
    """1 for a correct patch, 0 for an incorrect one."""
    kind: NDArray[np.str_]
    """GroupKind of the row's group."""
    issue: NDArray[np.str_]
    """Instance id of the row's issue."""
    repository: NDArray[np.str_]
    system: NDArray[np.str_]
    """System that wrote the row's patch. Used to leave a system out, never as a feature."""
    correct_quarters: NDArray[np.int64]
    """Share of correct patches in the row's group, in quarters (0 to 4)."""
    has_copies: Mask
    """Whether two patches of the row's group make the same edit."""
    is_part: Mask
    """Whether the row's group is a part, with copies as one opinion."""


def build_table(drawn: Iterable[SampledGroup]) -> FeatureTable:
    """Build the feature table of the sampled groups `drawn`, with a row for each patch, in order.

    A group with `is_part` whose patches all make the same edit is skipped, because it has only one opinion.
    """
    read = cache(edits.read_edit)
    rows, columns = [], []
    for sample in drawn:
        group = sample.group
        patches = [read(patch.patch.diff) for patch in group.patches]
        features = (_compute_opinion_features if sample.is_part else compute_features)(
            group.issue, patches
        )
        if not features:
            continue
        quarters = round(4 * sum(patch.resolved for patch in group.patches) / len(group.patches))
        rows.append(build_matrix(features))
        place = (sample.kind.value, group.instance_id, group.repo)
        head = (*place, quarters, has_copies(features), sample.is_part)
        columns += [(patch.resolved, read_system(patch.source), *head) for patch in group.patches]
    label, systems, kind, issue, repository, correct, copies, part = zip(*columns, strict=True)
    return FeatureTable(
        np.concatenate(rows),
        np.array(label, np.int64),
        np.array(kind),
        np.array(issue),
        np.array(repository),
        np.array(systems),
        np.array(correct, np.int64),
        np.array(copies, np.bool_),
        np.array(part, np.bool_),
    )


def _compute_opinion_features(issue: Issue, read: Sequence[PatchEdit]) -> list[Features]:
    """Compute features where copies count as one opinion; empty for a single opinion."""
    among = build_panels(read)
    features = {
        panel: compute_features(issue, [read[seat] for seat in panel])
        for _, panel in among
        if len(panel) > 1
    }
    return [features[panel][panel.index(seat)] for seat, panel in among if panel in features]


def compute_weights(table: FeatureTable, mix: Mapping[GroupKind, float], among: Mask) -> Floats:
    """Compute the weight of each row of the table in a fit; 0 for rows outside the mask `among`.

    `mix` maps each kind of group to the weight of its issues: within a kind, all issues weigh the same. The first kind
    is the reference: the other kinds are reweighted to the same distribution of correct patches per group. Weights
    above 0 have mean 1.
    """
    first, *_ = mix
    wanted = _compute_shares(table, _weigh_per_issue(table, among & (table.kind == first.value)))
    total = np.zeros(len(table.label))
    for kind, much in mix.items():
        even = _weigh_per_issue(table, among & (table.kind == kind.value))
        if kind is not first and even.any():
            # the floor avoids a division by zero; clip limits the variance of weights
            ratio = wanted / np.maximum(_compute_shares(table, even), 1e-9)
            even = even * np.clip(ratio, 1 / _MOST, _MOST)[table.correct_quarters]
        total += much * even
    return total / float(total[total > 0].mean())


def _weigh_per_issue(table: FeatureTable, rows: Mask) -> Floats:
    issues: Sequence[str] = table.issue[rows].tolist()
    counts = Counter(issues)
    even = np.zeros(len(rows))
    even[rows] = [1 / counts[issue] for issue in issues]
    return even


def _compute_shares(table: FeatureTable, weight: Floats) -> Floats:
    """Compute the weight shares of groups with 0 to 4 quarters correct; never exactly 0."""
    sums: Floats = (
        np.bincount(table.correct_quarters, weight, minlength=5) + 0.01 * weight.sum() + 1e-9
    )
    return sums / float(sums.sum())
