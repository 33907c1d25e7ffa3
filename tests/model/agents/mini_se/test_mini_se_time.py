"""Mini-SE's loop and the clock: however slow an engine is, an attempt ends in time."""

from dataclasses import replace

from model.agents import engine_deadline
from model.agents.mini_se.mini_se import MiniSE
from model.agents.trajectories.trajectory import AttemptLimits, StopReason
from model.engines.scripted import ScriptedEngine
from tests.model.agents.builders import (
    ISSUE,
    LOOK,
    MEND,
    SUBMIT,
    TREE,
    open_tool_context,
)
from tests.model.fake_engines import HangingEngine


def test_attempt_times_out_between_rounds(tmp_path):
    readings = iter([0.0, 40.0, 80.0, 120.0])
    with open_tool_context(tmp_path / "tree", TREE) as context:
        agent = MiniSE(
            ScriptedEngine([replace(LOOK, repeat=True)]),
            limits=AttemptLimits(seconds=70),
            clock=readings.__next__,
        )
        done = agent.propose(ISSUE, context, seed=0)
    assert (done.stop, done.rounds) == (StopReason.TIMEOUT, 2)
    assert done.trajectory.failure is None


def test_request_gets_the_time_that_is_left(attempt):
    _, engine = attempt(LOOK, MEND, SUBMIT, limits=AttemptLimits(seconds=90))
    first, *_, last = [request.seconds for request in engine.requests]
    assert first == 90
    assert 0 < last < 90


def test_late_reply_ends_the_attempt(attempt):
    done, _ = attempt(
        LOOK, replace(MEND, stall_seconds=30), SUBMIT, limits=AttemptLimits(seconds=1)
    )
    assert (done.stop, done.rounds, done.patch) == (StopReason.TIMEOUT, 1, None)
    assert "no answer within" in done.trajectory.failure
    assert done.seconds < 10


def test_hanging_engine_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_deadline, "GRACE_SECONDS", 0.1)
    with open_tool_context(tmp_path / "tree", TREE) as context:
        done = MiniSE(HangingEngine(), limits=AttemptLimits(seconds=0.2)).propose(
            ISSUE, context, seed=0
        )
    assert done.stop is StopReason.TIMEOUT
    assert "no answer within 0.2 s" in done.trajectory.failure
    assert done.seconds < 5
