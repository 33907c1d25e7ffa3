"""Trained models as the pages show them: two champions, one after the other, and a candidate that passed its gate."""

from dataclasses import asdict
from pathlib import Path

from sqlalchemy import text

from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Adapter, Alias, ModelState
from model import typed_json
from model.evaluation.bootstrap import Estimate
from training.gate.gate_decision import GateDecision, GateOutcome
from training.gate.gate_facts import ChampionComparison, GateFinding
from training.gate.training_curve import CurvePoint, TrainingCurve

FIRST, SECOND, CANDIDATE = (f"r4p-202611{day:02}-0badcafe" for day in (1, 8, 15))
CURVE = TrainingCurve(
    "reward",
    tuple(CurvePoint(10 * n, 0.35 + 0.4 * n / (n + 6) + 0.02 * (-1) ** n) for n in range(1, 25)),
)
COMPARED = ChampionComparison(
    name="outcomes, held out",
    issues=1234,
    groups=1300,
    patches=4000,
    candidate={"accuracy": Estimate(0.7, 0.68, 0.72), "auroc": Estimate(0.76, 0.74, 0.78)},
    champion={"accuracy": Estimate(0.65, 0.63, 0.67), "auroc": Estimate(0.71, 0.69, 0.73)},
    difference={"accuracy": Estimate(0.05, 0.01, 0.09), "auroc": Estimate(0.05, 0.02, 0.08)},
    constants={},
    only_candidate=9,
    only_champion=4,
    p_worse=0.9,
    p_differs=0.2,
)


def save_models(connection):
    """Replace all models by three: `SECOND` is the champion after `FIRST`, and `CANDIDATE` may be promoted."""
    delete_models(connection)
    findings = (
        GateFinding("margin", True, "accuracy is 0.050 higher on 1,234 issues"),
        GateFinding("bounds", True, "no set is worse than its bound"),
    )
    for number, name in enumerate((FIRST, SECOND, CANDIDATE)):
        gate = typed_json.dump(GateDecision(GateOutcome.PASSED, findings, Rules()))
        gate["measured"] = {"champion": FIRST if name == FIRST else SECOND}
        evaluation = {"compared": [asdict(COMPARED)], "curve": asdict(CURVE)}
        adapter = Adapter(name, "qwen2.5-coder-32b", Path("/none"), f"{number}" * 64, "r4p")
        new = NewModel(
            adapter,
            Path("/srv/r4p/candidate"),
            ModelState.CANDIDATE,
            "passed every check",
            gate,
            evaluation,
        )
        models.register(connection, new)
    for name in (FIRST, SECOND):
        models.promote(connection, name, Alias.CHAMPION, "passed every check")


def delete_models(connection):
    """Delete all models with their roles."""
    connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))
