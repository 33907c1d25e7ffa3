"""Run the slices that still have to run, each in a process of its own, within the limits of the rented machine."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from model import typed_json
from model.interpreter import module_command
from training.gpu_proof import slices
from training.gpu_proof.bundle import LEASE
from training.gpu_proof.settings import SETS, ProofSize
from training.gpu_proof.slices import (
    SLICES,
    ProofSlice,
    SliceRecord,
    SliceStatus,
    TimeLimits,
)
from training.runs import run_folder

UNFINISHED = 75
"""Exit code of a slice that has to go on later (EX_TEMPFAIL of sysexits.h)."""
NEEDED = ("torch", "transformers", "accelerate", "trl", "peft", "datasets", "pydantic")
"""Packages that the trainings import."""


class MachineNotReady(ValueError):
    """The machine lacks something. The message lists everything with its fix."""


def check_machine(home: Path, size: ProofSize) -> None:
    """Raise MachineNotReady unless packages, weights, data and GPU are there."""
    faults = [
        f"the package {name} is missing: install it, or carry its wheel"
        for name in NEEDED
        if find_spec(name) is None
    ]
    files = [size.weights, "data/dataset/manifest.json", *(f"data/{s}.jsonl.gz" for s in SETS)]
    faults += [
        f"{home / path} is missing: receive the other parts first"
        for path in files
        if not (home / path).exists()
    ]
    if not faults and size.needs_gpu:
        import torch

        if not torch.cuda.is_available():
            faults.append(f"torch {torch.__version__} sees no GPU, and size {size.name} needs one")
    if faults:
        raise MachineNotReady("; ".join(faults))


def read_records(results: Path) -> dict[str, SliceRecord]:
    """Read the records of the slices that were tried, by name."""
    records = {}
    for path in sorted((results / "slices").glob("*.json")):
        record = typed_json.read(SliceRecord, json.loads(path.read_text()))
        records[record.name] = record
    return records


def run_slices(
    home: Path,
    size: ProofSize,
    limits: TimeLimits,
    say: Callable[[str], None] = lambda _line: None,
    begun_at: float | None = None,
) -> dict[str, SliceRecord]:
    """Run slices until none may start any more, and return all records. Raises MachineNotReady.

    A command ends within `limits.command` seconds of `begun_at` (now, by default). `say` gets a line about each attempt.
    """
    check_machine(home, size)
    results = home / size.name / "results"
    rented_at = float(json.loads((home / LEASE).read_text())["started"])
    end = slices.compute_end(limits, rented_at, begun_at or time.time())
    tried: set[str] = set()
    while True:
        records = read_records(results)
        step = slices.choose_next(records, tried)
        if step is None or end - limits.grace - time.time() < limits.least:
            return records
        tried.add(step.name)
        attempt = _attempt(home, size, step, end, limits.grace)
        before = records.get(step.name, SliceRecord(step.name, attempt.status))
        _write_record(results, before.add_attempt(attempt))
        why = f": {attempt.why}" if attempt.why else ""
        say(f"{step.name}: {attempt.status} in {attempt.seconds:.0f} s{why}")


def list_open(records: Mapping[str, SliceRecord]) -> list[str]:
    """Return the names of the slices that have not finished, in their order."""
    done = {name for name, record in records.items() if record.status is SliceStatus.FINISHED}
    return [step.name for step in SLICES if step.name not in done]


def _attempt(
    home: Path, size: ProofSize, step: ProofSlice, end: float, grace: float
) -> SliceRecord:
    """Run one slice as a process that stops itself `grace` seconds before `end` and is killed at `end`."""
    began = time.time()
    options = ("--home", str(home), "--size", size.name, "--end", str(end - grace))
    command = module_command("training.gpu_proof", "slice", step.name, *options)
    logs = home / size.name / "results" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{step.name}.log"
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        try:
            code = process.wait(timeout=max(1.0, end - time.time()))
            why = _explain(code, log)
        except subprocess.TimeoutExpired:
            code, why = -signal.SIGKILL, "killed at its limit; it goes on from its last state"
        finally:
            # The whole group: a library's helper would otherwise hold the GPU's memory.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    status = SliceStatus.FINISHED if not code else SliceStatus.UNFINISHED
    if code and code != UNFINISHED and code > 0:
        status = SliceStatus.FAILED
    figures = _read_figures(home / size.name / f"{step.name}.json") if not code else {}
    return SliceRecord(step.name, status, why, round(time.time() - began, 1), 1, figures)


def _explain(code: int, log: Path) -> str:
    if code == UNFINISHED:
        return "out of time; it goes on from its last state"
    if code < 0:
        return f"killed by signal {-code}; it goes on from its last state"
    lines = log.read_text(errors="replace").strip().splitlines() if code else []
    return lines[-1][:300] if lines else ""


def _read_figures(path: Path) -> dict[str, float]:
    return {name: float(value) for name, value in json.loads(path.read_text()).items()}


def _write_record(results: Path, record: SliceRecord) -> None:
    (results / "slices").mkdir(parents=True, exist_ok=True)
    path = results / "slices" / f"{record.name}.json"
    run_folder.write_file(path, run_folder.format_json(replace(record)))
