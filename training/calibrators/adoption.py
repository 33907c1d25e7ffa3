"""Decide whether a fitted calibrator comes into use (pure)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.calibration.calibration import NO_HISTORY, Calibrator
from model.evaluation.judgement_columns import Indices
from model.voting.thresholds import Thresholds
from training.calibrators import recipes
from training.calibrators.claims import count_history
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import CalibratorFit
from training.calibrators.leave_out import list_sources, refit_thresholds
from training.corpus import StoredCalibrator
from training.labels.weight_caps import OWN_CAPS, SHARED_CAPS, LabelOrigin, cap_weights

LEAST_NEW = 10
"""Fewest patches, unseen by both calibrators, for a comparison."""
LARGEST_MOVE = 0.01
"""How far a shared threshold may move when one person or one owner is left out."""
MOST_SHARED = 5_000
"""Largest number of rows in a shared fit. Owners with few rows keep all of theirs."""
ThresholdRefit = Callable[[Sequence[PatchEvidence], Sequence[Indices]], Iterable[Thresholds]]
"""Refits the thresholds on some rows without those of each item; see `refit_thresholds`."""


@dataclass(frozen=True, slots=True)
class CalibratorDecision:
    """The decision whether a new calibrator comes into use, with its reason."""

    is_active: bool
    """True if the new calibrator comes into use."""
    why: str
    """The reason, for a person."""


def decide_adoption(
    fitted: CalibratorFit, rows: Sequence[PatchEvidence], in_use: StoredCalibrator | None
) -> CalibratorDecision:
    """Decide whether the newly fitted calibrator replaces the one in use (None: there is none).

    `rows` are those that `fitted` was fitted on. The new calibrator needs enough history. Its held-out predictions must
    not be worse on the issues that the old calibrator has not seen. Without such issues only labels have changed, and
    the new calibrator is adopted.
    """
    if not fitted.briers:
        return CalibratorDecision(is_active=False, why=NO_HISTORY)
    if in_use is None:
        return CalibratorDecision(is_active=True, why="the first")
    new = [index for index, row in enumerate(rows) if int(row.issue) not in in_use.seen]
    if not new:
        return CalibratorDecision(is_active=True, why="the same issues, of which more is known")
    if len(new) < LEAST_NEW:
        return CalibratorDecision(is_active=False, why=f"only {len(new)} new patches to compare by")
    after, before = _compare_briers(fitted, rows, new, in_use.calibrator)
    compared = f"Brier {after:.4f}, before {before:.4f}, on {len(new)} patches new to both"
    return CalibratorDecision(is_active=after <= before, why=compared)


def decide_shared_adoption(
    fitted: CalibratorFit, rows: Sequence[PatchEvidence], in_use: StoredCalibrator | None
) -> CalibratorDecision:
    """Decide like `decide_adoption`, and refuse a calibrator whose thresholds depend on one person or one owner."""
    decision = decide_adoption(fitted, rows, in_use)
    if not decision.is_active:
        return decision
    dominant = find_dominant_source(rows, fitted.calibrator.thresholds)
    return CalibratorDecision(is_active=False, why=dominant) if dominant else decision


def cap_shared_rows(rows: Sequence[PatchEvidence]) -> list[PatchEvidence] | None:
    """Cap the weight of every person, repository and owner. None: too few of them for the caps.

    Only MOST_SHARED rows stay, the newest issues of each owner, so that the time of a decision has a limit.
    """
    rows = _keep_newest(rows)
    sources = _list_origins(rows)
    capped = cap_weights([row.weight for row in rows], sources, SHARED_CAPS)
    return None if capped is None else _set_weights(rows, capped)


def cap_own_rows(rows: Sequence[PatchEvidence]) -> list[PatchEvidence]:
    """Cap the weight of every person in the history of one installation.

    The rows stay as they are when the caps cannot hold, or would leave too little history: an installation with a few
    maintainers trusts them.
    """
    capped = cap_weights([row.weight for row in rows], _list_origins(rows), OWN_CAPS)
    if capped is None or not count_history(_set_weights(rows, capped)).is_enough:
        return list(rows)
    return _set_weights(rows, capped)


def find_dominant_source(
    rows: Sequence[PatchEvidence], thresholds: Thresholds, refit: ThresholdRefit = refit_thresholds
) -> str | None:
    """Find an owner or a person without whose labels a threshold moves by more than LARGEST_MOVE.

    `thresholds` are those of the fit on all rows. Every owner and every person is left out once, the heaviest first.
    Returns a reason that names nobody, or None.
    """
    sources = list_sources(_list_origins(rows), [row.weight for row in rows])
    refitted = refit(rows, [source.rows for source in sources])
    for source, without in zip(sources, refitted, strict=True):
        move = measure_move(thresholds, without)
        if move > LARGEST_MOVE:
            labels = len(source.rows)
            return f"a threshold would move by {move:.3f} without the {labels} labels of one {source.kind}"
    return None


def measure_move(first: Thresholds, second: Thresholds) -> float:
    """Measure how far the thresholds lie apart, at most 1. A threshold that only one side has moved by 1."""
    pairs = ((first.correct, second.correct), (first.incorrect, second.incorrect))
    return max(
        float(left is not right) if left is None or right is None else abs(left - right)
        for left, right in pairs
    )


def _keep_newest(rows: Sequence[PatchEvidence]) -> list[PatchEvidence]:
    """Keep MOST_SHARED rows: the newest of each owner, then the second newest of each, and so on."""
    origins, counts = _list_origins(rows), Counter[int]()
    turns = []
    for index in sorted(range(len(rows)), key=lambda index: int(rows[index].issue), reverse=True):
        counts[origins[index].owner] += 1
        turns.append((counts[origins[index].owner], index))
    # the sort is stable: in each turn the newer rows come first
    kept = sorted(turns, key=lambda turn: turn[0])[:MOST_SHARED]
    return [rows[index] for _, index in sorted(kept, key=lambda turn: turn[1])]


def _list_origins(rows: Sequence[PatchEvidence]) -> list[LabelOrigin]:
    """List the sources of rows from the bot's history. Raises ValueError for a row without a source."""
    sources = [row.source for row in rows if row.source is not None]
    if len(sources) < len(rows):
        raise ValueError("a row has no source; give rows of the bot's history")
    return sources


def _set_weights(rows: Sequence[PatchEvidence], weights: Sequence[float]) -> list[PatchEvidence]:
    return [replace(row, weight=weight) for row, weight in zip(rows, weights, strict=True)]


def _compare_briers(
    fitted: CalibratorFit, rows: Sequence[PatchEvidence], new: Sequence[int], before: Calibrator
) -> tuple[float, float]:
    """Compute the Brier scores of the new and the old calibrator on the same rows."""
    new_rows = [rows[index] for index in new]
    predictions = np.asarray(
        [before.predict_probability(row.evidence) for row in new_rows], dtype=np.float64
    )
    return recipes.compute_brier(fitted.held_out[list(new)], new_rows), recipes.compute_brier(
        predictions, new_rows
    )
