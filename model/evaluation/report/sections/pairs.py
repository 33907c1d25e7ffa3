"""Section: accuracy on pairs of a correct and an incorrect patch (pure)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import Figure, Gap, Part, Section, Table, list_estimates
from model.evaluation.report.drawing import GREY, Panel, draw_dots
from model.evaluation.report.paper_results import PAIR_ACCURACY
from model.evaluation.report.series import GroupSet, Series, read_estimate

_TEXT = (
    "How often the correct patch of a pair ranks higher than the incorrect one; equal ranks count "
    "a half. R4P (section 5.2, figure 3 (b)) compares verifiers with reward models, which only "
    "rank, on pairs of one issue that are judged alone: r4p evaluate --pairs does the same. "
    "Elsewhere the ranks come from whole groups. The paper's value comes from its own pairs."
)
_ALONE, _IN_GROUPS = "alone", "within groups"


def build_pairs_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on pairs, with a figure and a table for each group set that has pairs."""
    parts = chain.from_iterable(map(_show_pairs, sets))
    return Section("pairs", "Accuracy on pairs of patches", (_TEXT, *parts))


def _show_pairs(group_set: GroupSet) -> Iterator[Part]:
    paired = [series for series in group_set.series if series.document["pair_accuracy"]]
    if not paired:
        yield Gap(f"{group_set.name}: no group has a correct and an incorrect patch.")
        return
    values = [(series, read_estimate(series.document, "pair_accuracy")) for series in paired]
    coin = Estimate(0.5, None, None)
    rows = [(series.label, {series.colour: value}) for series, value in values]
    lines = [(f"R4P: {PAIR_ACCURACY:.1%}", PAIR_ACCURACY)]
    yield Figure(
        f"pairs-{group_set.slug}",
        group_set.name,
        f"Dots with 95 % intervals, and a coin; the dashed line is the paper's figure on its own pairs. {group_set.size}",
        f"Accuracy on pairs of {group_set.name}: "
        f"{list_estimates((series.label, value) for series, value in values)}.",
        partial(draw_dots, [Panel("Pairs", [*rows, ("coin", {GREY: coin})], lines)]),
    )
    head = ("who", "judged", "pairs", "accuracy")
    yield Table(
        f"{group_set.name}. {group_set.size}",
        head,
        [
            *((series.label, *_describe_pairs(series), value) for series, value in values),
            ("coin", "–", "–", coin),
            ("R4P (paper)", _ALONE, "–", Estimate(PAIR_ACCURACY, None, None)),
        ],
        words=2,
    )


def _describe_pairs(series: Series) -> tuple[str, str]:
    """Say how the pairs were judged, and their number."""
    correct = [sum(patch.resolved for patch in group.patches) for group in series.judged]
    sizes = [len(group.patches) for group in series.judged]
    pairs = sum(right * (size - right) for right, size in zip(correct, sizes, strict=True))
    return (_ALONE if set(sizes) == {2} else _IN_GROUPS), f"{pairs:,}"
