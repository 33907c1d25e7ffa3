"""Compare what ran with the benchmark's labels, and count every refusal (pure)."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from model.evaluation.rate_intervals import estimate_rates, number_names
from training.gym.swebench.issue_record import CandidateRecord, IssueRecord, PatchRun

SCHEMA: Final = "r4p.gym-import/1"
_Run = tuple[IssueRecord, CandidateRecord, PatchRun]


def build_report(records: Sequence[IssueRecord]) -> dict[str, Any]:
    """Return the `r4p.gym-import/1` document of an import. Rates are of each candidate's first run, by issue."""
    tasks = [record for record in records if record.refusal is None]
    runs = [run for run in _list_first_runs(tasks) if run[2].unknown is None]
    candidates = [candidate for record in tasks for candidate in record.candidates]
    refusals = Counter(filter(None, map(find_refusal, candidates)))
    return {
        "schema": SCHEMA,
        "issues": len(records),
        "tasks": len(tasks),
        "refusals": count_refusals(records),
        "bases": dict(sorted(Counter(record.base for record in tasks).items())),
        "with_every_test": sum(not record.missing for record in tasks),
        "patches": {
            "labelled": len(candidates),
            "run": len(runs),
            "refusals": dict(sorted(refusals.items())),
        },
        "labels_reproduced": _rate(runs, lambda run: run[1].label == run[2].resolves),
        "labels_reproduced_by_fail_to_pass": _rate(
            runs, lambda run: run[1].label == (not run[2].failed)
        ),
        "wrong_that_break_a_test": _rate(
            _filter(runs, label=False), lambda run: bool(run[2].broken)
        ),
        "right_that_break_a_test": _rate(
            _filter(runs, label=True), lambda run: bool(run[2].broken)
        ),
        "repeats_that_agree": _rate(
            [run for run in runs if len(run[1].runs) > 1],
            lambda run: len({again.resolves for again in run[1].runs}) == 1,
        ),
        "disagreements": [_describe(run) for run in runs if run[1].label != run[2].resolves],
    }


def count_refusals(records: Sequence[IssueRecord]) -> dict[str, int]:
    """Return the number of issues that gave no task, by reason."""
    reasons = Counter(record.refusal for record in records if record.refusal is not None)
    return dict(sorted(reasons.items()))


def find_refusal(candidate: CandidateRecord) -> str | None:
    """Return why nothing is known about a candidate; None if a run told something."""
    if candidate.refusal is not None:
        return candidate.refusal
    reasons = [run.unknown for run in candidate.runs]
    return reasons[0] if reasons else "not run yet"


def _list_first_runs(tasks: Sequence[IssueRecord]) -> Iterator[_Run]:
    for record in tasks:
        for candidate in record.candidates:
            if candidate.runs:
                yield record, candidate, candidate.runs[0]


def _filter(runs: Sequence[_Run], *, label: bool) -> list[_Run]:
    return [run for run in runs if run[1].label is label]


def _rate(runs: Sequence[_Run], holds: Callable[[_Run], bool]) -> dict[str, Any]:
    """Return how many runs have a property, and the share with its 95 % interval over issues."""
    if not runs:
        return {"count": 0, "of": 0, "share": None, "low": None, "high": None}
    values = np.asarray([[float(holds(run))] for run in runs])
    [estimate] = estimate_rates(
        values, np.ones_like(values), number_names([record.id for record, _, _ in runs])
    )
    return {
        "count": int(values.sum()),
        "of": len(runs),
        "share": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
    }


def _describe(run: _Run) -> dict[str, Any]:
    record, candidate, first = run
    return {
        "issue": record.id,
        "candidate": candidate.id,
        "resolved": candidate.label,
        "failed": list(first.failed),
        "broken": list(first.broken),
    }
