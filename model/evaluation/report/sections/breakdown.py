"""Accuracy by what kind of patch, group or repository it is (pure)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import rightness
from model.evaluation.report.content import (
    Curve,
    Curves,
    Dots,
    Figure,
    Mark,
    Panel,
    Row,
    Section,
    Table,
    cells,
    many,
    said,
)
from model.evaluation.report.rate_intervals import means
from model.evaluation.report.series import GroupSet, shown

_REPOSITORIES = 12
"""Shown one by one; the rest together."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Something that has a size, in bins."""

    key: str
    title: str
    said: str
    axis: str
    column: str
    lacking: str
    """What is said of patches without a size."""
    edges: tuple[float, ...]
    """Where the next bin begins."""
    bins: tuple[str, ...]
    size: Callable[[JudgedGroup, JudgedPatch], float | None]

    def place(self, group: JudgedGroup, patch: JudgedPatch) -> int:
        """Which bin a patch belongs to; -1 without a size."""
        size = self.size(group, patch)
        return -1 if size is None else int(np.searchsorted(self.edges, size, "right"))


_LINES = _Scale(
    "lines",
    "Accuracy by edited lines",
    "Lines that a patch adds or removes. The paper sees accuracy rise with them, and advises not to trust verdicts "
    "on extremely short patches.",
    axis="edited lines of the patch",
    column="edited lines",
    lacking="without a number of lines: no unified diff",
    edges=(3, 6, 11, 26),
    bins=("0–2", "3–5", "6–10", "11–25", "26+"),
    size=lambda _group, patch: patch.edited_lines,
)
_SIMILARITY = _Scale(
    "similarity",
    "Accuracy by similarity within the group",
    "Mean similarity of each two diffs of a group: the share of characters that an insertion or deletion need not "
    "touch (Indel). In the paper, groups of very similar and of very different patches are judged best.",
    axis="mean similarity of the group",
    column="similarity",
    lacking="without a rival, and so without a similarity",
    edges=(0.2, 0.4, 0.6, 0.8),
    bins=("< 0.2", "0.2–0.4", "0.4–0.6", "0.6–0.8", "≥ 0.8"),
    size=lambda group, _patch: group.similarity,
)


def by_lines(sets: Sequence[GroupSet]) -> Section:
    """By how much a patch edits."""
    return _by_size(sets, _LINES)


def by_similarity(sets: Sequence[GroupSet]) -> Section:
    """By how alike the patches of a group are."""
    return _by_size(sets, _SIMILARITY)


def _by_size(sets: Sequence[GroupSet], scale: _Scale) -> Section:
    split = [_split(one, scale.bins, scale.place) for one in sets]
    return Section(
        scale.key,
        scale.title,
        (scale.said,),
        figures=tuple(one.curves(scale.key, scale.axis) for one in split),
        tables=tuple(one.table(scale.column) for one in split),
        missing=tuple(
            f"{one.group_set.name}: {many(one.left_out, 'patch')} {scale.lacking}."
            for one in split
            if one.left_out
        ),
    )


def by_repository(sets: Sequence[GroupSet]) -> Section:
    """By where the patches are from."""
    split = [_by_repository(one) for one in sets]
    return Section(
        "repositories",
        "Accuracy by repository",
        (
            "The largest first. A repository of few issues has a wide interval, or none worth reading.",
        ),
        figures=tuple(one.dots("repositories") for one in split),
        tables=tuple(one.table("repository") for one in split),
    )


def _by_repository(group_set: GroupSet) -> "_Split":
    patches = Counter(group.repo for group in group_set.largest.judged for _ in group.patches)
    everywhere = {group.repo for series in group_set.series for group in series.judged}
    ranked = sorted(everywhere, key=lambda repo: (-patches[repo], repo))
    places = {repo: min(at, _REPOSITORIES) for at, repo in enumerate(ranked)}
    rest = len(ranked) - _REPOSITORIES
    others = (f"{rest} others",) if rest > 0 else ()
    names = (*map(shown, ranked[:_REPOSITORIES]), *others)
    return _split(group_set, names, lambda group, _patch: places[group.repo])


@dataclass(frozen=True, slots=True)
class _Split:
    """Accuracy of each series of a set in each bin, and of how many patches."""

    group_set: GroupSet
    bins: tuple[str, ...]
    found: dict[str, list[Estimate]]
    counts: dict[str, list[int]]

    @property
    def left_out(self) -> int:
        """Patches in no bin, of the series with most patches."""
        largest = self.group_set.largest
        return largest.patches - sum(self.counts[largest.label])

    @property
    def caption(self) -> str:
        """Of how many, and what the whiskers are."""
        return f"Accuracy with 95 % intervals. {self.group_set.counted}"

    @property
    def alt(self) -> str:
        """The same in words, of the series with most patches."""
        largest = self.group_set.largest
        told = "; ".join(
            f"{name} {said(one)}"
            for name, one in zip(self.bins, self.found[largest.label], strict=True)
            if one.value is not None
        )
        return f"Accuracy of {largest.label} on {self.group_set.name}: {told}. The others are in the table."

    def curves(self, key: str, x_label: str) -> Figure:
        """For bins in an order."""
        curves = tuple(
            Curve(
                series.label,
                series.colour,
                tuple((float(at), one) for at, one in enumerate(self.found[series.label])),
            )
            for series in self.group_set.series
        )
        drawing = Curves(x_label, "accuracy", curves, ticks=self.bins, level=0.5)
        return self._figure(key, drawing)

    def dots(self, key: str) -> Figure:
        """For bins with names."""
        series = self.group_set.series
        rows = tuple(
            Row(name, tuple(Mark(one.colour, self.found[one.label][at]) for one in series))
            for at, name in enumerate(self.bins)
        )
        legend = tuple((one.colour, one.label) for one in series)
        return self._figure(key, Dots((Panel("Accuracy", rows),), legend))

    def table(self, first: str) -> Table:
        """Every series and bin with its number of patches."""
        heads = [(series.label, 3) for series in self.group_set.series]
        return Table(
            f"{self.group_set.name}: patches, accuracy and its interval",
            ((first, 1), *heads),
            tuple(
                (
                    name,
                    *(
                        cell
                        for label, found in self.found.items()
                        for cell in (str(self.counts[label][at]), *cells(found[at]))
                    ),
                )
                for at, name in enumerate(self.bins)
            ),
        )

    def _figure(self, key: str, drawing: Dots | Curves) -> Figure:
        group_set = self.group_set
        return Figure(f"{key}-{group_set.slug}", group_set.name, self.caption, self.alt, drawing)


def _split(
    group_set: GroupSet,
    bins: tuple[str, ...],
    bin_of: Callable[[JudgedGroup, JudgedPatch], int],
) -> _Split:
    """Each patch in its bin; those with a negative one in none."""
    found, counts = {}, {}
    for series in group_set.series:
        placed = np.asarray(
            [bin_of(group, patch) for group in series.judged for patch in group.patches],
            dtype=np.intp,
        )
        right = rightness(series.columns.belief, series.columns.label)
        found[series.label] = means(right, placed, len(bins), series.issue)
        counts[series.label] = [int((placed == at).sum()) for at in range(len(bins))]
    return _Split(group_set, bins, found, counts)
