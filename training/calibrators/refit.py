"""Refit every judge's calibrator on recorded outcomes, and adopt calibrators that are not worse.

`r4p calibrate` runs this, also on a schedule. It prints one JSON document. A second fit on the same history
changes nothing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from app.outcomes.judgement import Judge, Judgement, PatchKey, PullRecord
from app.settings.repo_config import FOR_CALIBRATORS
from app.values.identifiers import InstallationId
from model.calibration.calibration import Calibrator
from training import corpus
from training.calibrators import recipes
from training.calibrators.adoption import (
    CalibratorDecision,
    cap_own_rows,
    cap_shared_rows,
    decide_adoption,
    decide_shared_adoption,
)
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import CalibratorFit, fit_calibrator
from training.corpus import Corpus, NewCalibrator
from training.labels.labels import RULE_VERSION, LabelledPatch, label_patches
from training.labels.rules import WEAK_WEIGHT
from training.labels.weight_caps import LabelOrigin

NO_SHARED = "too few persons or owners for a shared calibrator"
SHARED_FITS = "the shared one: own outcomes do not contradict it"

LabelledRows = tuple[list[PatchEvidence], Counter[str]]
"""Rows to fit a calibrator on, and the number of pull requests by rule of label."""


def refit_calibrators(store: Corpus, now: datetime) -> list[dict[str, Any]]:
    """Fit the calibrators of each judge on outcomes known at `now`, store them, and decide which come into use.

    Each judge gets a shared calibrator, and one for each installation with enough history. Only repositories that consent
    are read. Nothing is stored for too little history, or when the newest calibrator is the same. Returns a JSON object
    per judge and installation, with its label counts, history, calibrator number and decision.
    """
    consenting = store.list_consenting_records(FOR_CALIBRATORS)
    records = [record.limit_to(now) for record in consenting]
    labels = {patch.key: patch for patch in label_patches(records, now, store.read_checks())}
    by_installation: dict[InstallationId, list[PullRecord]] = {}
    for record in records:
        by_installation.setdefault(record.issue.repository.installation, []).append(record)
    documents = []
    for judge in list_judges(records):
        documents.append(_refit_shared(store, judge, build_rows(records, judge, labels), now))
        for installation, own in sorted(by_installation.items()):
            rows, counts = build_rows(own, judge, labels)
            if counts:
                documents.append(_refit_own(store, judge, installation, (rows, counts), now))
    return documents


def list_judges(records: Iterable[PullRecord]) -> list[Judge]:
    """List the judges that judged the pull requests `records`, each once, sorted by verifier and engine."""
    judges = {judgement.judge for record in records for judgement in record.judgements}
    return sorted(judges, key=lambda judge: (judge.verifier, *asdict(judge.engine).values()))


def build_rows(
    records: Iterable[PullRecord], judge: Judge, labels: Mapping[PatchKey, LabelledPatch]
) -> LabelledRows:
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


def _refit_shared(
    store: Corpus, judge: Judge, labelled_rows: LabelledRows, now: datetime
) -> dict[str, Any]:
    rows, counts = labelled_rows
    document = _describe_scope(judge, None, counts)
    in_use, capped = store.find_active_calibrator(judge), cap_shared_rows(rows)
    if capped is None:
        return document | {"calibrator": in_use and in_use.id, "decision": NO_SHARED}
    fit = fit_calibrator(capped, fitted_at=now.isoformat(timespec="seconds"))
    document["history"] = asdict(fit.calibrator.history)
    if repeated := _find_same(store, judge, None, fit):
        return document | repeated
    decision = decide_shared_adoption(fit, capped, in_use)
    if not fit.briers:
        return document | {"calibrator": in_use and in_use.id, "decision": decision.why}
    return document | _save_fit(store, judge, None, fit, capped, decision)


def _refit_own(
    store: Corpus,
    judge: Judge,
    installation: InstallationId,
    labelled_rows: LabelledRows,
    now: datetime,
) -> dict[str, Any]:
    rows, counts = cap_own_rows(labelled_rows[0]), labelled_rows[1]
    own, shared = (
        store.find_active_calibrator(judge, installation),
        store.find_active_calibrator(judge),
    )
    fit = fit_calibrator(
        rows,
        fitted_at=now.isoformat(timespec="seconds"),
        prior=shared.calibrator if shared else None,
    )
    document = _describe_scope(judge, installation, counts)
    document["history"] = asdict(fit.calibrator.history)
    if fit.recipe and fit.recipe.prior and shared:
        store.retire_calibrator(judge, installation)
        return document | {"calibrator": shared.id, "decision": SHARED_FITS}
    if repeated := _find_same(store, judge, installation, fit):
        return document | repeated
    # the owner weighs at most 5 % in the shared one, so all its own issues count as new to it
    in_use = own or (shared and replace(shared, seen=frozenset()))
    decision = decide_adoption(fit, rows, in_use)
    if not fit.briers:
        return document | {"calibrator": in_use and in_use.id, "decision": decision.why}
    return document | _save_fit(store, judge, installation, fit, rows, decision)


def _describe_scope(
    judge: Judge, installation: InstallationId | None, counts: Counter[str]
) -> dict[str, Any]:
    return {
        "verifier": judge.verifier,
        "engine": asdict(judge.engine),
        "installation": installation,
        "patches": dict(counts),
    }


def _find_same(
    store: Corpus, judge: Judge, installation: InstallationId | None, fit: CalibratorFit
) -> dict[str, Any] | None:
    """Describe the newest calibrator if the fit repeats it: the same history gives the same calibrator."""
    newest = store.find_newest_calibrator(judge, installation)
    if newest is None or not _is_same(newest.calibrator, fit.calibrator):
        return None
    return {"calibrator": newest.id, "decision": "nothing new"}


def _save_fit(
    store: Corpus,
    judge: Judge,
    installation: InstallationId | None,
    fit: CalibratorFit,
    rows: Sequence[PatchEvidence],
    decision: CalibratorDecision,
) -> dict[str, Any]:
    number = store.save_calibrator(
        NewCalibrator(
            judge=judge,
            calibrator=fit.calibrator,
            brier=recipes.compute_brier(fit.held_out, rows),
            label_rule=RULE_VERSION,
            seen=frozenset(int(row.issue) for row in rows),
            is_active=decision.is_active,
            why=decision.why,
            installation=installation,
        )
    )
    taken = "in use" if decision.is_active else "refused"
    return {"calibrator": number, "decision": f"{taken}: {decision.why}"}


def _build_row(judgement: Judgement, label: LabelledPatch) -> PatchEvidence | None:
    is_positive = label.label.is_positive
    if is_positive is None or not judgement.evidence.is_opinion:
        return None
    weight = WEAK_WEIGHT if label.label.is_weak else 1.0
    repository = label.issue.repository
    source = LabelOrigin(label.decider, repository.id, repository.installation)
    return PatchEvidence(judgement.evidence, is_positive, str(label.group), weight, source)


def _is_same(first: Calibrator, second: Calibrator) -> bool:
    return replace(first, fitted_at="") == replace(second, fitted_at="")


def main() -> None:
    """Refit the calibrators of the database at R4P_DATABASE_URL, and print a JSON document."""
    with corpus.open_corpus() as store:
        judges = refit_calibrators(store, datetime.now(UTC))
    sys.stdout.write(json.dumps({"schema": "r4p.refit/1", "judges": judges}, indent=2) + "\n")


if __name__ == "__main__":
    main()
