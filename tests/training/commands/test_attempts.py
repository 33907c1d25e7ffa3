"""Agents' attempts from the database: only with consent, each with the last word on its patch."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import CRASHED, AttemptRecord, Place
from app.db.store.issues import evaluation_alternatives, evaluations, groups
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult
from app.values.identifiers import AlternativeNumber, CommitSha, IssueNumber, RepositoryId
from model.agents.trajectories.trajectory import Attempt
from model.domain import Coverage, PatchVerdict, Tokens, Verdict, VoteCount
from tests.builders import guided_attempts
from tests.builders.history import judged_history
from tests.model.agents.builders import ISSUE
from training.commands import export as attempts_cli
from training.corpus import Corpus
from training.datasets import attempt_pairs, pairs

pytestmark = pytest.mark.services

REPOSITORY = RepositoryId(70)
BASE = CommitSha("b" * 40)
ON = "version: 1\ntraining: on\n"


@pytest.fixture
def scene(database, tmp_path):
    """A first attempt that was held wrong, one with a hint that was held correct, and two without a patch."""
    first, second = (one.trajectory for one in guided_attempts.build_judged_pair(tmp_path / "tree"))
    silent = guided_attempts.run_attempt(
        tmp_path / "tree", [guided_attempts.script_call("nothing")] * 5
    )
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY)
        groups.save_config(connection, REPOSITORY, text=ON, error=None)
        text = (ISSUE.title, ISSUE.body)
        group = groups.upsert_group(connection, REPOSITORY, IssueNumber(3), text, "open")
        place = Place(REPOSITORY, group, BASE, first.issue)
        for number, one in enumerate((first, second), 1):
            record = AttemptRecord.from_attempt(Attempt(one, 2.0))
            attempts.save(connection, place, record, AlternativeNumber(number))
        attempts.save(connection, place, AttemptRecord.from_attempt(Attempt(silent, 2.0)))
        crashed = AttemptRecord("mini-se", first.engine, 9, CRASHED, 0, Tokens(), 1.0)
        attempts.save(connection, place, crashed)
        alternatives = evaluation_alternatives.list_of_group(
            connection, group, [BASE], place.issue_sha256
        )
        _judge(connection, group, alternatives, [0.9, 0.2])
        _judge(connection, group, alternatives, [None, 0.8])
        _judge(connection, group, alternatives, [0.7, 0.3], failure="the engine died")
    return database


def _judge(connection, group, alternatives, believed, failure=None):
    """Probabilities; None: there is none, and one vote of four is for it."""
    new = NewEvaluation(
        group, "issue", "advisory", 2, "It", "fails.", (), alternatives=alternatives
    )
    evaluation = evaluations.create(connection, REPOSITORY, new).id
    verdicts = tuple(
        PatchVerdict(
            one.id, Verdict.UNSURE, VoteCount(1, 3, 2), "So.", Coverage(1, 1), probability=chance
        )
        for one, chance in zip(alternatives, believed, strict=True)
    )
    result = VerificationResult({"schema": "r4p.verdict/1"}, verdicts, (), "r4p", failure=failure)
    evaluations.save_verdict(connection, evaluation, result)


def test_attempt_has_the_last_verdict_on_its_patch(scene):
    listed = Corpus(scene).list_attempts()
    assert [one.belief for one in listed] == [0.25, 0.8, 0.0]
    assert {one.issue for one in listed} == {"octo/cat#3"}
    assert [one.trajectory.guidance is None for one in listed] == [True, False, True]
    (pair,) = attempt_pairs.pair_attempts(listed).pairs
    assert "n / 2" in pair.chosen.patch


def test_unjudged_attempt_is_unknown(scene):
    with transaction(scene) as connection:
        connection.exec_driver_sql("delete from evaluations")
    assert [one.belief for one in Corpus(scene).list_attempts()] == [None, None, 0.0]


@pytest.mark.parametrize("text", ["version: 1\n", "version: 1\ntraining: export\n"])
def test_no_attempt_is_listed_without_consent(scene, text):
    with transaction(scene) as connection:
        groups.save_config(connection, REPOSITORY, text=text, error=None)
    assert Corpus(scene).list_attempts() == []


def export(path):
    app = Typer()
    app.command()(attempts_cli.attempts)
    return CliRunner().invoke(app, ["--out", str(path)])


def test_command_writes_attempts_and_counts_pairs(scene, database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    done = export(tmp_path / "attempts.jsonl")
    assert done.exit_code == 0, done.output
    assert "they make 1 pairs" in " ".join(done.stderr.split())
    assert pairs.read_attempts(tmp_path / "attempts.jsonl") == Corpus(scene).list_attempts()


def test_command_without_attempts_names_the_setting(database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    done = export(tmp_path / "attempts.jsonl")
    assert done.exit_code == 2
    assert "training: on" in done.stderr
    assert not (tmp_path / "attempts.jsonl").exists()
