"""A training run on disk: what was planned, on what, how it went and what came of it. Each file is whole or not there.

`plan.toml`, `dataset.json`, `metrics.jsonl` (one object for each optimiser step), `checkpoint-N/`, then `adapter/`,
`probe.json` and, whatever the end was, `result.json`; whoever measures it adds `evaluation.json` and `gate.json`.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
    """A folder that holds no run, or one that can't be started or gone on with: says which and what to do."""


class Status(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """What one optimiser step was like; None: not measured by this kind of training."""

    step: int
    of: int
    loss: float | None
    lr: float | None
    seconds: float
    """Since the step before."""
    tokens: int | None = None
    """Read and written since the run began."""
    tokens_per_second: float | None = None
    reward: float | None = None
    """Mean over the replies whose reward is known."""
    reward_std: float | None = None
    entropy: float | None = None
    """Nats a token."""
    clip_low: float | None = None
    """Share of tokens whose ratio was clipped from below."""
    clip_high: float | None = None
    format_valid: float | None = None
    """Share of replies that can be read."""
    not_finite: tuple[str, ...] = ()
    """Which of these was measured and is no finite number; it is None here."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run."""

    status: Status
    why: str
    """Of a failure; "" otherwise."""
    plan: str
    trainer: str
    base: str
    steps: int
    """Optimiser steps taken."""
    of: int
    seconds: float
    """Of the last start; what was done before a crash is in metrics.jsonl."""
    resumed_from: int | None
    """The step of the checkpoint that the last start went on from."""
    filled: int = 0
    """Groups asked once more, to fill the last round."""
    left_out: Mapping[str, int] | None = None
    """Groups or examples that nothing was learnt from, by reason."""
    adapter_sha256: str | None = None
    ended_at: str | None = None
    """UTC, ISO 8601."""
    schema: str = SCHEMA


def write(path: Path, text: str) -> None:
    """A file, whole and on the disk, or not at all. Raises OSError."""
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
    """Have what was written to a file, or the names in a folder, on the disk before anything rests on it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(made: Path, directory: Path, keep: Sequence[str] = ()) -> None:
    """Put a folder that was written to its end in its place; of its files only some, where they are named."""
    for path in made.iterdir():
        if keep and path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (*made.rglob("*"), made):
        flush(path)
    shutil.rmtree(directory, ignore_errors=True)
    made.rename(directory)
    flush(directory.parent)


def as_json(of: Any) -> str:
    """A dataclass as its file has it."""
    return json.dumps(asdict(of), indent=2, allow_nan=False) + "\n"


def result(folder: Path) -> Result | None:
    """What came of a run; None while there is no end to it. Raises BadRun."""
    path = folder / RESULT
    try:
        return typed_json.read(Result, _known(json.loads(path.read_text())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise BadRun(f"{path} is no result of a run: {error}") from error


def _known(told: Any) -> Any:
    if isinstance(told, dict) and told.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {told.get('schema')!r}, and {SCHEMA} is known here")
    return told


def steps(folder: Path) -> list[Step]:
    """The steps so far; a last line that was torn is none. Raises BadRun."""
    path = folder / METRICS
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    try:
        return [typed_json.read(Step, json.loads(one)) for one in lines if one.endswith("\n")]
    except (ValueError, TypeError) as error:
        raise BadRun(f"{path} has a line that is no step: {error}") from error


def keep_until(folder: Path, step: int) -> None:
    """Forget the steps after a checkpoint: they are taken again."""
    kept: Sequence[Step] = [one for one in steps(folder) if one.step <= step]
    write(folder / METRICS, "".join(line(one) for one in kept))


def line(step: Step) -> str:
    """A step as a line of metrics.jsonl."""
    return json.dumps(asdict(step), allow_nan=False) + "\n"
