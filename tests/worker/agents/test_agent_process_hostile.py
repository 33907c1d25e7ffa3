"""Whatever an agent's process says or does, ours goes on, and it is charged by our own count."""

import re

import pytest

from model.domain import EngineInfo
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.sandbox import sandboxed_process
from tests.worker.agents.agent_programs import program
from worker.agents import agent_process
from worker.agents.agent_process import AgentFailed
from worker.agents.budget import AgentLimits, UsageLedger


@pytest.fixture
def hostile(ask, monkeypatch):
    """`hostile(code)`: what `run` makes of an agent's process that does this instead."""

    def run(code, *lines, **options):
        monkeypatch.setattr(agent_process, "build_command", program(code))
        ledger = UsageLedger(
            "mini-se", EngineInfo("scripted", "script", ""), options.get("seeds", (3,))
        )
        with pytest.raises(AgentFailed) as caught:
            ask(*lines, ledger=ledger, **options)
        return str(caught.value), ledger

    return run


TELLS = """
told = task()
from model.agents.trajectories.trajectory import Trajectory, AttemptLimits, Step, StopReason
from model.domain import EngineInfo, Tokens
from dataclasses import replace
record = Trajectory(
    agent=told.agent, engine=EngineInfo(told.engine.name, told.engine.model, "0"), issue=told.issue, tree="",
    seed=told.seeds[0], limits=AttemptLimits(), tools=(), opening=(), opening_tokens=0, steps=(), stop=StopReason.SUBMITTED,
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
        ("say(b'[\"AgentTask\", {}]\\n')", "KeyError"),
        ("say(b'[[], {}]\\n')", "TypeError"),
        ('say(b\'["TokenCountQuestion", {"id": 1}]\\n\')', "text"),
        (
            'say(b\'["TokenCountQuestion", {"id": "1", "text": "x"}]\\n\')',
            "TokenCountQuestion.id holds '1'",
        ),
        (
            'say(b\'["TokenCountQuestion", {"id": 1e999, "text": "x"}]\\n\')',
            "TokenCountQuestion.id holds inf",
        ),
        ("say(b'[' * 100_000 + b'\\n')", "RecursionError"),
        ("say(b'9' * 10_000 + b'\\n')", "ValueError"),
        ('say(b"no end")', "a line without an end"),
        ('say(b"x" * (17 * 1024**2) + b"\\n")', "a line of over 16,777,216 bytes"),
        ("say(messages.Ready())", "sent Ready twice"),
        ('say(messages.ProcessFailed("no\\x1b[2J luck"))', "no⟦U\\+001B⟧\\[2J luck"),
        ("os._exit(7)", r"exit 7"),
        ("os.kill(os.getpid(), 11)", r"exit "),
        ('sys.exit("I \\x1b[31m give up")', "I ⟦U\\+001B⟧\\[31m give up"),
        ("", "0 of 1 attempts"),
        ("task(); say(asked(1, most=10**9))", "outside the limits"),
        ("task(); say(asked(1, most=0))", "outside the limits"),
        ("task(); say(asked(1, top_logprobs=20))", "outside the limits"),
        ("task(); say(CompletionQuestion(1, ()))", "0 replies at once"),
        ("task(); say(CompletionQuestion(1, asked(1).requests * 65))", "65 replies at once"),
        ("task(); say(*[asked(n) for n in range(20)]); time.sleep(60)", "8 answers at once"),
        (
            "task()\nfor n in range(10_000):\n    say(asked(n)); sys.stdin.buffer.readline()",
            "over 200 replies",
        ),
        (
            "task()\nfor n in range(10_000):\n    say(TokenCountQuestion(n, '')); sys.stdin.buffer.readline()",
            "over 2,000 texts counted",
        ),
        (
            f"{TELLS}pay()\nfor n in range(10_000):\n    say(messages.StepFinished(0, step()))",
            "more than 5,000 messages",
        ),
        ("task(); say(*[asked(n) for n in range(8)]); time.sleep(600)", "ended after"),
        ("task(); time.sleep(600)", "ended after"),
        ("os.close(1); time.sleep(600)", "ended after"),
        ("while True: sys.stderr.write('x' * 10_000)", "ended after"),
        ("while True: say(b'x' * 10**6)", "a line of over"),
    ],
)
def test_a_malformed_message_of_an_agent_is_a_failure(hostile, code, why):
    seconds = 2 if why == "ended after" else 30
    limits = AgentLimits(seconds, grace_seconds=1)
    stall = 0.5 if "at once" in why else 0.0
    said, ledger = hostile(
        code, ScriptLine(reply="yes", repeat=True, stall_seconds=stall), limits=limits
    )
    assert ledger.finished == ()
    assert re.search(why, said), said


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('record = replace(record, agent="other")', "its task does not have"),
        ("record = replace(record, seed=99)", "its task does not have"),
        (
            'record = replace(record, issue=replace(record.issue, title="x"))',
            "its task does not have",
        ),
        (
            'record = replace(record, engine=replace(record.engine, model="best"))',
            "its task does not have",
        ),
        ("say(messages.AttemptFinished(record, 1.0))", "its task does not have"),
        ("pay()", "reported 0 tokens, and 2 were paid for"),
        ("record = replace(record, steps=(step(2, 0, 1),))", "impossible tokens"),
        ("pay(); record = replace(record, steps=(step(-9, 0, 1),))", "impossible tokens"),
        ("pay(); record = replace(record, steps=(step(1, 2, 1),))", "impossible tokens"),
        ("pay(); record = replace(record, steps=(step(1, -1, 1),))", "impossible tokens"),
        ("pay(); record = replace(record, steps=(step(1, 0, -1),))", "impossible tokens"),
        (
            "pay(); record = replace(record, steps=(step(1, 0, 1, seconds=-1e6),))",
            "impossible tokens",
        ),
        (
            "pay(); record = replace(record, steps=(step(1, 0, 1),) * 9)",
            "reported 18 tokens, and 2",
        ),
        ("pay(); say(messages.StepFinished(0, step(10**9, 0, 1)))", "impossible tokens"),
        ('record = replace(record, patch="anything")', "invalid patch: line 1 of the patch"),
        (
            'record = replace(record, patch=record.patch.replace("n.py", ".github/workflows/n.yml"))',
            "invalid patch: .*secrets",
        ),
        (
            'record = replace(record, patch=record.patch.replace("100644", "120000"))',
            "invalid patch",
        ),
        (
            'record = replace(record, patch=record.patch.replace("n.py", "../n.py"))',
            "invalid patch",
        ),
        ("record = replace(record, stop=StopReason.ROUNDS)", "did not submit"),
    ],
)
def test_a_record_of_something_else_is_not_kept(hostile, code, why):
    said, _ = hostile(
        f"{TELLS}{code}\nsay(messages.AttemptFinished(record, 1.0))", ScriptLine(reply="yes")
    )
    assert re.search(why, said), said


def test_an_attempt_finished_before_a_crash_is_kept_with_the_parents_time(hostile):
    _, ledger = hostile(
        f"{TELLS}pay(); record = replace(record, failure='no' + chr(0))\n"
        "say(messages.AttemptFinished(record, -1e6)); time.sleep(0.2); os._exit(9)",
        ScriptLine(reply="yes"),
        seeds=(3, 4),
    )
    (one,) = ledger.finished
    assert one.patch.startswith("diff --git a/n.py")
    assert one.trajectory.failure == "no⟦U+0000⟧"
    assert 0 < one.seconds < ledger.seconds - 0.1
    assert ledger.tokens == 2


def test_the_output_of_an_agent_process_is_limited(hostile, monkeypatch):
    monkeypatch.setattr(sandboxed_process, "_LINES", 2)
    big = "task()\nfor n in range(9): say(TokenCountQuestion(n, 'x' * 5_000_000))\ntime.sleep(60)"
    said, _ = hostile(big)
    assert said == "the agent's process wrote over 33,554,432 bytes"


def test_a_large_context_has_longer_lines(hostile):
    code = 'say(b"x" * (17 * 1024**2) + b"\\n")'
    said, _ = hostile(code, engine=ScriptedEngine((), context_tokens=262_144))
    assert "JSONDecodeError" in said


def test_a_question_under_way_is_charged_in_full(hostile):
    _, ledger = hostile(
        "task(); say(asked(1, most=500)); time.sleep(1); os._exit(9)", ScriptLine(stall_seconds=30)
    )
    assert 500 < ledger.tokens < 1_000


def test_a_step_of_no_attempt_is_refused(hostile):
    said, _ = hostile(f"{TELLS}say(messages.StepFinished(1, step()))")
    assert "attempt 1, which is unknown" in said
