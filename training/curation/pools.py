"""Every patch that is known for an issue, before any group is formed of them (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from app.outcomes.judgement import FrozenIssue
from app.values.identifiers import PullNumber, RepositoryId
from model.evaluation.labelled_group import LabelledGroup
from training.datasets.groups import LabelSource
from training.labels.labels import LabelledPatch


@dataclass(frozen=True, slots=True)
class PoolPatch:
    """One patch as it was first submitted, and what is believed of it."""

    diff: str
    target: float | None
    """The probability that it is correct; None: unknown."""
    weight: float = 1.0
    author: str | None = None
    """Who wrote it: a login, or a benchmark's `family/run`. Decides what is kept; never stored, never shown."""
    outcome_at: datetime | None = None
    """When its label was known."""


@dataclass(frozen=True, slots=True)
class Pool:
    """An issue and the patches for it."""

    issue: str
    """`owner/repo#number` or a benchmark's instance."""
    repo: str
    statement: str
    """The issue's text as it was when the first patch was judged."""
    patches: tuple[PoolPatch, ...]
    source: LabelSource = LabelSource.BENCHMARK
    as_of: datetime | None = None
    """When the text was read."""
    licence: str | None = None
    """The repository's, by its SPDX name; None: not known."""

    @property
    def known(self) -> int:
        """How many patches have a label."""
        return sum(one.target is not None for one in self.patches)

    def without_later_labels(self, moment: datetime) -> "Pool":
        """As it was at that moment: what was decided then or later is unknown."""
        hidden = tuple(
            replace(one, target=None, outcome_at=None)
            if one.outcome_at is not None and one.outcome_at >= moment
            else one
            for one in self.patches
        )
        return replace(self, patches=hidden)


def from_groups(groups: Iterable[LabelledGroup]) -> list[Pool]:
    """One pool for each issue of labelled groups; groups about the same issue are joined."""
    joined: dict[str, Pool] = {}
    for group in groups:
        patches = tuple(
            PoolPatch(one.patch.diff, float(one.resolved), author=one.source)
            for one in group.patches
        )
        before = joined.get(group.instance_id)
        if before is None:
            joined[group.instance_id] = Pool(
                group.instance_id, group.repo, group.issue.text, patches, licence=group.licence
            )
        else:
            joined[group.instance_id] = replace(before, patches=before.patches + patches)
    return list(joined.values())


def from_labels(
    labels: Iterable[LabelledPatch],
    issues: Mapping[int, FrozenIssue],
    diffs: Mapping[str, str],
    authors: Mapping[tuple[RepositoryId, PullNumber], str],
) -> list[Pool]:
    """One pool for each issue that was judged; a patch whose text is gone is left out."""
    by_issue: dict[int, list[LabelledPatch]] = {}
    for one in labels:
        if one.patch in diffs and one.group in issues:
            by_issue.setdefault(one.group, []).append(one)
    return [
        Pool(
            issue=f"{found[0].issue.repository.full_name}#{found[0].issue.number}",
            repo=found[0].issue.repository.full_name,
            statement=issues[group].text.text,
            patches=tuple(
                PoolPatch(
                    diff=diffs[one.patch],
                    target=one.probability,
                    weight=one.weight if one.probability is not None else 1.0,
                    author=authors.get((one.issue.repository.id, one.pull)),
                    outcome_at=one.outcome_at,
                )
                for one in found
            ),
            source=LabelSource.OUTCOMES,
            as_of=issues[group].read_at,
        )
        for group, found in by_issue.items()
    ]


def patches(pools: Iterable[Pool]) -> Counter[str]:
    """How many patches there are, by what is believed of them: `correct`, `incorrect`, `unknown`."""
    return Counter(belief(one) for pool in pools for one in pool.patches)


def belief(patch: PoolPatch) -> str:
    """`correct` from a half on, `incorrect` below, `unknown`."""
    if patch.target is None:
        return "unknown"
    return "correct" if patch.target >= 0.5 else "incorrect"
