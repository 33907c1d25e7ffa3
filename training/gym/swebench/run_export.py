"""Write what an import measured for `r4p evaluate`: labelled groups of agents' patches, and the record of their tests."""

import json
from collections.abc import Sequence
from pathlib import Path

from model import typed_json
from model.evaluation.labelled_group import LabelledPatch
from model.execution.evidence_record import EvidenceRecord, hash_patch
from model.execution.regression import PatchEvidence, RegressionEvidence
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.import_report import find_refusal
from training.gym.swebench.issue_record import CandidateRecord, IssueRecord
from training.gym.swebench.measurement import build_command

GROUPS, RUNS = "groups.jsonl", "runs.jsonl"
"""The files of a gym with labelled groups, and with the record `r4p.gym-run/1`."""


def write_runs(
    folder: Path, issues: Sequence[BenchmarkIssue], records: Sequence[IssueRecord]
) -> None:
    """Write both files into the folder of a gym. A patch whose tests told nothing is in neither."""
    by_id = {issue.id: issue for issue in issues}
    tasks = [(by_id[record.id], record) for record in records if record.refusal is None]
    groups = [
        _build_group(issue, pairs) for issue, record in tasks if (pairs := _pair(issue, record))
    ]
    runs = [
        typed_json.dump(_build_record(record, labelled, measured))
        for issue, record in tasks
        for labelled, measured in _pair(issue, record)
    ]
    for name, rows in ((GROUPS, groups), (RUNS, runs)):
        text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")


_Pair = tuple[LabelledPatch, CandidateRecord]


def _pair(issue: BenchmarkIssue, record: IssueRecord) -> list[_Pair]:
    both = zip(issue.candidates, record.candidates, strict=True)
    return [(labelled, measured) for labelled, measured in both if find_refusal(measured) is None]


def _build_group(issue: BenchmarkIssue, pairs: Sequence[_Pair]) -> dict[str, object]:
    return {
        "instance_id": issue.id,
        "repo": issue.repository,
        "problem_statement": issue.statement,
        "patches": [
            {"patch": item.patch.diff, "resolved": item.resolved, "source": item.source}
            for item, _ in pairs
        ],
    }


def _build_record(
    record: IssueRecord, labelled: LabelledPatch, measured: CandidateRecord
) -> EvidenceRecord:
    run = measured.runs[0]
    return EvidenceRecord(
        task=record.id,
        candidate=measured.id,
        patch=hash_patch(labelled.patch.diff),
        command=build_command(record.labels),
        evidence=PatchEvidence(RegressionEvidence(run.lost, len(record.regression))),
        fail_to_pass=tuple((test, test not in run.failed) for test in record.fail_to_pass),
        seconds=run.seconds,
    )
