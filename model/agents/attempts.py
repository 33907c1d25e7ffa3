"""Several attempts at one issue, side by side."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager

from model.agents.agent import Agent
from model.agents.guidance import Guidance
from model.agents.tools import Desk
from model.agents.trajectory import Attempt, Step
from model.domain import Issue
from model.errors import Superseded

MOST_TOGETHER = 8


def attempted(
    agent: Agent,
    issue: Issue,
    desk: Callable[[], AbstractContextManager[Desk]],
    *,
    seeds: Sequence[int],
    guidance: Guidance | None = None,
    on_step: Callable[[int, Step], None] = lambda _attempt, _step: None,
) -> tuple[Attempt, ...]:
    """One attempt for each seed, and there is one; each on a desk of its own, in the order of the seeds.

    `on_step` is told the attempt's place and its step, by several threads; what it raises ends all attempts.
    """
    over = threading.Event()

    def told(at: int, step: Step) -> None:
        if over.is_set():
            raise Superseded("another attempt was ended from outside")
        on_step(at, step)

    def one(at: int) -> Attempt:
        with desk() as own:
            return agent.propose(
                issue, own, seed=seeds[at], guidance=guidance, on_step=lambda step: told(at, step)
            )

    with ThreadPoolExecutor(min(len(seeds), MOST_TOGETHER)) as pool:
        futures = [pool.submit(one, at) for at in range(len(seeds))]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
        for future in done:
            future.result()  # raises what the first one raised, not what it made of the others
        return tuple(future.result() for future in futures)
