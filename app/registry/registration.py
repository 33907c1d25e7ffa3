"""What a finished run made is kept under a name, once it was measured; what was measured of another adapter is not its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.gate_rules import with_earlier
from app.learning.model_serving import Adapter, State
from model.adapters import adapter_files
from model.errors import BadAdapter


class NotRegistered(Exception):
    """A folder that holds no finished run that was measured; the message says what is missing, and what to do."""


def register_run(connection: Connection, run: Path, base: str) -> str:
    """Keep what a finished run made, as a candidate or rejected; returns its name. Once more keeps a newer measure.

    `base`: the served name of the model that it adapts. Raises NotRegistered for a folder that holds no finished run
    that was measured, BadAdapter for one whose adapter is not what the run wrote.
    """
    result, gate = _document(run / "result.json"), _document(run / "gate.json")
    directory = (run / "adapter").resolve()
    sha256 = adapter_files.sha256_of(directory)
    if sha256 != result.get("adapter_sha256"):
        raise BadAdapter(f"{directory} is not what {run / 'result.json'} says; train it anew")
    measured = _measured(run, gate, sha256)
    adapter = Adapter(
        name=adapter_files.name_of_run(run, sha256),
        base=base,
        directory=directory,
        sha256=sha256,
        verifier=str(measured.get("verifier")),
    )
    if kept := models.same_bytes(connection, adapter):
        gate = with_earlier(gate, kept.gate)
    new = NewModel(adapter, run.resolve(), _state(gate), _why(gate), gate, _numbers(run, measured))
    name = models.register(connection, new)
    _same_verifier(models.named(connection, name).adapter, adapter, run)
    return name


def _measured(run: Path, gate: Mapping[str, Any], sha256: str) -> Mapping[str, Any]:
    """What its gate.json is about. Raises NotRegistered where that is another run."""
    found = gate.get("measured")
    measured = found if isinstance(found, dict) else {}
    learnt_from = _document(run / "dataset.json").get("digest")
    for what, said, is_now in (
        ("adapter", measured.get("adapter"), sha256),
        ("dataset", measured.get("learnt_from"), learnt_from),
    ):
        if said != is_now:
            raise NotRegistered(
                f"{run / 'gate.json'} decides on the {what} {str(said)[:12]}, and this run's is {str(is_now)[:12]}; "
                f"{_anew(run)}"
            )
    return measured


def _numbers(run: Path, measured: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its evaluation.json. Raises NotRegistered where that is of another measurement than the gate."""
    path = run / "evaluation.json"
    evaluation = _document(path)
    if evaluation.get("measured") != measured:
        raise NotRegistered(
            f"{path} is not of the measurement that gate.json decides by; {_anew(run)}"
        )
    return evaluation


def _same_verifier(kept: Adapter, measured: Adapter, run: Path) -> None:
    if kept.verifier != measured.verifier:
        raise NotRegistered(
            f"{kept.name} answers as {kept.verifier}, and was measured as {measured.verifier} now; "
            f"{_anew(run)} --verifier {kept.verifier}"
        )


def _anew(run: Path) -> str:
    return f"measure it anew: r4p train evaluate --run {run}"


def _state(gate: Mapping[str, Any]) -> State:
    return State.REJECTED if gate.get("outcome") == "failed" else State.CANDIDATE


def _why(gate: Mapping[str, Any]) -> str:
    earlier = len(gate.get("earlier") or ())
    times = f", measured {earlier + 1} times" if earlier else ""
    return f"gate: {gate.get('outcome')}{times}; {gate.get('why')}"


def _document(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise NotRegistered(
            f"{path} can't be read ({error.strerror}); a run is trained by r4p train run and measured by "
            "r4p train evaluate before it is registered"
        ) from error
    except ValueError as error:
        raise NotRegistered(
            f"{path} is no JSON ({error}); run the step that writes it again"
        ) from error
    if not isinstance(found, dict):
        raise NotRegistered(f"{path} holds no object; run the step that writes it again")
    return found
