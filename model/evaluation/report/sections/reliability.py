"""Whether beliefs come true (pure)."""

from collections.abc import Iterator, Sequence

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedPatch
from model.evaluation.metrics import diagram
from model.evaluation.report.content import (
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    cells,
    many,
    number,
    said,
)
from model.evaluation.report.rate_intervals import means
from model.evaluation.report.sections.headline import measured
from model.evaluation.report.series import GroupSet, Series, reasons


def reliability(sets: Sequence[GroupSet]) -> Section:
    """The reliability diagram."""
    found = [(one, [(each, _bins(each)) for each in one.series]) for one in sets]
    return Section(
        "reliability",
        "Reliability diagram",
        (
            (
                "Of the patches that are believed with 0.7, seven in ten should be correct: then the dots lie on the diagonal. "
                "Up to ten bins of equally many patches; equal beliefs share a bin, and who has no opinion is in none. Draws spread the expected "
                "calibration error upwards: its interval may lie above its value."
            ),
        ),
        figures=tuple(_figure(group_set, bins) for group_set, bins in found),
        tables=tuple(_table(group_set, bins) for group_set, bins in found),
        missing=reasons(
            (group_set.name, series.label, reason)
            for group_set in sets
            for series in group_set.series
            for reason in _lacking(series)
        ),
    )


def _lacking(series: Series) -> Iterator[str]:
    """What is not in the diagram as one might think."""
    if unknown := series.document["without_belief"]:
        yield f"{unknown} of {many(series.patches, 'patch')} without an opinion stand in no bin."
    if not all(one.probability is not None for one in _told(series)):
        yield "not every patch has a calibrated probability; raw scores stand in their place."


def _told(series: Series) -> Iterator[JudgedPatch]:
    return (one for each in series.judged for one in each.patches if one.belief is not None)


_Bins = list[tuple[int, float, Estimate]]
"""Patches, mean belief, and the share that is correct."""


def _bins(series: Series) -> _Bins:
    """The document's bins, with intervals."""
    of, bins = series.columns, diagram(series.columns)
    if not bins:
        return []
    place = np.repeat(np.arange(len(bins)), list(map(len, bins)))
    rows = np.concatenate(bins)
    shares = means(of.label[rows], place, len(bins), series.issue[rows])
    return [
        (len(inside), float(of.belief[inside].mean()), share)
        for inside, share in zip(bins, shares, strict=True)
    ]


def _figure(group_set: GroupSet, bins: Sequence[tuple[Series, _Bins]]) -> Figure:
    told = "; ".join(
        f"{one.label}: expected calibration error {said(measured(one.document, 'ece'))}"
        for one, _ in bins
    )
    return Figure(
        f"reliability-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals. {group_set.counted}",
        f"Reliability on {group_set.name}. {told}.",
        Curves(
            "mean belief",
            "share that is correct",
            tuple(
                Curve(
                    series.label,
                    series.colour,
                    tuple((belief, share) for _, belief, share in found),
                )
                for series, found in bins
            ),
            diagonal=True,
        ),
    )


def _table(group_set: GroupSet, bins: Sequence[tuple[Series, _Bins]]) -> Table:
    return Table(
        f"{group_set.name}. "
        + "; ".join(
            f"{one.label}: ECE {said(measured(one.document, 'ece'))}, "
            f"Brier {said(measured(one.document, 'brier'))}"
            for one, _ in bins
        )
        + ".",
        (("verifier", 1), ("patches", 1), ("mean belief", 1), ("share that is correct", 2)),
        tuple(
            (series.label, str(patches), number(belief), *cells(share))
            for series, found in bins
            for patches, belief, share in found
        ),
    )
