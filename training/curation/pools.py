"""Collect all patches of each issue, from benchmarks or from recorded outcomes (pure).

Pools convert to the labelled groups that `r4p evaluate` reads, one JSON object a line.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.outcomes.judgement import FrozenIssue
from app.values.identifiers import PullNumber, RepositoryId
from model.evaluation.labelled_group import LabelledGroup
from training.datasets.groups import LabelSource
from training.labels.labels import LabelledPatch, cap_labels


@dataclass(frozen=True, slots=True)
class PoolPatch:
    """A patch from which training groups are built, with the probability that it is correct, if known."""

    diff: str
    target: float | None
    """Probability that the patch is correct. None: unknown."""
    weight: float = 1.0
    author: str | None = None
    """A login, or `family/run` of a benchmark. Only filters use it; it is never stored or shown."""
    outcome_at: datetime | None = None
    """Time at which the label could be known."""
    trajectory: str | None = None
    """Text of the attempt that led to the patch. None: unknown."""


@dataclass(frozen=True, slots=True)
class Pool:
    """An issue with all its patches, from a benchmark or from recorded outcomes."""

    issue: str
    """`owner/repo#number`, or the instance id of a benchmark."""
    repo: str
    statement: str
    """The issue's text when its first patch was judged."""
    patches: tuple[PoolPatch, ...]
    source: LabelSource = LabelSource.BENCHMARK
    as_of: datetime | None = None
    """Time at which the text was read."""
    licence: str | None = None
    """SPDX name of the repository's licence. None: unknown."""

    @property
    def label_count(self) -> int:
        """Number of the issue's patches that have a label."""
        return sum(patch.target is not None for patch in self.patches)

    def hide_later_labels(self, moment: datetime) -> "Pool":
        """Return a copy of the issue without the labels that became known at `moment` or later."""
        hidden = tuple(
            replace(patch, target=None, outcome_at=None)
            if patch.outcome_at is not None and patch.outcome_at >= moment
            else patch
            for patch in self.patches
        )
        return replace(self, patches=hidden)


def build_from_groups(groups: Iterable[LabelledGroup]) -> list[Pool]:
    """Return one pool of patches for each issue in labelled groups. Groups of the same issue are joined."""
    joined: dict[str, Pool] = {}
    for group in groups:
        patches = tuple(
            PoolPatch(
                patch.patch.diff,
                float(patch.resolved),
                author=patch.source,
                trajectory=patch.patch.trajectory,
            )
            for patch in group.patches
        )
        before = joined.get(group.instance_id)
        if before is None:
            joined[group.instance_id] = Pool(
                group.instance_id, group.repo, group.issue.text, patches, licence=group.licence
            )
        else:
            joined[group.instance_id] = replace(before, patches=before.patches + patches)
    return list(joined.values())


def build_from_labels(
    labels: Iterable[LabelledPatch],
    issues: Mapping[int, FrozenIssue],
    diffs: Mapping[str, str],
    authors: Mapping[tuple[RepositoryId, PullNumber], str],
    trajectories: Mapping[tuple[int, str], str] | None = None,
) -> list[Pool]:
    """Return one pool of labelled patches for each judged issue. Patches whose text was purged are left out.

    The weights are capped: no person, repository or owner has more than its share.

    `issues` has the bot's own issue ids as keys, and `diffs` the SHA-256 of each diff. `authors` maps repository and
    pull request to a login. `trajectories` maps an issue id and a diff's SHA-256 to the text of the attempt of the bot's
    own agents that made the same edit.
    """
    readable = [label for label in labels if label.patch in diffs and label.group in issues]
    by_issue: dict[int, list[LabelledPatch]] = {}
    for label in cap_labels(readable):
        by_issue.setdefault(label.group, []).append(label)
    return [
        Pool(
            issue=f"{pool_labels[0].issue.repository.full_name}#{pool_labels[0].issue.number}",
            repo=pool_labels[0].issue.repository.full_name,
            statement=issues[group].text.text,
            patches=tuple(
                PoolPatch(
                    diff=diffs[label.patch],
                    target=label.probability,
                    weight=label.weight if label.probability is not None else 1.0,
                    author=authors.get((label.issue.repository.id, label.pull)),
                    outcome_at=label.outcome_at,
                    trajectory=(trajectories or {}).get((label.group, label.patch)),
                )
                for label in pool_labels
            ),
            source=LabelSource.OUTCOMES,
            as_of=issues[group].read_at,
        )
        for group, pool_labels in by_issue.items()
    ]


def describe_belief(patch: PoolPatch) -> str:
    """Return "correct" for a target (probability) of 0.5 or more, "incorrect" below, "unknown" for None."""
    if patch.target is None:
        return "unknown"
    return "correct" if patch.target >= 0.5 else "incorrect"


MIN_CONFIDENCE = 0.8
"""Less certain labels are left out, because a labelled group holds only correct or incorrect."""


def build_labelled_groups(
    pools: Iterable[Pool], min_confidence: float = MIN_CONFIDENCE
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return issues with their surely labelled patches, as JSON objects that `r4p evaluate` reads, and counts.

    A label is sure when it is right with a probability of at least `min_confidence`. The counts say how many patches
    and issues were left out, by reason.
    """
    labelled, left_out = [], Counter[str]()
    for pool in pools:
        patches = [patch for patch in pool.patches if _is_sure(patch, min_confidence)]
        unknown = sum(patch.target is None for patch in pool.patches)
        left_out["patches whose label is unknown"] += unknown
        left_out["patches whose label is not sure"] += len(pool.patches) - unknown - len(patches)
        if patches:
            labelled.append(_build_labelled_group(pool, patches))
        else:
            left_out["issues without a known patch"] += 1
    return labelled, +left_out


def _is_sure(patch: PoolPatch, least_confident: float) -> bool:
    if patch.target is None:
        return False
    return max(patch.target, 1 - patch.target) >= least_confident


def _build_labelled_group(pool: Pool, patches: Iterable[PoolPatch]) -> dict[str, Any]:
    return {
        "instance_id": pool.issue,
        "repo": pool.repo,
        "problem_statement": pool.statement,
        "patches": [
            {
                "patch": patch.diff,
                "resolved": patch.target is not None and patch.target >= 0.5,
                "probability": patch.target,
                "source": "outcomes",
                **({"trajectory": patch.trajectory} if patch.trajectory else {}),
            }
            for patch in patches
        ],
    }
