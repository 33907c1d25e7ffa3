"""From outcomes in the database to a calibrator in use: only with history, and only if it is not worse."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from app.db.session import transaction
from app.db.store.models import calibrators
from app.db.tables.schema import calibrators as table
from app.outcomes.judgement import Judge
from model.calibration.calibration import (
    NO_HISTORY,
    CalibrationMethod,
    Calibrator,
    Evidence,
    History,
)
from model.domain import EngineInfo
from model.voting.thresholds import Thresholds
from tests.builders.history import judged_history
from tests.services import child, wait_for
from training.calibrators.adoption import decide_adoption
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import CalibratorFit
from training.calibrators.refit import NO_SHARED, build_rows, refit_calibrators
from training.corpus import Corpus, StoredCalibrator
from training.labels.labels import label_patches
from training.labels.weight_caps import LabelOrigin

JUDGE = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52"))
OTHER = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "0" * 12))
NOW = datetime(2026, 11, 21, tzinfo=UTC)
REPOSITORY, INSTALLATION = 70, 7
YES, NO = Evidence(score=1.0, valid=2), Evidence(score=0.0, valid=2)


@pytest.fixture
def corpus(database):
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY, training="calibrate")
    return Corpus(database)


def add_history(corpus, judge=JUDGE, **how):
    with transaction(corpus.database) as connection:
        judged_history.live(connection, REPOSITORY, judge, **how)


def refit(corpus):
    """Fit, and return the reports of installations. No history here is wide enough for a shared calibrator."""
    reports = refit_calibrators(corpus, NOW)
    assert {r["decision"] for r in reports if r["installation"] is None} == {NO_SHARED}
    return [report for report in reports if report["installation"] is not None]


def list_states(corpus):
    with transaction(corpus.database) as connection:
        return list(connection.scalars(select(table.c.state).order_by(table.c.id)))


@pytest.mark.services
def test_outcomes_become_an_active_calibrator_once(corpus):
    add_history(corpus)
    (first,) = refit(corpus)
    assert first["decision"] == "in use: the first"
    assert first["history"] == {"issues": 80, "correct": 40, "incorrect": 40}
    assert first["patches"] == {
        "merged": 40,
        "reverted": 40,
    }
    in_use = corpus.find_active_calibrator(JUDGE, INSTALLATION).calibrator
    assert in_use.predict_probability(YES) > 0.8
    assert in_use.predict_probability(NO) < 0.2
    assert corpus.find_active_calibrator(OTHER, INSTALLATION) is None
    (again,) = refit(corpus)
    assert (again["decision"], again["calibrator"]) == ("nothing new", first["calibrator"])
    assert list_states(corpus) == ["active"]


@pytest.mark.services
@pytest.mark.parametrize("training", [None, "off"])
def test_no_calibrator_learns_without_consent(database, training):
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY, training=training)
        judged_history.live(connection, REPOSITORY, JUDGE)
    assert refit_calibrators(Corpus(database), NOW) == []


@pytest.mark.services
@pytest.mark.parametrize(("person", "keys"), [(41, ("41", "41")), (None, ("70:", "71:"))])
def test_a_person_is_the_same_in_all_repositories_by_id_only(corpus, person, keys):
    add_history(corpus, issues=2, person=person)
    with transaction(corpus.database) as connection:
        judged_history.settle(connection, REPOSITORY + 1, installation=8)
        judged_history.live(connection, REPOSITORY + 1, JUDGE, issues=2, person=person)
    records = corpus.list_records()
    labels = {patch.key: patch for patch in label_patches(records, NOW)}
    rows, _ = build_rows(records, JUDGE, labels)
    assert {row.source for row in rows} == {
        LabelOrigin(keys[0], REPOSITORY, INSTALLATION),
        LabelOrigin(keys[1], REPOSITORY + 1, 8),
    }


@pytest.mark.services
def test_new_patches_decide_the_next_calibrator(corpus):
    add_history(corpus, issues=60, wrong_votes=3)
    refit_calibrators(corpus, NOW)
    add_history(corpus, issues=60, wrong_votes=10**6, first=60)
    (second,) = refit(corpus)
    assert second["decision"].startswith("in use: Brier ")
    assert second["decision"].endswith(" on 60 patches new to both")
    assert list_states(corpus) == ["retired", "active"]
    add_history(corpus, issues=5, first=120)
    (third,) = refit(corpus)
    assert third["decision"] == "refused: only 5 new patches to compare by"
    assert list_states(corpus) == ["retired", "active", "refused"]
    assert corpus.find_active_calibrator(JUDGE, INSTALLATION).id == second["calibrator"]


@pytest.mark.services
def test_short_history_changes_nothing(corpus):
    add_history(corpus, issues=28)
    (report,) = refit(corpus)
    assert report["decision"] == NO_HISTORY
    assert list_states(corpus) == []


@pytest.mark.services
def test_each_judge_has_its_own_calibrator(corpus, database):
    add_history(corpus)
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY + 1, installation=8, training="on")
        judged_history.live(connection, REPOSITORY + 1, OTHER, issues=10)
    decisions = {
        report["engine"]["prompt_fingerprint"]: report["decision"] for report in refit(corpus)
    }
    assert decisions == {"9f3c1a77aa52": "in use: the first", "0" * 12: NO_HISTORY}


@pytest.mark.services
def test_calibrator_of_other_rules_is_replaced(corpus, database):
    add_history(corpus)
    refit_calibrators(corpus, NOW)
    with transaction(database) as connection:
        connection.execute(update(table).values(document={"schema": "r4p.calibrator/0"}))
        with pytest.raises(ValueError, match="fit again"):
            calibrators.load_active(connection, JUDGE, INSTALLATION)
    (report,) = refit(corpus)
    assert report["decision"] == "in use: the first"
    assert list_states(corpus) == ["retired", "active"]


@pytest.mark.services
def test_database_allows_one_active_calibrator_per_judge(corpus, database):
    add_history(corpus)
    refit_calibrators(corpus, NOW)
    with database.connect() as connection:
        row = dict(connection.execute(select(table)).one()._mapping)
        del row["id"]
        with pytest.raises(Exception, match="uq_calibrators_active"):
            connection.execute(insert(table).values(row))


@pytest.mark.services
def test_command_prints_its_decisions_as_json(corpus, database_url, tmp_path):
    add_history(corpus)
    log = tmp_path / "log"
    with child(["app.cli", "calibrate"], {"R4P_DATABASE_URL": database_url}, log) as fit:
        wait_for(lambda: fit.popen.poll() is not None, seconds=120)
    assert fit.popen.returncode == 0, fit.says()
    shared, own = json.loads(fit.says())["judges"]
    assert (shared["installation"], shared["decision"]) == (None, NO_SHARED)
    assert (own["installation"], own["decision"]) == (INSTALLATION, "in use: the first")


CALIBRATOR = Calibrator(
    "now", History(60, 60, 60), weights={"votes": 1.0}, thresholds=Thresholds(0.8, 0.2)
)
KNOWN = [PatchEvidence(YES if at % 2 else NO, bool(at % 2), str(at)) for at in range(30)]


def build_fit(right):
    """As if it had given the truth this much probability on issues held out."""
    probabilities = [right if row.correct else 1 - right for row in KNOWN]
    return CalibratorFit(
        CALIBRATOR, np.asarray(probabilities), (), {CalibrationMethod.PLATT: (1 - right) ** 2}
    )


@pytest.mark.parametrize(("right", "is_active"), [(0.99, True), (0.6, False)])
def test_patches_new_to_both_decide_between_two_fits(right, is_active):
    in_use = StoredCalibrator(1, CALIBRATOR, frozenset(range(12)))
    decision = decide_adoption(build_fit(right), KNOWN, in_use)
    assert decision.is_active is is_active
    assert "on 18 patches new to both" in decision.why


def test_few_new_patches_decide_nothing():
    in_use = StoredCalibrator(1, CALIBRATOR, frozenset(range(25)))
    decision = decide_adoption(build_fit(0.99), KNOWN, in_use)
    assert (decision.is_active, decision.why) == (False, "only 5 new patches to compare by")


def test_corrected_labels_become_active():
    in_use = StoredCalibrator(1, CALIBRATOR, frozenset(range(30)))
    assert decide_adoption(build_fit(0.6), KNOWN, in_use).is_active
