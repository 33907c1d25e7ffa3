"""A run's folder as trainer and gate leave it, and what became of its model."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest

from app.db.session import transaction
from app.db.store.models import models
from app.learning.gate_rules import Rules
from model.adapters import adapter_server
from model.errors import EngineError
from tests.builders.models import tiny_adapters
from training.gate import gate_file
from training.gate.gate_decision import GateDecision, GateOutcome
from training.gate.gate_facts import GateFinding
from training.gate.gate_file import MeasurementKey

MARKS = [
    pytest.mark.services,
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]
LEARNT_FROM = "d" * 64
PLAIN = Rules()


def write_finished_run(run, *, seed=0, outcome=GateOutcome.PASSED):
    """A run's folder as trainer and gate leave it."""
    write_result(run, tiny_adapters.write_trained_run(run, seed=seed).adapter)
    return write_measurement(run, tiny_adapters.BASE, outcome=outcome)


def write_result(run, adapter, ended_at="2026-11-22T23:59:59+00:00"):
    """A run that ended, as its trainer tells."""
    result = {"schema": "r4p.run/1", "status": "finished", "adapter_sha256": adapter}
    (run / "result.json").write_text(json.dumps(result | {"ended_at": ended_at}))
    (run / "dataset.json").write_text(json.dumps({"digest": LEARNT_FROM}))


def write_measurement(run, find_champion, *, outcome=GateOutcome.PASSED, rules=PLAIN, **changes):
    """A run that was measured beside who was champion."""
    adapter = json.loads((run / "result.json").read_text())["adapter_sha256"]
    gate = GateDecision(
        outcome, (GateFinding("reward", outcome is GateOutcome.PASSED, "0.1"),), rules
    )
    about = MeasurementKey(adapter, LEARNT_FROM, "e" * 64, find_champion, "r4p", 4)
    gate_file.write_decision(run, gate, replace(about, **changes), [])
    return run


def forget_adapter(servers, name):
    """As after a restart, which forgets an adapter."""
    with suppress(EngineError):
        adapter_server.unload_adapter(servers[0], name)


def find_champion(database):
    with transaction(database) as connection:
        found = models.load_line_up(connection).champion
    return found.name if found else None


def find_state(database, name):
    with transaction(database) as connection:
        return models.find_by_name(connection, name).state
