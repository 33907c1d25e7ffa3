"""What was decided of a run, in its folder: of which adapter, on what, beside whom, and what was decided before.

gate.json alone decides. evaluation.json holds the numbers of the same measurement, and is written before it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.learning import gate_rules
from training.gate.gate_decision import Gate
from training.gate.gate_facts import Compared
from training.runs import run_folder

SCHEMA = "r4p.evaluation/1"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured: a decision holds for nothing else."""

    adapter: str
    """SHA-256 of its files."""
    learnt_from: str
    """Digest of the dataset that the run learnt from."""
    dataset: str
    """Of the one that was measured on."""
    champion: str
    """The served name of who judged beside it; app.learning.model_serving.IN_PROCESS: the base, which no server named."""
    verifier: str
    votes: int
    """On each group, by either."""


def write(run: Path, decided: Gate, measured: Measured, compared: Sequence[Compared]) -> None:
    """Keep both documents. What was decided before of the same adapter stays: who measures till it passes is seen."""
    about = asdict(measured) | {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
    earlier = _earlier(run / run_folder.GATE, measured.adapter)
    numbers = {
        "schema": SCHEMA,
        "measured": about,
        "compared": [asdict(one) for one in compared],
    }
    gate = decided.document() | {"measured": about, "earlier": earlier}
    for name, document in ((run_folder.EVALUATION, numbers), (run_folder.GATE, gate)):
        run_folder.write(run / name, json.dumps(document, indent=2, allow_nan=False) + "\n")


def _earlier(path: Path, adapter: str) -> list[Mapping[str, Any]]:
    """The decisions so far, the first one first; none of another adapter."""
    try:
        found = gate_rules.decisions(json.loads(path.read_text()))
        return [one for one in found if one["measured"]["adapter"] == adapter]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # there is none, or it is no gate
