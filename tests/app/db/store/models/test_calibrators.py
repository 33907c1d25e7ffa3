"""An installation's own calibrator comes before the shared one, and serves nobody else."""

import json

import pytest
from sqlalchemy import insert, update
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.models import calibrators
from app.db.store.models.calibrators import NewCalibrator
from app.db.tables.schema import calibrators as table
from app.db.tables.schema import installations
from app.operator.models_cli import main
from app.outcomes.judgement import Judge
from app.values.identifiers import InstallationId
from model.calibration.calibration import Calibrator, History
from model.domain import EngineInfo
from worker.judging.verify import load_calibrator

pytestmark = pytest.mark.services
JUDGE = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52"))
OURS, THEIRS = InstallationId(7), InstallationId(8)


def build_calibrator(installation, *, is_active=True, why="the first"):
    calibrator = Calibrator("now", History(60, 60, 60), weights={"votes": 1.0})
    return NewCalibrator(JUDGE, calibrator, 0.2, 1, frozenset({1}), is_active, why, installation)


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        for installation in (OURS, THEIRS):
            connection.execute(insert(installations).values(id=installation, account="octo"))
        yield connection


def test_own_calibrator_judges_before_the_shared_one(connection):
    assert load_calibrator(connection, JUDGE, OURS) is None
    shared = calibrators.save(connection, build_calibrator(None))
    own = calibrators.save(connection, build_calibrator(OURS))
    assert load_calibrator(connection, JUDGE, OURS).id == own
    assert load_calibrator(connection, JUDGE, THEIRS).id == shared
    calibrators.retire(connection, JUDGE, OURS)
    assert load_calibrator(connection, JUDGE, OURS).id == shared


def test_unreadable_own_calibrator_gives_way_to_the_shared_one(connection):
    shared = calibrators.save(connection, build_calibrator(None))
    own = calibrators.save(connection, build_calibrator(OURS))
    connection.execute(update(table).where(table.c.id == own).values(document={"schema": "old"}))
    assert load_calibrator(connection, JUDGE, OURS).id == shared


def test_command_lists_calibrators_with_their_reasons(database, database_url, monkeypatch):
    with transaction(database) as connection:
        connection.execute(insert(installations).values(id=OURS, account="octo"))
        for new in (
            build_calibrator(None),
            build_calibrator(OURS),
            build_calibrator(None, is_active=False, why="refused before"),
            build_calibrator(None, is_active=False, why="a threshold would move by 0.040"),
        ):
            calibrators.save(connection, new)
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    reports = json.loads(CliRunner().invoke(main, ["calibrators", "--json"]).stdout)
    assert [(r["installation"], r["state"], r["why"]) for r in reports] == [
        (None, "refused", "a threshold would move by 0.040"),
        (OURS, "active", "the first"),
        (None, "active", "the first"),
    ]
    shown = CliRunner().invoke(main, ["calibrators"], env={"COLUMNS": "150"}).stdout
    assert "a threshold would move by 0.040" in shown
