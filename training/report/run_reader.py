"""Read the folder of a training run, also of an unfinished one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from model import typed_json
from training.datasets.manifest import Manifest
from training.gate.gate_facts import ChampionComparison, GateFinding
from training.runs import run_folder
from training.runs.run_folder import (
    DATASET,
    EVALUATION,
    GATE,
    PLAN,
    BadRun,
    RunResult,
    RunStatus,
    TrainingStep,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """The content of a training run's folder that the run's report shows."""

    name: str
    """Name of the folder."""
    plan: str
    """The plan of the run, as TOML."""
    steps: tuple[TrainingStep, ...] = ()
    """The finished optimiser steps, oldest first."""
    dataset: Manifest | None = None
    """Manifest of the dataset; None without one in `dataset.json`."""
    result: RunResult | None = None
    """How the run ended; None while it has not ended."""
    compared: tuple[ChampionComparison, ...] = ()
    """Comparisons of candidate and champion, one per set; empty before `r4p train evaluate`."""
    gate: Mapping[str, Any] = field(default_factory=dict)
    """The content of `gate.json`; empty before `r4p train evaluate`."""
    findings: tuple[GateFinding, ...] = ()
    """The checks of the gate, with their results."""
    notes: tuple[str, ...] = ()
    """Sentences about problems, such as a run that has not ended."""


def read_run(folder: Path) -> TrainingRun:
    """Read the folder of a training run, which need not have ended.

    Raises BadRun when the folder holds no run, or when one of its files is invalid.
    """
    plan = folder / PLAN
    if not plan.exists():
        raise BadRun(f"{folder} holds no training run; give the --run folder of r4p train run")
    steps, result = tuple(run_folder.read_steps(folder)), run_folder.read_result(folder)
    gate = _read_document(folder / GATE)
    compared = _read_document(folder / EVALUATION).get("compared", ())
    return TrainingRun(
        name=folder.resolve().name,
        steps=steps,
        plan=plan.read_text(encoding="utf-8"),
        dataset=_read_manifest(folder / DATASET),
        result=result,
        compared=tuple(
            _parse_value(ChampionComparison, folder / EVALUATION, comparison)
            for comparison in compared
        ),
        gate=gate,
        findings=tuple(
            _parse_value(GateFinding, folder / GATE, finding)
            for finding in gate.get("findings", ())
        ),
        notes=tuple(_list_notes(steps, result)),
    )


def _read_manifest(path: Path) -> Manifest | None:
    manifest = _read_document(path).get("manifest")
    return None if manifest is None else _parse_value(Manifest, path, manifest)


def _read_document(path: Path) -> dict[str, Any]:
    """Read the JSON object of a file; empty without the file."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadRun(f"{path} can't be read: {error}; run the step that writes it again") from error
    if not isinstance(document, dict):
        raise BadRun(f"{path} holds no object; run the step that writes it again")
    return document


def _parse_value(kind: type[T], path: Path, value: Any) -> T:
    try:
        return typed_json.read(kind, value)
    except (ValueError, TypeError) as error:
        raise BadRun(f"{path} can't be read: {error}; run the step that writes it again") from error


def _list_notes(steps: Sequence[TrainingStep], result: RunResult | None) -> Iterator[str]:
    if result is None:
        reached = (
            f"it is at step {steps[-1].step} of {steps[-1].planned_steps}"
            if steps
            else "no step is done"
        )
        yield f"The run has not ended: {reached}. If it was killed, r4p train run with --resume goes on with it."
    elif result.status is RunStatus.FAILED:
        yield f"The run failed after {result.steps} of {result.planned_steps} steps: {result.why}"
