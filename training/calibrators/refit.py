"""Fits every judge's calibrator on what became of what it judged, and puts those into use that are not worse.

`r4p calibrate`, also by the clock. One JSON document on stdout says what was found and decided; fitting twice on the
same history changes nothing.
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
from model.calibration.calibration import NO_HISTORY, Calibrator
from training import corpus
from training.calibrators import recipes
from training.calibrators.evidence import Row
from training.calibrators.fitting import Fit, fit
from training.corpus import Corpus, NewCalibrator, StoredCalibrator
from training.labels.labels import RULE_VERSION, LabelledPatch, label_patches
from training.labels.rules import WEAK

LEAST_NEW = 10
"""Patches that neither calibrator was fitted on, below which nothing is compared."""


@dataclass(frozen=True, slots=True)
class CalibratorDecision:
    """Whether a new calibrator comes into use, and why."""

    is_active: bool
    why: str


def refit(known: Corpus, now: datetime) -> list[dict[str, Any]]:
    """Fit, decide and keep, one judge after the other; what was done, as plain JSON values."""
    records = [one.by(now) for one in known.records()]
    labels = {one.key: one for one in label_patches(records, now, known.checks())}
    return [_refit(known, judge, rows(records, judge, labels), now) for judge in judges(records)]


def judges(records: Iterable[PullRecord]) -> list[Judge]:
    """Everybody who has judged, in a fixed order."""
    found = {judgement.judge for record in records for judgement in record.judgements}
    return sorted(found, key=lambda one: (one.verifier, *asdict(one.engine).values()))


def rows(
    records: Iterable[PullRecord], judge: Judge, known: Mapping[PatchKey, LabelledPatch]
) -> tuple[list[Row], Counter[str]]:
    """What the judge knew of patches whose truth is known, and how many labels of each rule there are.

    One row for each pull request: of several patches the last one that has a label.
    """
    kept, counts = [], Counter[str]()
    for record in records:
        own = [one for one in reversed(record.judgements) if one.judge == judge and one.patch]
        told = [(one, known[record.group, record.pull, str(one.patch)]) for one in own]
        if not told:
            continue
        judgement, found = next((one for one in told if one[1].probability is not None), told[0])
        row = _row(judgement, found)
        unread = found.probability is not None and row is None
        counts["no vote could be read" if unread else found.why] += 1
        kept += [row] if row else []
    return kept, counts


def decide(
    fitted: Fit, known: Sequence[Row], in_use: StoredCalibrator | None
) -> CalibratorDecision:
    """Into use with enough history, if it is not worse than the one in use on issues that neither was fitted on.

    The new one is measured as it was held out. Without any new issue the old labels were corrected: the one in use
    learnt what was not so.
    """
    if not fitted.briers:
        return CalibratorDecision(is_active=False, why=NO_HISTORY)
    if in_use is None:
        return CalibratorDecision(is_active=True, why="the first")
    new = [at for at, row in enumerate(known) if int(row.issue) not in in_use.seen]
    if not new:
        return CalibratorDecision(is_active=True, why="the same issues, of which more is known")
    if len(new) < LEAST_NEW:
        return CalibratorDecision(is_active=False, why=f"only {len(new)} new patches to compare by")
    found, before = _briers(fitted, known, new, in_use.calibrator)
    compared = f"Brier {found:.4f}, before {before:.4f}, on {len(new)} patches new to both"
    return CalibratorDecision(is_active=found <= before, why=compared)


def _refit(
    known: Corpus, judge: Judge, found: tuple[list[Row], Counter[str]], now: datetime
) -> dict[str, Any]:
    told, counts = found
    fitted = fit(told, fitted_at=now.isoformat(timespec="seconds"))
    said: dict[str, Any] = {
        "verifier": judge.verifier,
        "engine": asdict(judge.engine),
        "patches": dict(counts),
        "history": asdict(fitted.calibrator.history),
    }
    in_use, newest = known.active(judge), known.newest(judge)
    if newest and _same(newest.calibrator, fitted.calibrator):
        return said | {"calibrator": newest.id, "decision": "nothing new"}
    decision = decide(fitted, told, in_use)
    if not fitted.briers:
        return said | {"calibrator": in_use and in_use.id, "decision": decision.why}
    number = known.keep(
        NewCalibrator(
            judge=judge,
            calibrator=fitted.calibrator,
            brier=recipes.brier(fitted.held_out, told),
            label_rule=RULE_VERSION,
            seen=frozenset(int(row.issue) for row in told),
            is_active=decision.is_active,
            why=decision.why,
        )
    )
    taken = "in use" if decision.is_active else "refused"
    return said | {"calibrator": number, "decision": f"{taken}: {decision.why}"}


def _row(judgement: Judgement, found: LabelledPatch) -> Row | None:
    is_positive = found.label.is_positive
    if is_positive is None or not judgement.evidence.is_opinion:
        return None
    weight = WEAK if found.label.is_weak else 1.0
    return Row(judgement.evidence, is_positive, str(found.group), weight)


def _briers(
    fitted: Fit, known: Sequence[Row], new: Sequence[int], before: Calibrator
) -> tuple[float, float]:
    """Of the new calibrator and of the one before, on the same rows."""
    told = [known[at] for at in new]
    said = np.asarray([before.probability(row.evidence) for row in told], dtype=np.float64)
    return recipes.brier(fitted.held_out[list(new)], told), recipes.brier(said, told)


def _same(one: Calibrator, other: Calibrator) -> bool:
    return replace(one, fitted_at="") == replace(other, fitted_at="")


def main() -> None:
    """Fit on the database of R4P_DATABASE_URL."""
    with corpus.open_corpus() as known:
        found = refit(known, datetime.now(UTC))
    sys.stdout.write(json.dumps({"schema": "r4p.refit/1", "judges": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
