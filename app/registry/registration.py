"""Registers a finished and measured run as a trained model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.gate_rules import add_earlier_decisions
from app.learning.model_serving import Adapter, ModelState
from model.adapters import adapter_files
from model.errors import BadAdapter


class NotRegistered(Exception):
    """A run cannot be registered: it is not finished or not measured. The message names what is missing and the fix."""


def register_run(connection: Connection, run: Path, base: str) -> str:
    """Register the model of the finished run in the folder `run`, and return the model's name.

    The model becomes a candidate, or rejected if the gate's decision is `failed`. `base` is the served name of its base
    model. A second call stores a newer measurement. Raises NotRegistered for a folder without a finished and measured
    run, and BadAdapter if the adapter differs from what the run wrote.
    """
    result, gate = _document(run / "result.json"), _document(run / "gate.json")
    directory = (run / "adapter").resolve()
    sha256 = adapter_files.hash_adapter(directory)
    if sha256 != result.get("adapter_sha256"):
        raise BadAdapter(f"{directory} is not what {run / 'result.json'} says; train it again")
    measured = _check_measurement(run, gate, sha256)
    adapter = Adapter(
        name=adapter_files.build_run_adapter_name(run, sha256),
        base=base,
        directory=directory,
        sha256=sha256,
        verifier=str(measured.get("verifier")),
    )
    if kept := models.find_same_bytes(connection, adapter):
        gate = add_earlier_decisions(gate, kept.gate)
    new = NewModel(
        adapter, run.resolve(), _state(gate), _explain(gate), gate, _read_evaluation(run, measured)
    )
    name = models.register(connection, new)
    _check_verifier(models.find_by_name(connection, name).adapter, adapter, run)
    return name


def _check_measurement(run: Path, gate: Mapping[str, Any], sha256: str) -> Mapping[str, Any]:
    """Return what gate.json measured. Raises NotRegistered if that is another run."""
    value = gate.get("measured")
    measured = value if isinstance(value, dict) else {}
    learnt_from = _document(run / "dataset.json").get("digest")
    for what, recorded, actual in (
        ("adapter", measured.get("adapter"), sha256),
        ("dataset", measured.get("learnt_from"), learnt_from),
    ):
        if recorded != actual:
            raise NotRegistered(
                f"{run / 'gate.json'} is about the {what} {str(recorded)[:12]}, but this run has {str(actual)[:12]}; "
                f"{_advise(run)}"
            )
    return measured


def _read_evaluation(run: Path, measured: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read evaluation.json. Raises NotRegistered if it belongs to another measurement than gate.json."""
    path = run / "evaluation.json"
    evaluation = _document(path)
    if evaluation.get("measured") != measured:
        raise NotRegistered(f"{path} belongs to another measurement than gate.json; {_advise(run)}")
    return evaluation


def _check_verifier(kept: Adapter, measured: Adapter, run: Path) -> None:
    if kept.verifier != measured.verifier:
        raise NotRegistered(
            f"{kept.name} is registered for {kept.verifier}, but was measured with {measured.verifier}; "
            f"{_advise(run)} --verifier {kept.verifier}"
        )


def _advise(run: Path) -> str:
    return f"measure it again: r4p train evaluate --run {run}"


def _state(gate: Mapping[str, Any]) -> ModelState:
    return ModelState.REJECTED if gate.get("outcome") == "failed" else ModelState.CANDIDATE


def _explain(gate: Mapping[str, Any]) -> str:
    earlier = len(gate.get("earlier") or ())
    times = f", measured {earlier + 1} times" if earlier else ""
    return f"gate: {gate.get('outcome')}{times}; {gate.get('why')}"


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise NotRegistered(
            f"{path} can't be read ({error.strerror}); run r4p train run and "
            "r4p train evaluate before you register the run"
        ) from error
    except ValueError as error:
        raise NotRegistered(
            f"{path} is not JSON ({error}); run the step that writes it again"
        ) from error
    if not isinstance(document, dict):
        raise NotRegistered(f"{path} holds no JSON object; run the step that writes it again")
    return document
