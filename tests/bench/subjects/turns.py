"""Turns of installations in the queue, beside first in, first out on the same rows in the same run."""

import time
from collections.abc import Callable

import psycopg

from app.db.store.queue.claim_statements import CLAIM_NEXT
from tests.bench.bench import Bench, Subject
from tests.bench.support.measurements import Figure, Pairs, at_least, at_most, percentile

INSTALLATIONS = 1_000
ROWS = 100_000
CLAIMS = 2_000
HONEST_JOBS, CROWD = 200, 1_000

Claim = Callable[[int], int]
"""Claims a job and returns its installation. The argument is the installation that was served last."""

_FIFO = """
update jobs set state = 'running', attempt = attempt + 1, token = token + 1, claimed_at = now(),
    lease_until = now() + interval '60 seconds'
where id = (
    select id from jobs as wanted
    where queue = 'events' and state = 'ready' and run_after <= now() and (
        select true from jobs as other
        where other.key = wanted.key and other.state = 'running' limit 1) is null
    order by run_after, id limit 1 for update of wanted skip locked)
returning id, installation_id
"""
_FIFO_INDEX = "create index fifo on jobs (queue, run_after, id) where state = 'ready'"
_FINISH = "update jobs set state = 'done', finished_at = now(), lease_until = null where id = %s"
_FILL = """
insert into jobs (kind, queue, key, payload, installation_id)
select 'record_event', 'events', gen_random_uuid()::text, '{}', %s + number %% %s
from generate_series(0, %s - 1) as number
"""


def measure(bench: Bench) -> list[Figure]:
    """T1 to T3."""
    with bench.services.database() as url, psycopg.connect(url, autocommit=True) as connection:
        queue = _Queue(connection)
        return [_costs(bench, queue), *_waits(bench, queue)]


class _Queue:
    """One queue that is served in turns or first in, first out. Each job is finished at once."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def fill(self, *groups: tuple[int, int, int], fifo: bool) -> Claim:
        """Fill the queue with groups: first installation, number of installations, number of jobs."""
        do = self.connection.execute
        do("truncate jobs cascade")
        do("drop index if exists fifo")
        for group in groups:
            do(_FILL, group)
        if fifo:
            do(_FIFO_INDEX)
        do("vacuum analyze jobs")
        return self._claim_first if fifo else self._claim_in_turn

    def _claim_first(self, _after: int) -> int:
        return self._end(self.connection.execute(_FIFO).fetchone())

    def _claim_in_turn(self, after: int) -> int:
        values = {
            "queue": "events",
            "lease": 60.0,
            "after": after,
            "max_running": 16,
            "heeds_pause": True,
        }
        return self._end(self.connection.execute(CLAIM_NEXT, values).fetchone())

    def _end(self, row: tuple[object, ...] | None) -> int:
        if row is None:
            raise SystemExit("no job was left: fill in more")
        done = self.connection.execute(f"{_FINISH} returning installation_id", row[:1]).fetchone()
        return int(done[0]) if done else -1


def _costs(bench: Bench, queue: _Queue) -> Figure:
    pairs = Pairs()
    for number in range(bench.scale.rounds):
        bench.step(f"cost of a turn, round {number + 1}")
        rates = []
        for fifo in (False, True):
            claim = queue.fill((1, INSTALLATIONS, ROWS), fifo=fifo)
            rates.append(CLAIMS / _claim(claim, CLAIMS)[-1][1])
        pairs.add(*rates)
    what = "claim and finish, 100,000 ready jobs of 1,000 installations, 1 worker"
    return Figure(
        *("T1", what, "jobs/s", tuple(pairs.ours), "first in, first out", tuple(pairs.beside)),
        ratio_asked=at_least(0.5),
    )


def _waits(bench: Bench, queue: _Queue) -> list[Figure]:
    """The p95 wait of honest installations' jobs, with and without the crowd in front of them.

    A single honest installation gets every second turn, so that its ratio is about 2 whatever a claim costs.
    """
    what = "p95 wait of 200 jobs of {}, 1,000 jobs of another in front"
    return [
        Figure(
            *("T2", what.format("20 installations"), "ms"),
            *_measure_waits(bench, queue, installations=20, fifo=False),
            ratio_asked=at_most(2),
        ),
        Figure(
            *("T2 first in, first out", what.format("20 installations"), "ms"),
            *_measure_waits(bench, queue, installations=20, fifo=True),
        ),
        Figure(
            *("T3", what.format("1 installation"), "ms"),
            *_measure_waits(bench, queue, installations=1, fifo=False),
        ),
    ]


def _measure_waits(
    bench: Bench, queue: _Queue, *, installations: int, fifo: bool
) -> tuple[tuple[float, ...], str, tuple[float, ...]]:
    """The waits with the crowd, what is beside them, and the waits without the crowd."""
    honest, crowd = (2, installations, HONEST_JOBS), (1, 1, CROWD)
    pairs = Pairs()
    for number in range(bench.scale.rounds):
        bench.step(f"waits of {installations}, round {number + 1}")
        crowded = _wait(queue.fill(crowd, honest, fifo=fifo), CROWD + HONEST_JOBS)
        pairs.add(crowded, _wait(queue.fill(honest, fifo=fifo), HONEST_JOBS))
    return tuple(pairs.ours), "the same without the 1,000", tuple(pairs.beside)


def _wait(claim: Claim, jobs: int) -> float:
    waits = [seconds * 1e3 for installation, seconds in _claim(claim, jobs) if installation > 1]
    return percentile(waits, 0.95)


def _claim(claim: Claim, jobs: int) -> list[tuple[int, float]]:
    """The installation of each claim, and the seconds from the start to its end."""
    served, after = [], -1
    started = time.monotonic()
    for _ in range(jobs):
        after = claim(after)
        served.append((after, time.monotonic() - started))
    return served


SUBJECT = Subject(
    "turns",
    "The statement with which workers claim, and the one that it replaced, on the same table, each with its own index,"
    " by one bare psycopg connection that finishes each job at once.",
    measure,
)
