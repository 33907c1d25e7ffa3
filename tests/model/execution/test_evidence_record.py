"""A record of runs: the same evidence as the runs themselves, and what a broken file says."""

from dataclasses import replace

import pytest

from model.domain import Issue, Patch, PatchId
from model.errors import BadRun
from model.execution.evidence_record import (
    EvidenceRecord,
    hash_patch,
    open_record,
    read_evidence,
    read_records,
)
from model.execution.evidence_source import LiveTests
from model.execution.regression import PatchEvidence, RegressionEvidence
from model.verifiers.execution import ExecutionVerifier
from tests.model.execution.conftest import CODE, COMMAND, write_diff

ISSUE = Issue("double", "")
PATCHES = [
    Patch(PatchId("wrong"), write_diff("doubling.py", CODE, CODE.replace("* 2", "* 3"))),
    Patch(PatchId("right"), write_diff("doubling.py", CODE, CODE.replace("* 2", "+ number"))),
    Patch(PatchId("late"), write_diff("doubling.py", "no such line\n", "x\n")),
]
ONE = EvidenceRecord(
    "task-1",
    "true",
    "0" * 64,
    "pytest",
    PatchEvidence(RegressionEvidence(("a",), 9), (("new", None),)),
    (("f", True), ("g", None)),
    "late",
    seconds=1.5,
)


def judge(source):
    verifier = ExecutionVerifier("regression", source, with_reproduction=False)
    verdict = verifier.verify(ISSUE, PATCHES)
    return [(patch.id, patch.verdict, patch.score, patch.evidence) for patch in verdict.patches]


def test_recorded_and_live_evidence_give_the_same_verdicts(bubblewrap, tree, tmp_path):
    live = LiveTests(tree, COMMAND, "pytest -q tests", base_runs=1)
    with open_record(tmp_path / "runs.jsonl") as file:
        for patch, found in live.collect(ISSUE, PATCHES).items():
            diff = next(item.diff for item in PATCHES if item.id == patch)
            file.add(EvidenceRecord("task", patch, hash_patch(diff), "pytest -q tests", found))
    recorded = read_evidence(tmp_path / "runs.jsonl").select_task("task")
    assert judge(recorded) == judge(live)
    assert [score for _, _, score, _ in judge(live)] == [0.0, 1.0, None]


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    with open_record(path) as file:
        file.add(ONE)
        file.add(replace(ONE, candidate="b"))
    assert read_records(path) == [ONE, replace(ONE, candidate="b")]
    with open_record(path) as again:
        assert len(again.records) == 2


def test_a_half_written_line_is_cut_off(tmp_path):
    with open_record(path := tmp_path / "runs.jsonl") as file:
        file.add(ONE)
    path.write_bytes(path.read_bytes() + b'{"candidate":"b", "evi')
    assert read_records(path) == [ONE]
    with open_record(path) as file:
        file.add(replace(ONE, candidate="c"))
    assert [record.candidate for record in read_records(path)] == ["true", "c"]


def test_a_record_is_written_by_one_run_at_a_time(tmp_path):
    with (
        open_record(tmp_path / "runs.jsonl"),
        pytest.raises(BadRun, match="is being written by another run"),
        open_record(tmp_path / "runs.jsonl"),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; run `r4p gym run` first"),
        ("no json\n", "line 1 is no run of tests"),
        ('{"task": 3}\n', "holds 3"),
        ("[" * 100_000 + "\n", "line 1 is no run of tests"),
    ],
)
def test_another_file_is_refused_with_its_line(tmp_path, text, words):
    (path := tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(BadRun, match=words):
        read_evidence(path)
    with pytest.raises(BadRun, match="can't be read"):
        read_evidence(tmp_path / "none")


def test_the_fail_to_pass_tests_can_stand_for_reproduction_tests(tmp_path):
    with open_record(path := tmp_path / "runs.jsonl") as file:
        file.add(ONE)
    (record,) = read_evidence(path, with_fail_to_pass=True).select_task("task-1").records.values()
    assert record.evidence.reproduction == (("f", True), ("g", None))
    assert (
        read_evidence(path).fingerprint != read_evidence(path, with_fail_to_pass=True).fingerprint
    )


@pytest.mark.parametrize(
    ("outcomes", "resolved"),
    [
        ({"a": True, "b": True}, True),
        ({"a": True, "b": False}, False),
        ({"a": None, "b": False}, False),
        ({"a": None, "b": True}, None),
        ({}, None),
    ],
)
def test_a_patch_resolves_the_issue_if_every_fail_to_pass_test_passes(outcomes, resolved):
    assert replace(ONE, fail_to_pass=tuple(outcomes.items())).is_resolved is resolved


def test_a_diff_without_its_last_line_end_is_the_same_patch():
    assert hash_patch("--- a\n+++ b") == hash_patch("--- a\n+++ b\n") != hash_patch("--- a\n+++ c")


def test_a_record_without_some_of_the_patches_says_how_many(tmp_path):
    with open_record(tmp_path / "runs.jsonl") as file:
        file.add(replace(ONE, task="task", patch=hash_patch(PATCHES[0].diff)))
    evidence = read_evidence(tmp_path / "runs.jsonl")
    assert evidence.warn_of_gaps([("task", PATCHES[0].diff)]) is None
    asked = [("task", patch.diff) for patch in PATCHES] + [("other", PATCHES[0].diff)]
    assert evidence.warn_of_gaps(asked).startswith("The record holds no tests of 3 of 4 patches")
