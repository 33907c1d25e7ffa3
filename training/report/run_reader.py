"""The folder of a training run as far as it was written: a run that still goes on, or died, is read too."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from model import typed_json
from training.datasets.manifest import Manifest
from training.gate.gate_facts import Compared, Finding
from training.runs import run_folder
from training.runs.run_folder import DATASET, EVALUATION, GATE, PLAN, BadRun, Result, Status, Step

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """What is there."""

    name: str
    plan: str
    """As it was followed, as TOML."""
    steps: tuple[Step, ...] = ()
    dataset: Manifest | None = None
    result: Result | None = None
    """How it ended; None while it goes on."""
    compared: tuple[Compared, ...] = ()
    """Before and after."""
    gate: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """Of the gate."""
    notes: tuple[str, ...] = ()
    """What went wrong, or is unfinished."""


def read(folder: Path) -> RunFolder:
    """The run in `folder`. Raises BadRun where there is none, or a file of it is not what it should be."""
    plan = folder / PLAN
    if not plan.exists():
        raise BadRun(f"{folder} holds no training run; give the --run folder of r4p train run")
    steps, result = tuple(run_folder.steps(folder)), run_folder.result(folder)
    gate = _document(folder / GATE)
    compared = _document(folder / EVALUATION).get("compared", ())
    return RunFolder(
        name=folder.resolve().name,
        steps=steps,
        plan=plan.read_text(encoding="utf-8"),
        dataset=_dataset(folder / DATASET),
        result=result,
        compared=tuple(_typed(Compared, folder / EVALUATION, one) for one in compared),
        gate=gate,
        findings=tuple(_typed(Finding, folder / GATE, one) for one in gate.get("findings", ())),
        notes=tuple(_notes(steps, result)),
    )


def _dataset(path: Path) -> Manifest | None:
    found = _document(path).get("manifest")
    return None if found is None else _typed(Manifest, path, found)


def _document(path: Path) -> dict[str, Any]:
    """The object in the file; empty where there is none."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadRun(f"{path} can't be read: {error}; run the step that writes it again") from error
    if not isinstance(found, dict):
        raise BadRun(f"{path} holds no object; run the step that writes it again")
    return found


def _typed(kind: type[T], path: Path, value: Any) -> T:
    try:
        return typed_json.read(kind, value)
    except (ValueError, TypeError) as error:
        raise BadRun(f"{path} can't be read: {error}; run the step that writes it again") from error


def _notes(steps: Sequence[Step], result: Result | None) -> Iterator[str]:
    if result is None:
        reached = (
            f"it is at step {steps[-1].step} of {steps[-1].of}" if steps else "no step is done"
        )
        yield f"The run has not ended: {reached}. If it was killed, r4p train run with --resume goes on with it."
    elif result.status is Status.FAILED:
        yield f"The run failed after {result.steps} of {result.of} steps: {result.why}"
