"""`r4p models outcomes` on a real database: from what happened to a printed table, which docs/models.md shows."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.canary_statistics import has_outcomes
from app.db.store.models.models import NewModel
from app.db.tables.schema import models as model_table
from app.learning.model_serving import Adapter, ModelState
from app.operator.models_cli import main as models_cli
from app.outcomes import EventKind
from model.domain import Verdict
from tests.builders.history import issue_history
from tests.builders.history.issue_history import BASE, CI, MAINTAINER, Life, head
from tests.services import child, wait_for
from training.commands.cli import main

pytestmark = pytest.mark.services
PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
NAME = "r4p-20260227-5f0c2a19"
RIGHT, WRONG, UNSURE = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNSURE
ISSUES = 40
MERGE = {"base": BASE, "commit": "e" * 40, **MAINTAINER}


def register_model(connection, name=NAME):
    adapter = Adapter(name, "R4P-32B", Path("/nowhere"), name[-8:] * 8, "r4p")
    models.register(
        connection, NewModel(adapter, Path("/nowhere"), ModelState.CANDIDATE, "passed", {})
    )
    before = issue_history.START - timedelta(days=2)
    connection.execute(update(model_table).values(created_at=before))


def save_shadow(connection, evaluation, output):
    patches = [{"id": f"#{pull}", "verdict": verdict.value} for pull, verdict in output.items()]
    models.save_shadow(connection, evaluation, NAME, {"patches": patches})


def add_issue(life, number):
    """One issue: the first rival is merged; what becomes of the second depends on the number."""
    good, bad = 10 * number, 10 * number + 1
    group = life.ask(number, [good, bad])
    verdicts = {good: RIGHT, bad: RIGHT if number % 4 == 0 else WRONG}
    shadow_verdicts = {
        good: WRONG if number % 9 == 0 else RIGHT,
        bad: RIGHT if number % 8 == 0 else WRONG,
    }
    if number % 10 == 3:
        shadow_verdicts[good] = UNSURE
    evaluation = life.judge(
        group, {(pull, 1): output for pull, output in verdicts.items()}, day=number
    )
    save_shadow(life.connection, evaluation, shadow_verdicts)
    for pull, state in ((good, "success"), (bad, "failure")):
        about = {"head": head(pull), "state": state, "about": "ci", **CI}
        life.happen(EventKind.CI_CONCLUDED, pull, number + 0.1, **about)
    life.happen(EventKind.PULL_MERGED, good, number + 1, **MERGE)
    if number % 5:
        life.happen(EventKind.PULL_CLOSED, bad, number + 1.1, **MAINTAINER)


@pytest.fixture
def history(database, database_url, monkeypatch):
    """Forty issues beside a shadow, and one that the same model judged later."""
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "110")
    with transaction(database) as connection:
        life = Life(connection)
        life.settle()
        register_model(connection)
        for number in range(10, 10 + ISSUES):
            add_issue(life, number)
        group = life.ask(9, [90])
        life.judge(group, {(90, 1): RIGHT}, day=60, model=NAME)
        life.happen(EventKind.PULL_MERGED, 90, 61, **MERGE)
    return database


def invoke(*arguments):
    return CliRunner().invoke(main, ["outcomes", *arguments])


def test_shadow_verdicts_are_compared_with_outcomes(history):
    result = invoke(NAME)
    assert result.exit_code == 0, result.output
    shadow, judge = result.stdout.split("\n\nr4p-")
    output = "\n".join(line.rstrip() for line in shadow.splitlines())
    assert f"\n$ r4p models outcomes {NAME}\n{output}\n```" in PAGE, output
    assert "called rightly         1 of 1" in judge
    assert "Too few issues: shares are shown from 30 issues on." in judge


def test_outcomes_prints_json(history):
    document = json.loads(invoke(NAME, "--json").stdout)
    shadow, judge = document["as_shadow"], document["as_judge"]
    assert (document["schema"], document["model"]) == ("r4p.track-record/1", NAME)
    assert (shadow["judges"], judge["judges"]) == (["R4P-32B"], [NAME])
    assert (shadow["patches"], shadow["compared"], shadow["unclaimed"]) == (80, 68, 4)
    assert (shadow["unknown"], shadow["learnt"]) == ({"open": 8}, 0)
    assert shadow["measured"]["paired"]["difference"]["accuracy"]["value"] == pytest.approx(0.04)
    assert judge["measured"] is None
    with transaction(history) as connection:
        later = issue_history.START + timedelta(days=400)
        connection.execute(update(model_table).values(created_at=later))
    assert json.loads(invoke(NAME, "--json").stdout)["as_shadow"]["learnt"] == 80
    assert "Not compared: 80 of issues that it may have learnt from." in invoke(NAME).stdout


def test_silent_and_unknown_models_are_reported(history):
    other = "r4p-20260226-00000000"
    with transaction(history) as connection:
        register_model(connection, other)
        assert (has_outcomes(connection, NAME), has_outcomes(connection, other)) == (True, False)
        assert has_outcomes(connection, "R4P-32B"), "as a judge"
    assert (
        invoke(other).stdout == f"{other} has judged nothing yet, neither shown nor as a shadow\n"
    )
    unknown = invoke("r4p-0")
    assert (unknown.exit_code, "r4p models outcomes: " in unknown.stderr) == (2, True)
    assert NAME in unknown.stderr


def test_model_page_names_the_outcomes_command(history, database_url, tmp_path):
    verdicts = CliRunner().invoke(models_cli, ["show", NAME]).stdout
    assert f"r4p models outcomes {NAME}\n" in verdicts
    arguments = ["app.cli", "models", "outcomes", NAME]
    with child(arguments, {"R4P_DATABASE_URL": database_url}, tmp_path / "log") as run:
        wait_for(lambda: run.popen.poll() is not None, seconds=60)
    assert run.popen.returncode == 0, run.says()
    assert f"{NAME} as shadow beside R4P-32B" in run.says()
