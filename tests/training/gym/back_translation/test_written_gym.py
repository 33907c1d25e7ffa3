"""A gym whose statements a served model writes: what the server is asked, what the gym keeps, and what falls back."""

import json

import pytest
from typer.testing import CliRunner

from model.engines.openai_compatible import connect
from model.gyms.gym_folder import read_gym
from model.gyms.gym_task import StatementFrom
from tests.model.chat_server import DEAD_URL, Reply, build_completion, serve_chat
from tests.training.gym.gym_builds import build_gym
from tests.training.gym.history import build_repository
from training.commands.gym import app
from training.gym.back_translation.issue_reply import NoIssueReason
from training.gym.back_translation.issue_writer import IssueWriter
from training.gym.commits.history import locate_repository

MODELS = Reply({"object": "list", "data": [{"id": "writer", "max_model_len": 32_768}]})
TASKS = ("Add halves", "Fix doubling")
"""The commits that give a task, the newest first."""
ISSUE = "Halves are missing\n\nI want `halve(5)` to give 2.5, and doubling gives 6 for 5.\n"
GOOD = build_completion(f"<issue>\n{ISSUE}</issue>")
LEAK = build_completion("<issue>\nDoubling\n\n    assert double(3) == 6\n</issue>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The work tree of the history."""
    return build_repository(tmp_path_factory.mktemp("history") / "doubling")


@pytest.fixture
def build(folder, tmp_path):
    """Builds a gym with these replies of a server, one a task; returns its tasks by subject, its manifest and the bodies."""

    def build(*replies, name="gym", subjects=TASKS):
        (home := tmp_path / name).mkdir()
        with serve_chat(models=[MODELS], chat=replies) as server:
            engine = connect(server.url, None)
            writer = IssueWriter(engine)
            repository = locate_repository(folder)
            built, _ = build_gym(repository, home, subjects, parallel=1, issue_writer=writer)
            engine.close()
            bodies = server.list_bodies("/v1/chat/completions")
        tasks = {task.provenance["subject"]: task for task in read_gym(built).tasks}
        return built, tasks, json.loads((built / "gym.json").read_text()), bodies

    return build


def test_a_served_model_writes_the_statement_and_a_leak_falls_back(bubblewrap, build):
    _, tasks, manifest, bodies = build(GOOD, LEAK)
    halves, doubling = (tasks[subject] for subject in TASKS)
    assert (halves.statement, halves.statement_from) == (ISSUE, StatementFrom.MODEL)
    assert doubling.statement.startswith("Three (doubling)\n")
    assert doubling.statement_from is StatementFrom.TESTS
    assert manifest["statements"] == {
        "model": "writer",
        "prompt": manifest["statements"]["prompt"],
        "by_model": 1,
        "from_tests": {NoIssueReason.LEAK: 1},
    }
    prompt = bodies[1]["messages"][1]["content"]
    for text in ("Fix doubling", "+    return number * 2", "def test_three():", "assert 4 == 6"):
        assert text in prompt
    assert bodies[1]["temperature"] == 0


def test_a_failed_request_falls_back_and_is_counted(bubblewrap, build):
    _, tasks, manifest, _ = build(Reply("broken", status=500), subjects=TASKS[1:])
    (task,) = tasks.values()
    assert task.statement_from is StatementFrom.TESTS
    assert manifest["statements"]["by_model"] == 0
    assert manifest["statements"]["from_tests"] == {NoIssueReason.ENGINE_FAILED: 1}


@pytest.mark.proof
def test_the_same_replies_give_the_same_bytes(bubblewrap, build):
    first, second = (build(GOOD, LEAK, name=name)[0] for name in ("first", "second"))
    contents = [{file.name: file.read_bytes() for file in gym.iterdir()} for gym in (first, second)]
    assert contents[0] == contents[1]


def run(folder, out, *arguments):
    """Run `r4p gym build` on the history's second commit, which gives no task."""
    days = ("--since", "2026-01-01T12:00:00Z", "--until", "2026-01-02T12:00:00Z")
    given = ("build", "--git", str(folder), "--revision", "main", "--out", str(out), *days)
    return CliRunner().invoke(app, [*given, *arguments])


def test_the_command_asks_the_named_server(folder, tmp_path):
    with serve_chat(models=[MODELS]) as server:
        result = run(folder, tmp_path / "gym", "--engine-url", server.url, "--model", "writer")
    assert result.exit_code == 0, result.output
    assert "0 statements written by writer" in result.stderr
    assert read_gym(tmp_path / "gym").manifest.statements.model == "writer"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "gym")])
    assert "0 statements written by writer" in shown.stdout


def test_a_dead_server_ends_the_command_before_a_commit_is_looked_at(folder, tmp_path):
    result = run(folder, tmp_path / "gym", "--engine-url", DEAD_URL)
    assert (result.exit_code, result.stdout) == (5, "")
    assert DEAD_URL in result.stderr
    assert not (tmp_path / "gym").exists()


def test_a_folder_of_models_without_an_engine_is_refused(folder, tmp_path):
    result = run(folder, tmp_path / "gym", "--cache", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--cache does nothing without an engine" in result.stderr


def test_without_an_engine_a_gym_says_nothing_about_models(folder, tmp_path):
    assert run(folder, tmp_path / "gym").exit_code == 0
    manifest = json.loads((tmp_path / "gym" / "gym.json").read_text())
    assert manifest.keys() == {"schema", "name", "tasks", "sources", "refusals"}
