"""The interface of agents, and several attempts at one issue in parallel threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Protocol

from model.agents.tools.toolbox import ToolContext
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import Issue
from model.errors import Cancelled

MAX_PARALLEL = 8


class Agent(Protocol):
    """An agent writes a patch for an issue. It reads and edits a tree and runs no code of it."""

    @property
    def name(self) -> str:
        """The agent's name in the catalogue."""
        ...

    def propose(
        self,
        issue: Issue,
        context: ToolContext,
        *,
        seed: int,
        guidance: Guidance | None = None,
        on_step: Callable[[Step], None] = ...,
    ) -> Attempt:
        """Make one attempt to write a patch for an issue, on a private view of the tree. Returns its record.

        A failing engine ends the attempt with a stop reason and raises nothing. `guidance` is the hint of a second
        attempt. `on_step` receives each finished step. An exception from `on_step` ends the attempt.
        """
        ...


@dataclass(frozen=True, slots=True)
class AttemptCallbacks:
    """Functions that parallel attempts call with each finished step and each finished attempt, from several threads.

    An exception from one of them ends all attempts.
    """

    on_step: Callable[[int, Step], None] = lambda _at, _step: None
    """Receives the attempt's index, counted from 0, and the finished step."""
    on_end: Callable[[int, Attempt], None] = lambda _at, _attempt: None
    """Receives the attempt's index, counted from 0, and its result."""


_NOBODY = AttemptCallbacks()


def run_attempts(
    agent: Agent,
    issue: Issue,
    open_context: Callable[[], AbstractContextManager[ToolContext]],
    *,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    callbacks: AttemptCallbacks = _NOBODY,
) -> tuple[Attempt, ...]:
    """Run an agent's attempts at an issue in parallel, one per seed. Returns them in the order of the seeds.

    There is at least one seed. `open_context` opens the private tool context of each attempt. The first exception of
    an attempt or a callback ends all attempts and is raised. KeyboardInterrupt does not wait for replies that are still
    being sampled.
    """
    over = threading.Event()

    def report(index: int, step: Step) -> None:
        if over.is_set():
            raise Cancelled("another attempt was ended from outside")
        callbacks.on_step(index, step)

    def run(index: int) -> Attempt:
        with open_context() as context:
            attempt = agent.propose(
                issue,
                context,
                seed=seeds[index],
                guidance=guidance,
                on_step=lambda step: report(index, step),
            )
        callbacks.on_end(index, attempt)
        return attempt

    pool = ThreadPoolExecutor(min(len(seeds), MAX_PARALLEL))
    # With the caller's context, so that log lines name its job.
    futures = [pool.submit(copy_context().run, run, index) for index in range(len(seeds))]
    waits = True
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        over.set()
        pool.shutdown(wait=waits, cancel_futures=True)
    for future in done:
        future.result()  # raises the first failure, not the failures that it caused in other threads
    return tuple(future.result() for future in futures)
