"""Sections: accuracy by size of the patch, similarity in the group, and repository (pure)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from matplotlib.figure import Figure as Canvas

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import score_decisions
from model.evaluation.rate_intervals import estimate_means
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    format_count,
    list_estimates,
)
from model.evaluation.report.drawing import Panel, draw_curves, draw_dots
from model.evaluation.report.series import GroupSet, Series, clean_name

_REPOSITORIES = 12
"""Repositories shown one by one; the others form one bin."""


_LINES = {"0–2": 0, "3–5": 3, "6–10": 6, "11–25": 11, "26+": 26}
"""Least number of edited lines in each bin."""
_SIMILARITIES = {"< 0.2": 0, "0.2–0.4": 0.2, "0.4–0.6": 0.4, "0.6–0.8": 0.6, "≥ 0.8": 0.8}
"""Least similarity in each bin."""


def build_lines_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by edited lines, with a figure and a table for each group set."""
    text = (
        "Lines that a patch adds or removes. The paper sees accuracy rise with them, and advises not to trust verdicts "
        "on extremely short patches."
    )
    parts = chain.from_iterable(map(_show_lines, sets))
    return Section("lines", "Accuracy by edited lines", (text, *parts))


def build_similarity_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by similarity of rivals, with a figure and a table per group set."""
    text = (
        "Mean similarity of each two diffs of a group: the share of characters that an insertion or deletion need not "
        "touch (Indel). In the paper, groups of very similar and of very different patches are judged best."
    )
    parts = chain.from_iterable(map(_show_similarities, sets))
    return Section("similarity", "Accuracy by similarity within the group", (text, *parts))


def build_repository_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy by repository, with a figure and a table for each group set."""
    text = (
        "The largest first. A repository of few issues has a wide interval, or none worth reading."
    )
    parts = chain.from_iterable(map(_show_repositories, sets))
    return Section("repositories", "Accuracy by repository", (text, *parts))


@dataclass(frozen=True, slots=True)
class _Split:
    """Number of patches and accuracy of each series in each bin."""

    group_set: GroupSet
    bins: Sequence[str]
    measured: dict[Series, list[tuple[int, Estimate]]]

    def as_curves(self, axis: str) -> Callable[[], Canvas]:
        """Prepare to draw ordered bins along an axis."""
        curves = [
            (
                series.label,
                series.colour,
                [(index, estimate) for index, (_, estimate) in enumerate(bins)],
            )
            for series, bins in self.measured.items()
        ]
        return partial(draw_curves, curves, (axis, "accuracy"), ticks=self.bins, level=0.5)

    def list_gaps(self, lacking: str) -> Iterator[Gap]:
        """Yield a note on the patches of the largest series without a bin."""
        largest = self.group_set.largest
        left_out = largest.patch_count - sum(count for count, _ in self.measured[largest])
        if left_out:
            yield Gap(f"{self.group_set.name}: {format_count(left_out, 'patch')} {lacking}.")

    def show(self, key: str, column: str, draw: Callable[[], Canvas]) -> Iterator[Part]:
        """Yield the figure, with the values of the largest series as its text, and the table."""
        largest, name = self.group_set.largest, self.group_set.name
        values = list_estimates(
            (label, estimate)
            for label, (_, estimate) in zip(self.bins, self.measured[largest], strict=True)
            if estimate.value is not None
        )
        yield Figure(
            f"{key}-{self.group_set.slug}",
            name,
            f"Accuracy with 95 % intervals. {self.group_set.size}",
            f"Accuracy of {largest.label} on {name}: {values}. The others are in the table.",
            draw,
        )
        yield Table(
            f"{name}: patches, accuracy and its interval",
            (column, *(series.label for series in self.measured)),
            list(zip(self.bins, *self.measured.values(), strict=True)),
        )


def _show_lines(group_set: GroupSet) -> Iterator[Part]:
    def place(_group: JudgedGroup, patch: JudgedPatch) -> int:
        return _find_bin(_LINES, patch.edited_lines)

    split = _split_patches(group_set, tuple(_LINES), place)
    yield from split.show("lines", "edited lines", split.as_curves("edited lines of the patch"))
    yield from split.list_gaps("without a number of lines: no unified diff")


def _show_similarities(group_set: GroupSet) -> Iterator[Part]:
    def place(group: JudgedGroup, _patch: JudgedPatch) -> int:
        return _find_bin(_SIMILARITIES, group.similarity)

    split = _split_patches(group_set, tuple(_SIMILARITIES), place)
    yield from split.show(
        "similarity", "similarity", split.as_curves("mean similarity of the group")
    )
    yield from split.list_gaps("without a rival, and so without a similarity")


def _find_bin(bins: Mapping[str, float], value: float | None) -> int:
    """Find the bin of a value; -1 for None."""
    return -1 if value is None else sum(value >= least for least in list(bins.values())[1:])


def _show_repositories(group_set: GroupSet) -> Iterator[Part]:
    patches = Counter(group.repo for group in group_set.largest.judged for _ in group.patches)
    everywhere = {group.repo for series in group_set.series for group in series.judged}
    ranked = sorted(everywhere, key=lambda repo: (-patches[repo], repo))
    places = {repo: min(index, _REPOSITORIES) for index, repo in enumerate(ranked)}
    names = [clean_name(repo) for repo in ranked[:_REPOSITORIES]]
    if len(ranked) > _REPOSITORIES:
        names.append(f"{len(ranked) - _REPOSITORIES} others")
    split = _split_patches(group_set, names, lambda group, _patch: places[group.repo])
    rows = [
        (name, {series.colour: bins[index][1] for series, bins in split.measured.items()})
        for index, name in enumerate(names)
    ]
    legend = [(series.colour, series.label) for series in group_set.series]
    draw = partial(draw_dots, [Panel("Accuracy", rows)], legend=legend)
    yield from split.show("repositories", "repository", draw)


def _split_patches(
    group_set: GroupSet, bins: Sequence[str], place: Callable[[JudgedGroup, JudgedPatch], int]
) -> _Split:
    """Sort patches into bins. A patch with a negative bin is left out."""
    measured = {}
    for series in group_set.series:
        placed = np.asarray(
            [place(group, patch) for group in series.judged for patch in group.patches],
            dtype=np.intp,
        )
        right = score_decisions(series.columns.belief, series.columns.label)
        accuracies = estimate_means(right, placed, len(bins), series.issue)
        counts = [int((placed == index).sum()) for index in range(len(bins))]
        measured[series] = list(zip(counts, accuracies, strict=True))
    return _Split(group_set, bins, measured)
