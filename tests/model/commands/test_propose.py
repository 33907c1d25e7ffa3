"""`r4p propose`: a diff on stdout that git applies, what happened on stderr, and an exit code."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.resources import files
from signal import SIGINT
from threading import Event

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from app.cli import main
from model.agents.agent_catalog import AGENTS, RUBRIC_WRITER, build_agent, require_agent
from model.agents.trajectories.trajectory import StopReason
from model.agents.trajectories.trajectory_json import (
    compute_identity,
    dump_trajectory,
    load_trajectory,
)
from model.domain import Issue
from model.engines.scripted import ScriptedEngine
from model.errors import UnknownAgent
from tests.model.agents import agentless_replies
from tests.model.agents.builders import CODE, LOOK, MEND, SUBMIT, TREE, build_trajectory
from tests.model.chat_server import MODELS, Reply, serve_chat
from tests.model.codegraph.builders import write_files
from tests.model.engines.test_openai_compatible_tools import build_tool_reply
from tests.services import ROOT, wait_for


def build_line(call, **more):
    ((name, arguments),) = call.calls
    return {"calls": [{"name": name, "arguments": arguments}]} | more


EDITED = "Edited pie/maths.py"
MENDING = [build_line(SUBMIT, when=EDITED, repeat=True), build_line(MEND, repeat=True)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a directory with a tree and an issue, on these lines of a script."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issue.md").write_text("# Halving is off\n\n`half` of 3 is 1.\n")
    write_files(tmp_path / "tree", TREE)

    def invoke(lines, *arguments):
        (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)))
        given = ["propose", "--repo", "tree", "--issue", "issue.md", "--database", "graph.sqlite"]
        engine = [] if "--engine-url" in arguments else ["--script", "script.jsonl"]
        return CliRunner().invoke(main, [*given, *engine, *arguments])

    return invoke


def test_diff_on_stdout_applies(run, tmp_path):
    result = run(MENDING)
    assert result.exit_code == 0, result.output
    subprocess.run(["git", "apply"], input=result.stdout_bytes, cwd=tmp_path / "tree", check=True)
    assert (tmp_path / "tree/pie/maths.py").read_text() == CODE.replace("n // 2", "n / 2")


def test_progress_and_outcome_are_on_stderr(run):
    stderr = run([{"reply": "hm"}, build_line(LOOK), *MENDING]).stderr
    assert "attempt 1, 0." in stderr
    assert "tokens, malformed: no tool call" in stderr
    assert 'search_tool {"construct": "function", "entity": "half"}' in stderr
    assert "attempt 1: submitted after 4 rounds" in stderr
    assert "the only edit, made by 1 of 1 attempts" in stderr


def test_json_output_is_one_valid_document(run):
    result = run([{"reply": "hm"}, *MENDING], "--json", "--attempts", "3", "--seed", "4")
    document = json.loads(result.stdout)
    schema = json.loads((files("model.agents") / "proposal.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    stops = schema["properties"]["attempts"]["items"]["properties"]["stop"]["enum"]
    assert stops == [stop.value for stop in StopReason]
    attempts = document["attempts"]
    assert [one["seed"] for one in attempts] == [4, 5, 6]
    assert [one["same_as"] for one in attempts] == [None, 1, 1], "equal edits are one"
    assert sorted(one["malformed"] for one in attempts) == [0, 0, 1]
    assert document["chosen"] == 1
    assert document["why"] == "the only edit, made by 3 of 3 attempts"
    assert document["patch"] == attempts[0]["patch"]
    assert "+    return n / 2" in document["patch"]


@pytest.mark.parametrize("name", [*AGENTS, RUBRIC_WRITER])
def test_agent_is_built_by_its_name(name):
    assert build_agent(name, ScriptedEngine([])).name == name


@pytest.mark.parametrize("name", ["nobody", RUBRIC_WRITER])
def test_agent_that_writes_no_patches_cannot_be_chosen(name):
    with pytest.raises(UnknownAgent, match=f"'{name}'; there are mini-se, agentless-mini"):
        require_agent(name)


def test_repair_prompt_is_chosen_by_its_name(run, tmp_path):
    reply = f"<think>\nToo low.\n</think>\n<solution>\n{agentless_replies.MEND.reply}</solution>"
    lines = [
        {"when": agentless_replies.LOCATE, "reply": "```\npie/maths.py\n```", "repeat": True},
        {"when": agentless_replies.REPAIR, "reply": reply, "repeat": True},
    ]
    options = ["--agent", "agentless-mini", "--trajectories", "kept"]
    result = run(lines, *options, "--repair-prompt", "swe_rl_repair")
    assert result.exit_code == 0, result.output
    kept = load_trajectory((tmp_path / "kept/attempt-1.json").read_bytes())
    assert json.loads(kept.setting)["repair_prompt"] == "swe_rl_repair"
    assert "</solution>." in kept.steps[-1].prompt[1].content


def test_repair_prompt_that_cannot_work_is_refused(run):
    idle = run([], "--repair-prompt", "swe_rl_repair")
    strange = run([], "--agent", "agentless-mini", "--repair-prompt", "r4p_group")
    assert idle.exit_code == strange.exit_code == 2
    assert "--repair-prompt does nothing for agent mini-se; leave it out" in idle.stderr
    assert "'r4p_group'; there are agentless_repair, swe_rl_repair" in strange.stderr


def test_attempts_without_a_patch_exit_with_3(run):
    lines = [{"reply": "hm", "repeat": True}]
    result, plain = run(lines, "--json"), run(lines)
    assert (result.exit_code, plain.exit_code, plain.stdout) == (3, 3, "")
    document = json.loads(result.stdout)
    assert (document["patch"], document["chosen"]) == (None, None)
    assert document["attempts"][0]["stop"] == "malformed"
    assert "none of 1 attempts handed in a patch" in result.stderr


def test_trajectories_are_saved_and_can_be_loaded(run, tmp_path):
    result = run(MENDING, "--attempts", "2", "--trajectories", "kept/here")
    assert result.exit_code == 0
    kept = sorted((tmp_path / "kept/here").iterdir())
    assert [one.name for one in kept] == ["attempt-1.json", "attempt-2.json"]
    for one in kept:
        trajectory = load_trajectory(one.read_bytes())
        assert trajectory.stop is StopReason.SUBMITTED
        assert trajectory.issue.title == "Halving is off"


def test_one_failed_attempt_of_several_is_no_dead_engine(run):
    result = run(
        [build_line(SUBMIT, when=EDITED, repeat=True), build_line(MEND)], "--attempts", "2"
    )
    assert result.exit_code == 0
    assert "the script has no line left" in result.stderr


def test_dead_engine_exits_with_5(run):
    result = run([{"down": "gone for good"}])
    assert result.exit_code == 5
    assert "engine (gone for good) after 0 rounds" in result.stderr
    unreachable = run([], "--engine-url", "http://127.0.0.1:9/v1")
    assert unreachable.exit_code == 5
    assert unreachable.stderr.startswith("r4p propose: no engine answers")


def test_server_with_tools_is_used(run):
    def wire(call):
        ((name, arguments),) = call.calls
        return build_tool_reply({"id": name, "function": {"name": name, "arguments": arguments}})

    with serve_chat(
        models=[MODELS], chat=[wire(MEND), wire(SUBMIT)], tokenize=[Reply({"count": 99})]
    ) as server:
        result = run([], "--engine-url", server.url)
    assert result.exit_code == 0, result.output
    assert "+    return n / 2" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--agent", "nobody"], "no agent is called 'nobody'; there are mini-se"),
        (["--issue", "missing.md"], "issue missing.md can't be read"),
        (["--repo", "missing"], "missing"),
        (["--repo", "issue.md"], "issue.md"),
        (["--database", "tree"], "tree"),
        (["--trajectories", "issue.md"], "issue.md"),
        (["--parent", "issue.md"], "--parent needs --feedback"),
        (["--feedback", " "], "--feedback is blank; say what was wrong, or leave it out"),
        (["--feedback", "No.", "--parent", "issue.md"], "not the record of an attempt"),
        (["--feedback", "No.", "--parent", "missing.json"], "missing.json"),
    ],
)
def test_wrong_argument_is_a_usage_error_of_one_line(run, arguments, why):
    result = run(MENDING, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("r4p propose: ")
    assert why in result.stderr
    assert result.stderr.count("\n") == 1


def test_work_tree_is_read_and_left_unchanged(run, tmp_path):
    tree = tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tree / "pie/maths.py").write_text("# old\n")
    (tree / "gone.py").write_text("def half():\n    raise KeyboardInterrupt\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=tree, check=True)
    (tree / "pie/maths.py").write_text(CODE)
    (tree / "gone.py").unlink()
    (tree / "untracked.py").write_text("def half():\n    raise SystemExit\n")
    before = {one: one.stat().st_mtime_ns for one in tree.rglob("*")}
    result = run([build_line(LOOK), *MENDING], "--trajectories", "kept")
    assert result.exit_code == 0, result.output
    found = (
        load_trajectory((tmp_path / "kept/attempt-1.json").read_bytes()).steps[0].answers[0].content
    )
    assert "return n // 2" in found
    assert "KeyboardInterrupt" not in found
    assert "SystemExit" not in found, "what is not committed is not in the code graph"
    assert {one: one.stat().st_mtime_ns for one in tree.rglob("*")} == before


def test_feedback_becomes_guidance_that_names_its_parent(run, tmp_path):
    assert run([build_line(SUBMIT), *MENDING], "--trajectories", "first").exit_code == 0
    first = tmp_path / "first/attempt-1.json"
    words = "Half of 3 is 1, see pie/maths.py."
    told = ["--feedback", words, "--parent", str(first), "--trajectories", "second"]
    lines = [build_line(SUBMIT, when=EDITED, repeat=True), build_line(MEND, when=words)]
    result = run(lines, *told, "--json")
    assert result.exit_code == 0, result.output
    schema = json.loads((files("model.agents") / "proposal.schema.json").read_text())
    document = json.loads(result.stdout)
    jsonschema_rs.validator_for(schema).validate(document)
    hint = load_trajectory((tmp_path / "second/attempt-1.json").read_bytes()).guidance
    assert hint.feedback == words
    assert hint.locations == ("pie/maths.py",)
    assert (
        hint.parent
        == compute_identity(load_trajectory(first.read_bytes()))
        == document["guidance"]["parent"]
    )


def test_parent_of_another_issue_is_refused(run, tmp_path):
    other = build_trajectory(issue=Issue("Other", ""))
    (tmp_path / "other.json").write_bytes(dump_trajectory(other))
    result = run(MENDING, "--feedback", "No.", "--parent", "other.json")
    assert result.exit_code == 2
    assert "other.json is an attempt at another issue, 'Other'" in result.stderr


def test_broken_code_graph_is_reported_in_one_line(run, tmp_path):
    assert run(MENDING).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "graph.sqlite")) as graph:
        graph.execute("alter table entities rename to others")
        graph.execute("create table entities (blob)")
    result = run([build_line(LOOK), *MENDING])
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1].startswith(
        "r4p propose: the index graph.sqlite can't be used"
    )


def test_unsaved_trajectory_is_reported_after_the_patch(run, tmp_path):
    (tmp_path / "kept/attempt-1.json").mkdir(parents=True)
    result = run(MENDING, "--trajectories", "kept")
    assert result.exit_code == 2
    assert "+    return n / 2" in result.stdout
    assert "the attempts can't be kept" in result.stderr


def test_interrupt_does_not_wait_for_a_reply(run, tmp_path):
    hangs = Event()
    with serve_chat(
        models=[MODELS], chat=[Reply({}, wait_for=hangs)], tokenize=[Reply({})]
    ) as server:
        # A shell ignores SIGINT for what it starts in the background, and children inherit that.
        command = ["/usr/bin/env", "--default-signal=INT", sys.executable, "-m", "app.cli"]
        command += [
            "propose",
            "--repo",
            "tree",
            "--issue",
            "issue.md",
            "--engine-url",
            server.url,
            "--database",
            "graph.sqlite",
        ]
        with subprocess.Popen(
            command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
        ) as asking:
            wait_for(lambda: server.list_bodies("/v1/chat/completions"), 60)
            asking.send_signal(SIGINT)
            said = asking.communicate(timeout=20)[1]
        hangs.set()
    assert asking.returncode == 130
    assert said.endswith("r4p propose: stopped\n")
