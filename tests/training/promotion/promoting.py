"""A run's folder as trainer and gate leave it, and what became of its model."""

import json
from contextlib import suppress

import pytest

from app.db.session import transaction
from app.db.store import models
from app.gate_rules import Rules
from model.engines import adapters
from model.errors import EngineError
from tests.training import adapted
from training.gate import Finding, Gate, Outcome

MARKS = [
    pytest.mark.services,
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]


def finished(run, *, seed=0, outcome=Outcome.PASSED):
    """A run's folder as trainer and gate leave it."""
    probe = adapted.trained(run, seed=seed)
    result = {"schema": "r4p.run/1", "status": "finished", "adapter_sha256": probe.adapter}
    gate = Gate(outcome, (Finding("reward", outcome is Outcome.PASSED, "0.1"),), Rules())
    for name, document in (("result", result), ("gate", gate.document())):
        (run / f"{name}.json").write_text(json.dumps(document))
    return measured(run, adapted.BASE)


def measured(run, champion):
    """A run that was measured beside who was champion."""
    evaluation = {"schema": "r4p.evaluation/1", "verifier": "r4p", "compared": []}
    (run / "evaluation.json").write_text(json.dumps(evaluation | {"champion": champion}))
    return run


def restarted(servers, name):
    """As after a restart, which forgets an adapter."""
    with suppress(EngineError):
        adapters.unload(servers[0], name)


def champion(database):
    with transaction(database) as connection:
        found = models.line_up(connection).champion
    return found.name if found else None


def state(database, name):
    with transaction(database) as connection:
        return models.named(connection, name).state
