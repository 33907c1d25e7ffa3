"""Attempts side by side: each its own context and seed, and one end for all."""

import threading
from contextlib import contextmanager
from contextvars import ContextVar

import pytest

from model.agents.parallel_attempts import AttemptCallbacks, run_attempts
from model.agents.trajectories.trajectory import StopReason
from model.errors import Cancelled
from tests.model.agents.builders import ISSUE, build_attempt, build_step


class SteppingAgent:
    """An agent that makes steps until all of its kind are at work, and notes its context."""

    name = "stepping"

    def __init__(self, together, steps=1):
        self.barrier = threading.Barrier(together, timeout=10)
        self.steps = steps
        self.contexts = []

    def propose(self, issue, context, *, seed, guidance=None, on_step=None):
        self.barrier.wait()
        self.contexts.append(context)
        for _ in range(self.steps):
            on_step(build_step())
        return build_attempt(
            seed=seed, stop=StopReason.SUBMITTED, patch=f"{issue.title} {guidance}"
        )


class ContextPool:
    """Hands out numbers for contexts, and counts those that are in use."""

    def __init__(self):
        self.made = self.open = 0

    @contextmanager
    def __call__(self):
        self.made += 1
        self.open += 1
        try:
            yield self.made
        finally:
            self.open -= 1


def test_attempts_run_together_each_with_its_own_context():
    agent, contexts, seen = SteppingAgent(together=3), ContextPool(), []
    ended = {}
    callbacks = AttemptCallbacks(lambda attempt, _step: seen.append(attempt), ended.__setitem__)
    done = run_attempts(agent, ISSUE, contexts, seeds=(5, 6, 7), callbacks=callbacks)
    assert [one.trajectory.seed for one in done] == [5, 6, 7]
    assert tuple(ended[at] for at in range(3)) == done
    assert len(set(agent.contexts)) == 3
    assert sorted(seen) == [0, 1, 2]
    assert contexts.open == 0


def test_exception_in_on_step_ends_all_attempts():
    agent, contexts = SteppingAgent(together=2, steps=1_000_000), ContextPool()

    def once(attempt, _step):
        if attempt == 1:
            raise Cancelled("newer work")

    with pytest.raises(Cancelled, match="newer work"):
        run_attempts(agent, ISSUE, contexts, seeds=(1, 2), callbacks=AttemptCallbacks(once))
    assert contexts.open == 0


def test_missing_context_ends_all_attempts():
    def fail_to_open():
        raise OSError("no such tree")

    with pytest.raises(OSError, match="no such tree"):
        run_attempts(SteppingAgent(together=1), ISSUE, fail_to_open, seeds=(1,))


def test_attempts_log_with_the_ids_of_the_job_that_runs_them():
    job, seen = ContextVar("job"), []
    job.set(7)
    callbacks = AttemptCallbacks(lambda _at, _step: seen.append(job.get(None)), lambda *_: None)
    agent = SteppingAgent(together=2)
    run_attempts(agent, ISSUE, ContextPool(), seeds=(5, 6), callbacks=callbacks)
    assert seen == [7, 7]
