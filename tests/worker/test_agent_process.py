"""Agents in processes of their own: as good as in ours, and whatever theirs says or does, ours goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.sandbox import Sandbox
from app.settings import child_environment
from model.agents import catalog
from model.agents.guidance import Source, guided
from model.agents.replay import replayed
from model.agents.trajectory import Stop
from model.agents.trajectory_json import dumped
from model.domain import EngineInfo
from model.engines.scripted import Line, Scripted
from model.errors import NoTools, Superseded, UnknownAgent
from tests.model.agents import agentless
from tests.model.agents.builders import ISSUE, LOOK, MEND, SUBMIT, TREE, calling, desk_on, written
from tests.model.fakes import Recording
from tests.services import wait_for
from tests.worker.agents import program
from worker import agent_process, shut_in
from worker.agent_process import AgentFailed, AgentLimits, run
from worker.bill import Bill

AGAIN = [replace(one, repeat=True) for one in (agentless.MATHS, agentless.MEND)]
FULL = {
    "mini-se": (TREE, [LOOK, Line(reply="hm"), MEND, SUBMIT]),
    "agentless-mini": (agentless.TREE, AGAIN),
}
HINT = guided(Source.MAINTAINER, "Halves are floats, see pie/maths.py.", paths=TREE)


@pytest.fixture
def tree(tmp_path):
    written(tmp_path / "tree", TREE)
    return tmp_path / "tree"


@pytest.fixture
def ask(bubblewrap, tree):
    """`ask(*lines)`: Mini-SE on the tree behind real walls, with a script."""

    def asked(*lines, engine=None, **options):
        script = engine or Scripted(lines)
        wanted = {"agent": "mini-se", "seeds": (3,)} | options
        return run(tree, ISSUE, engine=script, **wanted)

    return asked


@pytest.fixture
def hostile(ask, monkeypatch):
    """`hostile(code)`: what `run` makes of an agent's process that does this instead."""

    def failed(code, *lines, **options):
        monkeypatch.setattr(agent_process, "command", program(code))
        bill = Bill("mini-se", EngineInfo("scripted", "script", ""), options.get("seeds", (3,)))
        with pytest.raises(AgentFailed) as caught:
            ask(*lines, bill=bill, **options)
        return str(caught.value), bill

    return failed


def timeless(trajectory):
    """Without what a clock said."""
    return replace(trajectory, steps=tuple(replace(one, seconds=0) for one in trajectory.steps))


@pytest.mark.parametrize("agent", FULL)
@pytest.mark.parametrize("guidance", [None, HINT])
def test_it_is_as_if_it_were_done_here(bubblewrap, tmp_path, agent, guidance):
    files, lines = FULL[agent]
    written(tmp_path / "tree", files)
    told = []
    there, here = Recording(*lines), Recording(*lines)
    (done,) = run(
        tmp_path / "tree",
        ISSUE,
        agent=agent,
        engine=there,
        seeds=(3,),
        guidance=guidance,
        on_step=lambda at, step: told.append((at, step)),
    )
    assert done.stop is Stop.SUBMITTED
    assert "+    return n / 2" in done.patch
    assert told == [(0, step) for step in done.trajectory.steps]
    with desk_on(tmp_path / "again", files) as desk:
        own = catalog.agent(agent, here).propose(ISSUE, desk, seed=3, guidance=guidance)
        assert dumped(timeless(done.trajectory)) == dumped(timeless(own.trajectory))
        assert there.batches == here.batches
    with desk_on(tmp_path / "once more", files) as desk:
        assert dumped(replayed(done.trajectory, desk)) == dumped(done.trajectory)


def test_a_large_tree_is_read_by_processes_behind_the_same_walls(ask, tree):
    written(tree, {f"more/part_{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(80)})
    look = calling("search_tool", construct="function", entity="part_79")
    (done,) = ask(look, MEND, SUBMIT)
    assert "more/part_79.py" in done.trajectory.steps[0].answers[0].content
    assert done.stop is Stop.SUBMITTED


def test_a_container_of_its_own_does_as_well(ask, tmp_path):
    (done,) = ask(LOOK, MEND, SUBMIT, sandbox=Sandbox.CONTAINER)
    assert done.stop is Stop.SUBMITTED


def test_several_attempts_come_in_the_order_of_their_seeds(ask):
    told = set()
    done = ask(replace(MEND, repeat=True), seeds=(5, 2, 9), on_step=lambda at, _: told.add(at))
    assert [one.trajectory.seed for one in done] == [5, 2, 9]
    assert all(one.rounds > 1 for one in done)
    assert told == {0, 1, 2}


def test_seeds_that_repeat_are_refused(ask):
    with pytest.raises(ValueError, match=r"\[5, 2, 5\] repeat"):
        ask(seeds=(5, 2, 5))


class WithoutTools(Scripted):
    """A server that has no way to offer tools, and dies in the end."""

    def complete(self, requests):
        if requests[0].tools:
            return [NoTools("no tools here")]
        return super().complete(requests)


def test_what_an_engine_can_not_do_means_the_same_there(ask):
    calls = [
        Line(reply=f'```json\n{{"name": "{call[0]}", "arguments": {call[1]}}}\n```')
        for one in (LOOK, MEND)
        for call in one.calls
    ]
    (done,) = ask(engine=WithoutTools([*calls, Line(down="out of memory")]))
    assert done.stop is Stop.ENGINE
    assert done.trajectory.failure == "out of memory"
    assert [len(step.reply.tool_calls) for step in done.trajectory.steps] == [1, 1]


def test_an_unknown_agent_is_refused_at_once(ask):
    with pytest.raises(UnknownAgent):
        ask(agent="bond")


def test_in_an_empty_tree_there_is_nothing_to_find(ask, tree):
    for one in sorted(tree.rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    (done,) = ask(LOOK, Line(reply="hm", repeat=True))
    assert "no " in done.trajectory.steps[0].answers[0].content.lower()
    assert (done.stop, done.patch) == (Stop.MALFORMED, None)


def test_a_tree_that_is_none_is_said(ask, tree):
    tree.rename(tree.parent / "elsewhere")
    with pytest.raises(AgentFailed, match=r"no agent can be started .*tree"):
        ask(LOOK)


def test_tokens_have_an_end(ask):
    (done,) = ask(replace(LOOK, repeat=True), limits=AgentLimits(tokens=60_000))
    assert done.stop is Stop.ENGINE
    assert "used up" in done.trajectory.failure
    assert done.rounds >= 1
    assert done.tokens.prompt + done.tokens.completion <= 60_000


def test_out_of_time_attempts_end_themselves(ask):
    (done,) = ask(replace(LOOK, repeat=True, stall_seconds=0.6), limits=AgentLimits(seconds=0.5))
    assert done.stop is Stop.TIMEOUT


def test_a_reply_that_is_late_ends_its_attempt_and_no_more(ask):
    (done,) = ask(Line(stall_seconds=60), limits=AgentLimits(seconds=8, grace_seconds=2))
    assert (done.stop, done.rounds) in {(Stop.TIMEOUT, 0), (Stop.ENGINE, 0)}


class Deaf(Scripted):
    """An engine that nothing hurries."""

    def complete(self, requests):
        time.sleep(10)
        return super().complete(requests)


def test_an_engine_that_does_not_end_is_not_waited_for(ask):
    began = time.monotonic()
    with pytest.raises(AgentFailed, match=r"ended after 3 s"):
        ask(engine=Deaf([SUBMIT]), limits=AgentLimits(seconds=2.5, grace_seconds=0.5))
    assert time.monotonic() - began < 8


def test_what_on_step_raises_ends_it(ask):
    def superseded(_at, _step):
        raise Superseded("newer work")

    with pytest.raises(Superseded, match="newer work"):
        ask(replace(LOOK, repeat=True), on_step=superseded)


class Broken(Scripted):
    """An engine with a mistake in it."""

    def complete(self, requests):
        raise ZeroDivisionError("our own mistake")


def test_a_mistake_of_ours_is_not_taken_for_theirs(ask):
    with pytest.raises(ZeroDivisionError, match="our own mistake"):
        ask(engine=Broken(()))


def test_without_bubblewrap_nothing_is_run(tree, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentFailed, match=r"install it .*R4P_AGENT_SANDBOX=container"):
        run(tree, ISSUE, agent="mini-se", engine=Scripted(()), seeds=(1,))


def test_a_bubblewrap_that_does_not_work_is_said_with_the_fix(tree, monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentFailed, match=r"No permissions to create .*0\.8 or newer"):
        run(tree, ISSUE, agent="mini-se", engine=Scripted(()), seeds=(1,))


TELLS = """
told = task()
from model.agents.trajectory import Trajectory, Limits, Step, Stop
from model.domain import EngineInfo, Tokens
from dataclasses import replace
record = Trajectory(
    agent=told.agent, engine=EngineInfo(told.engine.name, told.engine.model, "0"), issue=told.issue, tree="",
    seed=told.seeds[0], limits=Limits(), tools=(), opening=(), opening_tokens=0, steps=(), stop=Stop.SUBMITTED,
    patch="diff --git a/n.py b/n.py\\nnew file mode 100644\\n", guidance=told.guidance,
)

def step(*tokens, seconds=0.0):
    return Step(Message("assistant", ""), (), Tokens(*tokens), seconds)

def pay():
    say(asked(1)); sys.stdin.buffer.readline()
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('say(b"garbage\\n")', "JSONDecodeError"),
        ('say(b"\\xff\\xfe\\n")', "UnicodeDecodeError"),
        ('say(b"[]\\n")', "not enough values"),
        ("say(b'[\"Rule\", {}]\\n')", "KeyError"),
        ("say(b'[\"Task\", {}]\\n')", "KeyError"),
        ("say(b'[[], {}]\\n')", "TypeError"),
        ('say(b\'["Count", {"id": 1}]\\n\')', "text"),
        ('say(b\'["Count", {"id": "1", "text": "x"}]\\n\')', "Count.id holds '1'"),
        ('say(b\'["Count", {"id": 1e999, "text": "x"}]\\n\')', "Count.id holds inf"),
        ("say(b'[' * 100_000 + b'\\n')", "RecursionError"),
        ("say(b'9' * 10_000 + b'\\n')", "ValueError"),
        ('say(b"no end")', "half a one"),
        ('say(b"x" * (17 * 1024**2) + b"\\n")', "a line of over 16,777,216 bytes"),
        ("say(messages.Ready())", "ready before"),
        ('say(messages.Failed("no\\x1b[2J luck"))', "no⟦U\\+001B⟧\\[2J luck"),
        ("os._exit(7)", r"exit 7"),
        ("os.kill(os.getpid(), 11)", r"exit "),
        ('sys.exit("I \\x1b[31m give up")', "I ⟦U\\+001B⟧\\[31m give up"),
        ("", "0 of 1 attempts"),
        ("task(); say(asked(1, most=10**9))", "no agent asks for"),
        ("task(); say(asked(1, most=0))", "no agent asks for"),
        ("task(); say(asked(1, alternatives=20))", "no agent asks for"),
        ("task(); say(Complete(1, ()))", "0 replies at once"),
        ("task(); say(Complete(1, asked(1).requests * 65))", "65 replies at once"),
        ("task(); say(*[asked(n) for n in range(20)]); time.sleep(60)", "8 things at once"),
        (
            "task()\nfor n in range(10_000):\n    say(asked(n)); sys.stdin.buffer.readline()",
            "over 200 replies",
        ),
        (
            "task()\nfor n in range(10_000):\n    say(Count(n, '')); sys.stdin.buffer.readline()",
            "over 2,000 texts counted",
        ),
        (
            f"{TELLS}pay()\nfor n in range(10_000):\n    say(messages.Stepped(0, step()))",
            "more than 5,000 things",
        ),
        ("task(); say(*[asked(n) for n in range(8)]); time.sleep(600)", "ended after"),
        ("task(); time.sleep(600)", "ended after"),
        ("os.close(1); time.sleep(600)", "ended after"),
        ("while True: sys.stderr.write('x' * 10_000)", "ended after"),
        ("while True: say(b'x' * 10**6)", "a line of over"),
    ],
)
def test_whatever_it_says_is_no_more_than_a_failure(hostile, code, why):
    limits = AgentLimits(seconds=8, grace_seconds=2)
    stalling = Line(reply="yes", repeat=True, stall_seconds=0.0 if "range(10_000)" in code else 0.5)
    said, bill = hostile(code, stalling, limits=limits)
    assert bill.finished == ()
    assert re.search(why, said), said


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('record = replace(record, agent="other")', "not asked for"),
        ("record = replace(record, seed=99)", "not asked for"),
        ('record = replace(record, issue=replace(record.issue, title="x"))', "not asked for"),
        ('record = replace(record, engine=replace(record.engine, model="best"))', "not asked for"),
        ("say(messages.Finished(record, 1.0))", "not asked for"),
        ("pay()", "told of 0 tokens, and 2 were paid for"),
        ("record = replace(record, steps=(step(2, 0, 1),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(-9, 0, 1),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(1, 2, 1),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(1, -1, 1),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(1, 0, -1),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(1, 0, 1, seconds=-1e6),))", "can't be"),
        ("pay(); record = replace(record, steps=(step(1, 0, 1),) * 9)", "told of 18 tokens, and 2"),
        ("pay(); say(messages.Stepped(0, step(10**9, 0, 1)))", "can't be"),
        ('record = replace(record, patch="anything")', "may not: line 1 of the patch"),
        (
            'record = replace(record, patch=record.patch.replace("n.py", ".github/workflows/n.yml"))',
            "may not: .*secrets",
        ),
        ('record = replace(record, patch=record.patch.replace("100644", "120000"))', "may not"),
        ('record = replace(record, patch=record.patch.replace("n.py", "../n.py"))', "may not"),
        ("record = replace(record, stop=Stop.ROUNDS)", "not handed in"),
    ],
)
def test_a_record_of_something_else_is_not_kept(hostile, code, why):
    said, _ = hostile(f"{TELLS}{code}\nsay(messages.Finished(record, 1.0))", Line(reply="yes"))
    assert re.search(why, said), said


def test_what_was_over_before_it_died_is_kept_with_what_our_clock_says(hostile):
    _, bill = hostile(
        f"{TELLS}pay(); record = replace(record, failure='no' + chr(0))\n"
        "say(messages.Finished(record, -1e6)); time.sleep(0.2); os._exit(9)",
        Line(reply="yes"),
        seeds=(3, 4),
    )
    (one,) = bill.finished
    assert one.patch.startswith("diff --git a/n.py")
    assert one.trajectory.failure == "no⟦U+0000⟧"
    assert 0 < one.seconds < bill.seconds - 0.1
    assert bill.tokens == 2


def test_what_it_says_in_all_has_an_end(hostile, monkeypatch):
    monkeypatch.setattr(shut_in, "_LINES", 2)
    big = "task()\nfor n in range(9): say(Count(n, 'x' * 5_000_000))\ntime.sleep(60)"
    said, _ = hostile(big)
    assert said == "the agent's process said over 33,554,432 bytes"


def test_a_large_context_has_longer_lines(hostile):
    code = 'say(b"x" * (17 * 1024**2) + b"\\n")'
    said, _ = hostile(code, engine=Scripted((), context_tokens=262_144))
    assert "JSONDecodeError" in said


def test_a_question_under_way_is_charged_in_full(hostile):
    _, bill = hostile(
        "task(); say(asked(1, most=500)); time.sleep(1); os._exit(9)", Line(stall_seconds=30)
    )
    assert 500 < bill.tokens < 1_000


def test_a_step_of_no_attempt_is_refused(hostile):
    said, _ = hostile(f"{TELLS}say(messages.Stepped(1, step()))")
    assert "attempt 1, which is none" in said


PARENT = """
import sys
from pathlib import Path
from app.sandbox import Sandbox
from model.domain import Issue
from model.engines.scripted import Line, Scripted
from worker.agent_process import run
engine = Scripted([Line(stall_seconds=600, repeat=True)])
run(Path(sys.argv[1]), Issue("a", "b"), agent="mini-se", engine=engine, seeds=(1, 2),
    sandbox=Sandbox(sys.argv[2]))
"""


@pytest.mark.parametrize("sandbox", list(Sandbox))
def test_it_does_not_outlive_who_started_it(bubblewrap, tree, tmp_path, sandbox):
    command = [sys.executable, "-c", PARENT, str(tree), sandbox.value]
    cwd, env = Path(agent_process.__file__).parents[1], child_environment({"TMPDIR": str(tmp_path)})
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
