"""Write the gate's decision and its measurements to the run's folder.

gate.json alone decides. evaluation.json holds the numbers of the same measurement, and is written before it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.learning import gate_rules
from training.gate.gate_decision import GateDecision
from training.gate.gate_facts import ChampionComparison
from training.gate.training_curve import build_curve
from training.runs import run_folder

SCHEMA = "r4p.evaluation/1"


@dataclass(frozen=True, slots=True)
class MeasurementKey:
    """Which models, dataset and settings the gate measured. Its decision is valid only for this combination."""

    adapter: str
    """SHA-256 of the adapter's files."""
    learnt_from: str
    """Digest of the training dataset."""
    dataset: str
    """Digest of the measured dataset."""
    champion: str
    """Served name of the champion; `model_serving.IN_PROCESS` for the base in this process."""
    verifier: str
    votes: int
    """Votes on each group, for both models."""


def write_decision(
    run: Path,
    decision: GateDecision,
    measured: MeasurementKey,
    compared: Sequence[ChampionComparison],
) -> None:
    """Write a gate decision to gate.json in the folder `run`, and the numbers of `compared` to evaluation.json.

    evaluation.json also holds the curve of the training, because pages show it beside the numbers.

    `measured` names the models, dataset and settings. gate.json keeps earlier decisions on the same adapter, so that
    repeated attempts are visible.
    """
    about = asdict(measured) | {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
    earlier = _read_earlier(run / run_folder.GATE, measured.adapter)
    curve = build_curve(run_folder.read_steps(run))
    numbers = {
        "schema": SCHEMA,
        "measured": about,
        "compared": [asdict(comparison) for comparison in compared],
        "curve": asdict(curve) if curve else None,
    }
    gate = decision.document() | {"measured": about, "earlier": earlier}
    for name, document in ((run_folder.EVALUATION, numbers), (run_folder.GATE, gate)):
        run_folder.write_file(run / name, json.dumps(document, indent=2, allow_nan=False) + "\n")


def _read_earlier(path: Path, adapter: str) -> list[Mapping[str, Any]]:
    """Read earlier decisions on the same adapter, oldest first."""
    try:
        decisions = gate_rules.list_decisions(json.loads(path.read_text()))
        return [decision for decision in decisions if decision["measured"]["adapter"] == adapter]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # no earlier decision, or an invalid file
