"""Refit the thresholds of a calibrator without the labels of each owner and of each person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.judgement_columns import Indices
from model.voting.thresholds import Thresholds
from training.calibrators.claims import ClaimTargets, LabelColumns
from training.calibrators.evidence import PatchEvidence
from training.calibrators.evidence_table import build_table
from training.calibrators.held_out import predict_held_out
from training.labels.weight_caps import LabelOrigin

_AT_ONCE = 128
"""Fits that run together: about 250 MB of memory for 10,000 rows."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceLabels:
    """An owner or a person, and the rows of its labels."""

    kind: str
    """`owner` or `person`."""
    rows: Indices


def list_sources(origins: Sequence[LabelOrigin], weights: Sequence[float]) -> list[SourceLabels]:
    """List every owner and every person of the labels, the heaviest first. Sources with the same rows count once."""
    kinds: dict[str, Sequence[object]] = {
        "owner": [origin.owner for origin in origins],
        "person": [origin.person for origin in origins],
    }
    sources: dict[bytes, SourceLabels] = {}
    for kind, keys in kinds.items():
        rows: dict[object, list[int]] = {}
        for index, key in enumerate(keys):
            if key is not None and weights[index]:
                rows.setdefault(key, []).append(index)
        for own in map(np.asarray, rows.values()):
            sources.setdefault(own.tobytes(), SourceLabels(kind, own))
    heavy = np.asarray(weights)
    return sorted(sources.values(), key=lambda source: -float(heavy[source.rows].sum()))


def refit_thresholds(
    rows: Sequence[PatchEvidence], left_out: Sequence[Indices]
) -> Iterator[Thresholds]:
    """Yield the thresholds of a fit on `rows` without those of each item of `left_out`, whose weights become 0.

    The result is that of `fit_calibrator`, but the fits run many at a time. All rows need an opinion.
    """
    from threadpoolctl import threadpool_limits

    columns, table = LabelColumns.build(rows), build_table(rows)
    for start in range(0, len(left_out), _AT_ONCE):
        part = left_out[start : start + _AT_ONCE]
        # the fit on all rows comes first: the others start from its coefficients
        weights = np.tile(columns.weights, (len(part) + 1, 1))
        for own, gone in zip(weights[1:], part, strict=True):
            own[gone] = 0.0
        # several threads on such small matrices wait for each other most of the time
        with threadpool_limits(1, "blas"):
            held = predict_held_out(table, table.folds, weights)[1:]
        for own, probabilities in zip(weights[1:], held, strict=True):
            rest = LabelColumns(columns.labels, own, columns.issues)
            is_enough = rest.count_history().is_enough
            yield (
                rest.choose_thresholds(probabilities, ClaimTargets())
                if is_enough
                else Thresholds(None, None)
            )
