"""The runner refuses a machine that lacks something, and begins nothing once the time is over."""

import json
import time
from dataclasses import replace

import pytest

from tests.training.gpu_proof import rehearsal
from training.gpu_proof import bundle, slice_runner
from training.gpu_proof.slice_runner import MachineNotReady
from training.gpu_proof.slices import SliceRecord, SliceStatus, TimeLimits


@pytest.fixture
def home(tmp_path):
    """A home folder in which every file is there, though none has content."""
    for path in ("weights/tiny", "data/dataset/manifest.json", "data/distinct.jsonl.gz"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "data" / "r4p_style.jsonl.gz").touch()
    return tmp_path


def test_a_machine_without_a_gpu_is_refused(home):
    slice_runner.check_machine(home, rehearsal.TINY)
    with pytest.raises(MachineNotReady, match=r"torch .* sees no GPU, and size tiny needs one"):
        slice_runner.check_machine(home, replace(rehearsal.TINY, needs_gpu=True))


def test_everything_that_is_missing_is_named_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(slice_runner, "NEEDED", ("torch", "no_such_trainer"))
    with pytest.raises(MachineNotReady) as refused:
        slice_runner.check_machine(tmp_path, rehearsal.TINY)
    faults = str(refused.value).split("; ")
    assert faults[0] == ("the package no_such_trainer is missing: install it, or carry its wheel")
    assert [fault.partition(" is missing")[0] for fault in faults[1:]] == [
        str(tmp_path / path)
        for path in (
            "weights/tiny",
            "data/dataset/manifest.json",
            "data/distinct.jsonl.gz",
            "data/r4p_style.jsonl.gz",
        )
    ]


def test_nothing_begins_after_the_rented_half_hour(home):
    (home / bundle.LEASE).write_text(json.dumps({"started": time.time() - 1_760}))
    lines = []
    records = slice_runner.run_slices(home, rehearsal.TINY, TimeLimits(), lines.append)
    assert (records, lines) == ({}, [])


def test_a_slice_that_fails_is_recorded_with_its_last_line(home):
    (home / bundle.LEASE).write_text(json.dumps({"started": time.time()}))
    lines = []
    # the home folder has no settings, which the slice reads first
    records = slice_runner.run_slices(home, rehearsal.TINY, TimeLimits(), lines.append)
    assert records["weights"].status is SliceStatus.FAILED
    assert "settings.json" in records["weights"].why
    assert records == slice_runner.read_records(home / "tiny" / "results")
    assert "weights" in slice_runner.list_open(records)
    assert len(lines) == 1


def test_finished_slices_are_not_left():
    records = {"weights": SliceRecord("weights", SliceStatus.FINISHED)}
    assert slice_runner.list_open(records)[0] == "yes-no-before"
