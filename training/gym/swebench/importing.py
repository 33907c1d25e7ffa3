"""Import issues of SWE-bench: measure each one, keep the progress on disk, and go on where a killed import stopped."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from training.gym.swebench.base_choice import choose_base, find_base
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.issue_record import (
    IssueRecord,
    compute_key,
    format_record,
    parse_record,
)
from training.gym.swebench.measurement import NO_BASE, measure_issue, run_candidates
from training.gym.swebench.release import Release


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import measures, and with what."""

    releases: tuple[Release, ...]
    """In order of time."""
    python: Path
    """The interpreter of the environment with the project's dependencies."""
    progress: Path
    """Folder with one record an issue."""
    repeats: int = 1
    """Runs of each candidate."""
    parallel: int | None = None
    """Issues at the same time; None takes one for each core."""


def measure_issues(
    issues: Sequence[BenchmarkIssue],
    plan: ImportPlan,
    on_issue: Callable[[int], None] = lambda _done: None,
) -> list[IssueRecord]:
    """Return the record of each issue, in the order of `issues`. Each is on disk as soon as it is measured.

    All issues get their first run before any gets its second. `on_issue` gets the number of finished issue runs.
    Raises NoSandbox.
    """
    plan.progress.mkdir(parents=True, exist_ok=True)
    done = 0
    with ThreadPoolExecutor(plan.parallel or os.cpu_count() or 1) as pool:
        for repeat in range(plan.repeats):
            jobs = [pool.submit(_measure, issue, plan, repeat + 1) for issue in issues]
            try:
                for job in as_completed(jobs):
                    job.result()
                    done += 1
                    on_issue(done)
            finally:
                for job in jobs:
                    job.cancel()
    return list(read_records(issues, plan))


def read_records(issues: Sequence[BenchmarkIssue], plan: ImportPlan) -> Iterator[IssueRecord]:
    """Yield the records on disk, of issues that were measured with this plan's releases."""
    for issue in issues:
        record = _read(issue, plan)
        if record is not None:
            yield record


def _measure(issue: BenchmarkIssue, plan: ImportPlan, repeats: int) -> None:
    record = _read(issue, plan)
    if record is None:
        record = _begin(issue, plan)
        _write(record, plan)
    while record.refusal is None and record.count_repeats() < repeats:
        base = find_base(issue, plan.releases, record.base)
        if base is None:
            record = replace(record, refusal=NO_BASE)
        else:
            record = run_candidates(issue, base, record, plan.python)
        _write(record, plan)


def _begin(issue: BenchmarkIssue, plan: ImportPlan) -> IssueRecord:
    key = compute_key(issue, plan.releases)
    base = choose_base(issue, plan.releases)
    if base is None:
        return IssueRecord(issue.id, key, refusal=NO_BASE)
    return measure_issue(issue, base, key, plan.python)


def _get_path(issue_id: str, plan: ImportPlan) -> Path:
    return plan.progress / f"{issue_id}.json"


def _read(issue: BenchmarkIssue, plan: ImportPlan) -> IssueRecord | None:
    try:
        record = parse_record(_get_path(issue.id, plan).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None  # not measured yet, or by another version
    return record if record.key == compute_key(issue, plan.releases) else None


def _write(record: IssueRecord, plan: ImportPlan) -> None:
    path = _get_path(record.id, plan)
    partial = path.with_suffix(".partial")
    partial.write_text(format_record(record), encoding="utf-8")
    partial.replace(path)
