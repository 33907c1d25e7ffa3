"""`r4p calibrate --from FILE`: a calibrator to start from, which a fit on the bot's own history replaces if it is not worse."""

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from app.cli import main
from app.db.session import transaction
from app.db.tables.schema import calibrators as table
from model.calibration import calibrator_file
from model.calibration.calibration import Calibrator, History
from model.calibration.calibrator_file import CalibratorFile
from tests.builders.history import judged_history
from tests.training.calibrators.test_refit import INSTALLATION, JUDGE, NO, NOW, REPOSITORY, YES
from training.calibrators.refit import refit_calibrators
from training.corpus import Corpus

pytestmark = pytest.mark.services
MILD = Calibrator("2026-10-01T00:00:00+00:00", History(60, 90, 90), weights={"votes": 0.2})
SURE = Calibrator("2026-10-01T00:00:00+00:00", History(60, 90, 90), weights={"votes": 9.0})


@pytest.fixture
def corpus(database):
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY, training="calibrate")
    return Corpus(database)


@pytest.fixture
def import_calibrator(database_url, monkeypatch, tmp_path):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)

    def import_file(calibrator, judge=JUDGE):
        path = tmp_path / "learnt.json"
        calibrator_file.write(path, CalibratorFile(judge.verifier, judge.engine, calibrator, 0.21))
        return CliRunner().invoke(main, ["calibrate", "--from", str(path)])

    return import_file


def list_calibrators(corpus):
    with transaction(corpus.database) as connection:
        return [
            (row.state, row.why, row.seen)
            for row in connection.execute(select(table).order_by(table.c.id))
        ]


def test_imported_calibrator_is_active_at_once(corpus, import_calibrator):
    result = import_calibrator(MILD)
    assert result.exit_code == 0, result.output
    assert "is in use for r4p on vLLM, model R4P-32B, prompt 9f3c1a77aa52" in result.stdout
    assert corpus.find_active_calibrator(JUDGE).calibrator == MILD
    why = "imported from learnt.json, fitted 2026-10-01T00:00:00+00:00"
    assert list_calibrators(corpus) == [("active", why, [])]
    assert refit_calibrators(corpus, NOW) == []  # nothing was judged yet, and it stays
    assert corpus.find_active_calibrator(JUDGE).calibrator == MILD


def test_own_history_replaces_the_import_when_not_worse(corpus, import_calibrator):
    import_calibrator(MILD)
    with transaction(corpus.database) as connection:
        judged_history.live(connection, REPOSITORY, JUDGE)
    _, report = refit_calibrators(corpus, NOW)
    assert report["decision"].startswith("in use: Brier")
    assert "on 80 patches new to both" in report["decision"]
    assert corpus.find_active_calibrator(JUDGE).calibrator == MILD  # for other installations
    assert corpus.find_active_calibrator(JUDGE, INSTALLATION).id == report["calibrator"]


def test_worse_own_history_keeps_the_import(corpus, import_calibrator):
    import_calibrator(SURE)
    with transaction(corpus.database) as connection:
        judged_history.live(connection, REPOSITORY, JUDGE, wrong_votes=10_000)
    _, report = refit_calibrators(corpus, NOW)
    assert report["decision"] == "the shared one: own outcomes do not contradict it"
    assert corpus.find_active_calibrator(JUDGE, INSTALLATION) is None
    assert corpus.find_active_calibrator(JUDGE).calibrator == SURE
    assert SURE.predict_probability(YES) > 0.99
    assert SURE.predict_probability(NO) < 0.01


def test_unusable_file_is_a_usage_error_of_one_line(corpus, import_calibrator, tmp_path):
    young = Calibrator("now", History(5, 4, 4))
    result = import_calibrator(young)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "r4p calibrate: calibrator" in result.stderr
    assert "not enough history: 5 issues" in result.stderr
    assert list_calibrators(corpus) == []
