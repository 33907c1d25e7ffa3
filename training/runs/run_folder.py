"""Read and write the folder of one training run. Every file is complete or absent.

It holds `plan.toml`, a judge's `prompt.j2`, `dataset.json`, `metrics.jsonl` (one object for each optimiser step) and
`checkpoint-N/`, then `adapter/`, `probe.json` and `result.json`. An evaluation adds `evaluation.json` and `gate.json`.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from model import typed_json
from model.adapters import adapter_probe

SCHEMA = "r4p.run/1"
PLAN, DATASET, METRICS = "plan.toml", "dataset.json", "metrics.jsonl"
ADAPTER, WEIGHTS, PROBE, RESULT = "adapter", "model", adapter_probe.FILE, "result.json"
EVALUATION, GATE = "evaluation.json", "gate.json"


class BadRun(ValueError):
    """A folder that holds no run, or a run that cannot start or resume. The message names it and the fix."""


class RunStatus(StrEnum):
    """How a training run ended."""

    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """Metrics of one optimiser step. None: not measured by this training method."""

    step: int
    """Number of the step, from 1."""
    planned_steps: int = field(metadata={"key": "of"})
    loss: float | None
    lr: float | None
    seconds: float
    """Seconds since the previous step."""
    tokens: int | None = None
    """Tokens read and written since the start of the run."""
    tokens_per_second: float | None = None
    reward: float | None = None
    """Mean of the known rewards."""
    reward_std: float | None = None
    entropy: float | None = None
    """Nats for each token."""
    clip_low: float | None = None
    """Share of tokens whose ratio was clipped from below."""
    clip_high: float | None = None
    """Share of tokens whose ratio was clipped from above."""
    format_valid: float | None = None
    """Share of readable replies."""
    not_finite: tuple[str, ...] = ()
    """Names of metrics that were NaN or infinite; their fields are None."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """When and how a training run ended, as in its `result.json`."""

    status: RunStatus
    why: str
    """Reason of a failure, "" otherwise."""
    plan: str
    trainer: str
    base: str
    steps: int
    """Optimiser steps taken."""
    planned_steps: int = field(metadata={"key": "of"})
    seconds: float
    """Duration of the last start. Earlier starts are in metrics.jsonl."""
    resumed_from: int | None
    """Step of the checkpoint that the last start resumed from."""
    filled: int = 0
    """Groups repeated to fill the last round."""
    left_out: Mapping[str, int] | None = None
    """Unused groups or examples by reason."""
    adapter_sha256: str | None = None
    ended_at: str | None = None
    """ISO 8601, UTC."""
    schema: str = SCHEMA


def write_file(path: Path, text: str) -> None:
    """Write a file atomically and flush it to disk. Raises OSError."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text)
        flush(beside)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    beside.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Flush a file, or a folder's list of names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(source: Path, directory: Path, keep: Sequence[str] = ()) -> None:
    """Move the complete folder `source` to `directory`, replacing it.

    If `keep` is not empty, only files and folders with these names are moved, and the others are deleted.
    """
    for path in source.iterdir():
        if keep and path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (*source.rglob("*"), source):
        flush(path)
    shutil.rmtree(directory, ignore_errors=True)
    source.rename(directory)
    flush(directory.parent)


def format_json(value: Any) -> str:
    """Return a dataclass instance as the indented JSON text of a file in a run's folder."""
    return json.dumps(typed_json.dump(value), indent=2, allow_nan=False) + "\n"


def read_result(folder: Path) -> RunResult | None:
    """Return the result of the run in `folder`, or None while it has none. Raises BadRun for an unreadable file."""
    path = folder / RESULT
    try:
        return typed_json.read(RunResult, _check_schema(json.loads(path.read_text())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise BadRun(f"{path} is no run result: {error}") from error


def _check_schema(document: Any) -> Any:
    if isinstance(document, dict) and document.get("schema") != SCHEMA:
        raise ValueError(
            f"its schema is {document.get('schema')!r}, but this version reads {SCHEMA}"
        )
    return document


def read_steps(folder: Path) -> list[TrainingStep]:
    """Return the metrics of all steps of the run in `folder` so far, without an incomplete last line.

    Raises BadRun for a line that is no training step.
    """
    path = folder / METRICS
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    try:
        return [
            typed_json.read(TrainingStep, json.loads(line)) for line in lines if line.endswith("\n")
        ]
    except (ValueError, TypeError) as error:
        raise BadRun(f"{path} has a line that is no training step: {error}") from error


def truncate_steps(folder: Path, step: int) -> None:
    """Delete the metrics of a run after step number `step`, because the resumed run repeats the later steps."""
    kept: Sequence[TrainingStep] = [
        kept_step for kept_step in read_steps(folder) if kept_step.step <= step
    ]
    write_file(folder / METRICS, "".join(format_step_json(kept_step) for kept_step in kept))


def format_step_json(step: TrainingStep) -> str:
    """Return the metrics of a training step as a line of metrics.jsonl."""
    return json.dumps(typed_json.dump(step), allow_nan=False) + "\n"
