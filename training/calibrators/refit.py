"""Refit every judge's calibrator on recorded outcomes, and adopt calibrators that are not worse.

`r4p calibrate` runs this, also on a schedule. It prints one JSON document. A second fit on the same history
changes nothing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from app.outcomes.judgement import Judge, Judgement, PatchKey, PullRecord
from app.settings.repo_config import FOR_CALIBRATORS
from model.calibration.calibration import NO_HISTORY, Calibrator
from training import corpus
from training.calibrators import recipes
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import CalibratorFit, fit_calibrator
from training.corpus import Corpus, NewCalibrator, StoredCalibrator
from training.labels.labels import RULE_VERSION, LabelledPatch, label_patches
from training.labels.rules import WEAK_WEIGHT

LEAST_NEW = 10
"""Fewest patches, unseen by both calibrators, for a comparison."""


@dataclass(frozen=True, slots=True)
class CalibratorDecision:
    """The decision whether a new calibrator comes into use, with its reason."""

    is_active: bool
    """True if the new calibrator comes into use."""
    why: str
    """The reason, for a person."""


def refit_calibrators(store: Corpus, now: datetime) -> list[dict[str, Any]]:
    """Fit a calibrator for each judge on outcomes known at `now`, store it, and decide whether it comes into use.

    Nothing is stored for a judge with too little history, or whose newest calibrator is the same. Returns a JSON object
    per judge, with its verifier, engine, label counts, history, calibrator number and decision.
    """
    records = [record.limit_to(now) for record in store.list_consenting_records(FOR_CALIBRATORS)]
    labels = {patch.key: patch for patch in label_patches(records, now, store.read_checks())}
    return [
        _refit_judge(store, judge, build_rows(records, judge, labels), now)
        for judge in list_judges(records)
    ]


def list_judges(records: Iterable[PullRecord]) -> list[Judge]:
    """List the judges that judged the pull requests `records`, each once, sorted by verifier and engine."""
    judges = {judgement.judge for record in records for judgement in record.judgements}
    return sorted(judges, key=lambda judge: (judge.verifier, *asdict(judge.engine).values()))


def build_rows(
    records: Iterable[PullRecord], judge: Judge, labels: Mapping[PatchKey, LabelledPatch]
) -> tuple[list[PatchEvidence], Counter[str]]:
    """Return the rows to fit the calibrator of `judge` on, and the number of pull requests by rule of label.

    A pull request gives at most one row: the last patch that the judge saw and that has a label. It gives none if no
    vote on that patch could be read; it then counts as `no vote could be read`.
    """
    kept, counts = [], Counter[str]()
    for record in records:
        own = [
            judgement
            for judgement in reversed(record.judgements)
            if judgement.judge == judge and judgement.patch
        ]
        candidates = [(patch, labels[record.group, record.pull, str(patch.patch)]) for patch in own]
        if not candidates:
            continue
        judgement, label = next(
            (candidate for candidate in candidates if candidate[1].probability is not None),
            candidates[0],
        )
        row = _build_row(judgement, label)
        unread = label.probability is not None and row is None
        counts["no vote could be read" if unread else label.rule_name] += 1
        kept += [row] if row else []
    return kept, counts


def decide_adoption(
    fitted: CalibratorFit, rows: Sequence[PatchEvidence], in_use: StoredCalibrator | None
) -> CalibratorDecision:
    """Decide whether the newly fitted calibrator replaces the one in use (None: there is none).

    `rows` are those that `fitted` was fitted on. The new calibrator needs enough history. On issues that neither
    calibrator was fitted on, its held-out predictions must not be worse. If there are no such issues, only labels were
    corrected, and the new calibrator is adopted.
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


def _refit_judge(
    store: Corpus,
    judge: Judge,
    labelled_rows: tuple[list[PatchEvidence], Counter[str]],
    now: datetime,
) -> dict[str, Any]:
    rows, counts = labelled_rows
    fit = fit_calibrator(rows, fitted_at=now.isoformat(timespec="seconds"))
    document: dict[str, Any] = {
        "verifier": judge.verifier,
        "engine": asdict(judge.engine),
        "patches": dict(counts),
        "history": asdict(fit.calibrator.history),
    }
    in_use, newest = store.find_active_calibrator(judge), store.find_newest_calibrator(judge)
    # the same history gives the same calibrator, so repeated runs store nothing
    if newest and _is_same(newest.calibrator, fit.calibrator):
        return document | {"calibrator": newest.id, "decision": "nothing new"}
    decision = decide_adoption(fit, rows, in_use)
    if not fit.briers:
        return document | {"calibrator": in_use and in_use.id, "decision": decision.why}
    number = store.save_calibrator(
        NewCalibrator(
            judge=judge,
            calibrator=fit.calibrator,
            brier=recipes.compute_brier(fit.held_out, rows),
            label_rule=RULE_VERSION,
            seen=frozenset(int(row.issue) for row in rows),
            is_active=decision.is_active,
            why=decision.why,
        )
    )
    taken = "in use" if decision.is_active else "refused"
    return document | {"calibrator": number, "decision": f"{taken}: {decision.why}"}


def _build_row(judgement: Judgement, label: LabelledPatch) -> PatchEvidence | None:
    is_positive = label.label.is_positive
    if is_positive is None or not judgement.evidence.is_opinion:
        return None
    weight = WEAK_WEIGHT if label.label.is_weak else 1.0
    return PatchEvidence(judgement.evidence, is_positive, str(label.group), weight)


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


def _is_same(first: Calibrator, second: Calibrator) -> bool:
    return replace(first, fitted_at="") == replace(second, fitted_at="")


def main() -> None:
    """Refit the calibrators of the database at R4P_DATABASE_URL, and print a JSON document."""
    with corpus.open_corpus() as store:
        judges = refit_calibrators(store, datetime.now(UTC))
    sys.stdout.write(json.dumps({"schema": "r4p.refit/1", "judges": judges}, indent=2) + "\n")


if __name__ == "__main__":
    main()
