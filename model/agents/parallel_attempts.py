"""Several attempts at one issue, side by side."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass

from model.agents.agent import Agent
from model.agents.tools.toolbox import Desk
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import Issue
from model.errors import Superseded

MOST_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how it goes, by several threads; what these raise ends all attempts."""

    on_step: Callable[[int, Step], None] = lambda _at, _step: None
    """Of which attempt, counted from 0, and the step."""
    on_end: Callable[[int, Attempt], None] = lambda _at, _attempt: None


_NOBODY = Watch()


def attempted(
    agent: Agent,
    issue: Issue,
    desk: Callable[[], AbstractContextManager[Desk]],
    *,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    watch: Watch = _NOBODY,
) -> tuple[Attempt, ...]:
    """One attempt for each seed, and there is one; each on a desk of its own, in the order of the seeds.

    Whoever interrupts isn't made to wait for replies that are under way.
    """
    over = threading.Event()

    def told(at: int, step: Step) -> None:
        if over.is_set():
            raise Superseded("another attempt was ended from outside")
        watch.on_step(at, step)

    def one(at: int) -> Attempt:
        with desk() as own:
            attempt = agent.propose(
                issue, own, seed=seeds[at], guidance=guidance, on_step=lambda step: told(at, step)
            )
        watch.on_end(at, attempt)
        return attempt

    pool = ThreadPoolExecutor(min(len(seeds), MOST_TOGETHER))
    futures = [pool.submit(one, at) for at in range(len(seeds))]
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
        future.result()  # raises what the first one raised, not what it made of the others
    return tuple(future.result() for future in futures)
