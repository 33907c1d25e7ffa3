"""The page of a model shows what the gate found, the numbers beside the champion and the curve of the training."""

from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Adapter, ModelState
from app.web.pages.model_page import read_comparison, read_curve
from model import typed_json
from model.evaluation.bootstrap import Estimate
from training.gate.gate_decision import GateDecision, GateOutcome
from training.gate.gate_facts import ChampionComparison, GateFinding
from training.gate.training_curve import CurvePoint, TrainingCurve

NAME = "r4p-20261101-0badcafe"
CURVE = TrainingCurve("reward", (CurvePoint(1, 0.25), CurvePoint(2, 0.75), CurvePoint(4, 0.5)))
COMPARED = ChampionComparison(
    name="outcomes, held out",
    issues=1234,
    groups=1300,
    patches=4000,
    candidate={"accuracy": Estimate(0.7, 0.6, 0.8), "mcc": Estimate(None, None, None)},
    champion={"accuracy": Estimate(0.65, 0.6, 0.7), "mcc": Estimate(0.1, 0.0, 0.2)},
    difference={"accuracy": Estimate(0.05, 0.01, 0.09), "mcc": Estimate(None, None, None)},
    constants={},
    only_candidate=9,
    only_champion=4,
    p_worse=0.9,
    p_differs=0.2,
)


@pytest.fixture
def model(pages):
    """A trained model that the gate refused, with a hostile finding."""
    findings = (GateFinding("margin", False, "<script>worse</script>"),)
    gate = GateDecision(GateOutcome.FAILED, findings, Rules())
    evaluation = {"compared": [asdict(COMPARED)], "curve": asdict(CURVE)}
    with transaction(pages.owner) as connection:
        connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))
        adapter = Adapter(NAME, "base", Path("/none"), "0" * 64, "r4p")
        state = ModelState.REJECTED
        new = NewModel(adapter, Path("/"), state, gate.why, typed_json.dump(gate), evaluation)
        models.register(connection, new)
    yield
    with transaction(pages.owner) as connection:
        connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))


@pytest.mark.services
@pytest.mark.usefixtures("model")
def test_an_operator_sees_findings_numbers_and_curve(pages):
    browser = pages.sign_in("ops")
    assert f'<a href="/models/{NAME}">' in browser.get("/models").text
    page = browser.get(f"/models/{NAME}").text
    assert '<td>failed</td><td class="long">&lt;script&gt;worse&lt;/script&gt;</td>' in page
    assert "1,234 issues." in page
    assert "<td>+0.050 (+0.010 to +0.090)</td>" in page
    assert '<polyline class="curve" points="40.0,130.0 106.7,10.0 240.0,70.0"/>' in page
    assert '<td class="number">4</td><td class="number">0.500</td>' in page


@pytest.mark.services
@pytest.mark.usefixtures("model")
def test_nobody_else_sees_a_model_and_an_unknown_one_is_missing(pages):
    assert pages.sign_in("mona").get(f"/models/{NAME}").status_code == 404
    assert pages.sign_in("ops").get("/models/r4p-unknown").status_code == 404


def test_a_metric_without_a_value_is_unknown():
    comparison = read_comparison(asdict(COMPARED))
    assert comparison.rows[1] == ("mcc", "unknown", "0.100", "unknown")


@pytest.mark.parametrize("document", [None, asdict(TrainingCurve("loss", (CurvePoint(1, 2.0),)))])
def test_one_point_draws_no_curve(document):
    assert read_curve(document) is None


def test_a_flat_curve_runs_through_the_middle():
    flat = TrainingCurve("loss", (CurvePoint(1, 2.0), CurvePoint(9, 2.0)))
    assert read_curve(asdict(flat)).line == "40.0,70.0 240.0,70.0"
