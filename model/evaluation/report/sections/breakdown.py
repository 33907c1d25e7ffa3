"""Sections: accuracy by size of the patch, similarity in the group, and repository (pure)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import score_decisions
from model.evaluation.report.content import (
    Curve,
    Curves,
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    Section,
    Table,
    format_cells,
    format_count,
    format_estimate,
)
from model.evaluation.report.rate_intervals import estimate_means
from model.evaluation.report.series import GroupSet, clean_name

_REPOSITORIES = 12
"""Repositories shown one by one; the others form one bin."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """A measure of patches or groups, divided into bins."""

    key: str
    title: str
    said: str
    axis: str
    column: str
    lacking: str
    """Text about patches without a value."""
    edges: tuple[float, ...]
    """Lower edge of each bin but the first."""
    bins: tuple[str, ...]
    size: Callable[[JudgedGroup, JudgedPatch], float | None]

    def place(self, group: JudgedGroup, patch: JudgedPatch) -> int:
        """Find the bin of a patch; -1 without a value."""
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


def build_lines_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by number of edited lines."""
    return _build_size_section(sets, _LINES)


def build_similarity_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by similarity within the group."""
    return _build_size_section(sets, _SIMILARITY)


def _build_size_section(sets: Sequence[GroupSet], scale: _Scale) -> Section:
    split = [_split_patches(group_set, scale.bins, scale.place) for group_set in sets]
    return Section(
        scale.key,
        scale.title,
        (scale.said,),
        figures=tuple(part.curves(scale.key, scale.axis) for part in split),
        tables=tuple(part.table(scale.column) for part in split),
        missing=tuple(
            f"{part.group_set.name}: {format_count(part.left_out, 'patch')} {scale.lacking}."
            for part in split
            if part.left_out
        ),
    )


def build_repository_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by repository."""
    split = [_split_by_repository(group_set) for group_set in sets]
    return Section(
        "repositories",
        "Accuracy by repository",
        (
            "The largest first. A repository of few issues has a wide interval, or none worth reading.",
        ),
        figures=tuple(part.dots("repositories") for part in split),
        tables=tuple(part.table("repository") for part in split),
    )


def _split_by_repository(group_set: GroupSet) -> "_Split":
    patches = Counter(group.repo for group in group_set.largest.judged for _ in group.patches)
    everywhere = {group.repo for series in group_set.series for group in series.judged}
    ranked = sorted(everywhere, key=lambda repo: (-patches[repo], repo))
    places = {repo: min(index, _REPOSITORIES) for index, repo in enumerate(ranked)}
    rest = len(ranked) - _REPOSITORIES
    others = (f"{rest} others",) if rest > 0 else ()
    names = (*map(clean_name, ranked[:_REPOSITORIES]), *others)
    return _split_patches(group_set, names, lambda group, _patch: places[group.repo])


@dataclass(frozen=True, slots=True)
class _Split:
    """Accuracy and number of patches of each series in each bin."""

    group_set: GroupSet
    bins: tuple[str, ...]
    found: dict[str, list[Estimate]]
    counts: dict[str, list[int]]

    @property
    def left_out(self) -> int:
        """Number of patches without a bin, in the largest series."""
        largest = self.group_set.largest
        return largest.patch_count - sum(self.counts[largest.label])

    @property
    def caption(self) -> str:
        """Caption of the figure."""
        return f"Accuracy with 95 % intervals. {self.group_set.size}"

    @property
    def alt(self) -> str:
        """Alternative text with the values of the largest series."""
        largest = self.group_set.largest
        values = "; ".join(
            f"{name} {format_estimate(estimate)}"
            for name, estimate in zip(self.bins, self.found[largest.label], strict=True)
            if estimate.value is not None
        )
        return f"Accuracy of {largest.label} on {self.group_set.name}: {values}. The others are in the table."

    def curves(self, key: str, x_label: str) -> Figure:
        """Draw ordered bins as curves."""
        curves = tuple(
            Curve(
                series.label,
                series.colour,
                tuple(
                    (float(index), estimate)
                    for index, estimate in enumerate(self.found[series.label])
                ),
            )
            for series in self.group_set.series
        )
        drawing = Curves(x_label, "accuracy", curves, ticks=self.bins, level=0.5)
        return self._figure(key, drawing)

    def dots(self, key: str) -> Figure:
        """Draw named bins as a dot plot."""
        series = self.group_set.series
        rows = tuple(
            PlotRow(
                name,
                tuple(
                    PlotPoint(each_series.colour, self.found[each_series.label][index])
                    for each_series in series
                ),
            )
            for index, name in enumerate(self.bins)
        )
        legend = tuple((each_series.colour, each_series.label) for each_series in series)
        return self._figure(key, DotPlot((Panel("Accuracy", rows),), legend))

    def table(self, first: str) -> Table:
        """List every series and bin with its number of patches."""
        heads = [(series.label, 3) for series in self.group_set.series]
        return Table(
            f"{self.group_set.name}: patches, accuracy and its interval",
            ((first, 1), *heads),
            tuple(
                (
                    name,
                    *(
                        cell
                        for label, estimates in self.found.items()
                        for cell in (
                            str(self.counts[label][index]),
                            *format_cells(estimates[index]),
                        )
                    ),
                )
                for index, name in enumerate(self.bins)
            ),
        )

    def _figure(self, key: str, drawing: DotPlot | Curves) -> Figure:
        group_set = self.group_set
        return Figure(f"{key}-{group_set.slug}", group_set.name, self.caption, self.alt, drawing)


def _split_patches(
    group_set: GroupSet, bins: tuple[str, ...], bin_of: Callable[[JudgedGroup, JudgedPatch], int]
) -> _Split:
    """Sort patches into bins. A patch with a negative bin is left out."""
    estimates, counts = {}, {}
    for series in group_set.series:
        placed = np.asarray(
            [bin_of(group, patch) for group in series.judged for patch in group.patches],
            dtype=np.intp,
        )
        right = score_decisions(series.columns.belief, series.columns.label)
        estimates[series.label] = estimate_means(right, placed, len(bins), series.issue)
        counts[series.label] = [int((placed == index).sum()) for index in range(len(bins))]
    return _Split(group_set, bins, estimates, counts)
