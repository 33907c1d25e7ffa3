"""Workers that claim as fast as they can, each a process with a connection of its own.

Run as `python -m tests.bench.programs.claimers WAY DATABASE_URL WORKERS SECONDS`; prints claims a second.
"""

import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier

from app.db.session import create_database_engine
from app.db.store.queue import jobs
from app.dispatch import Doorbell
from app.jobs.job import Queue
from app.settings import QueueSettings
from tests.bench.programs import floor_queue
from tests.bench.programs.floor_queue import Step
from worker.queue.runner import Runner


def our_claim(url: str) -> Step:
    """The product's claim of the longest due job: lease, token, attempt."""
    database = create_database_engine(url)
    return lambda: jobs.claim_next(database, Queue.EVENTS, 60.0) is not None


def our_job(url: str) -> Step:
    """The product's whole attempt at a job that does nothing: claim, heartbeat, handler, finish."""
    database, pace = create_database_engine(url), QueueSettings()
    runner = Runner(database, {"record_event": lambda *_: None}, Doorbell("redis://nowhere"), pace)

    def step() -> bool:
        claimed = jobs.claim_next(database, Queue.EVENTS, pace.lease_seconds)
        if claimed is None:
            return False
        runner.run(claimed)
        return True

    return step


WAYS: dict[str, Callable[[str], Step]] = {
    "three steps": floor_queue.three_steps,
    "one statement": floor_queue.one_statement,
    "claim and finish": floor_queue.claim_and_finish,
    "our claim": our_claim,
    "our job": our_job,
}


def _work(way: str, url: str, seconds: float, start: Barrier, counts) -> None:
    step = WAYS[way](url)
    step()  # connects, and has the statement prepared where the driver does that
    start.wait()
    until = time.monotonic() + seconds
    done = 0
    while time.monotonic() < until:
        if not step():
            raise SystemExit("no job was left: fill in more")
        done += 1
    counts.put(done)


def main(way: str, url: str, workers: int, seconds: float) -> None:
    """Claims a second, all workers together."""
    spawn = multiprocessing.get_context("spawn")
    start, counts = spawn.Barrier(workers), spawn.Queue()
    arguments = (way, url, seconds, start, counts)
    running = [spawn.Process(target=_work, args=arguments) for _ in range(workers)]
    for process in running:
        process.start()
    done = sum(counts.get(timeout=seconds + 60) for _ in running)
    for process in running:
        process.join()
    print(done / seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
