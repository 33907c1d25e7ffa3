"""The queue of record: claims and empty jobs a second, and that no job is ever claimed twice."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.bench.bench import Bench, Subject
from tests.bench.programs import floor_queue
from tests.bench.support.measurements import Figure, Pairs, at_least, at_most
from tests.bench.support.peers import NotRun, Peer, interpreter
from tests.bench.support.program_output import output
from tests.services import ROOT

PROCRASTINATE = Peer("procrastinate", "3.10.0", ("psycopg[binary]==3.3.9",))
RECORDED = "procrastinate 3.10.0 on record, not of this run: 501 jobs/s"
ROWS = 60_000
MANY = 8
PEER_JOBS = 2_000

_FILL = """
insert into jobs (kind, queue, key, payload, installation_id)
select 'record_event', 'events', 'record_event:' || number,
    jsonb_build_object('installation', 1, 'delivery', number::text), 1
from generate_series(1, %s) as number
"""
_CLAIMED = """
select count(*) filter (where attempt = 1), count(*) filter (where attempt > 1) from jobs
"""


def measure(bench: Bench) -> list[Figure]:
    """Q1 to Q4."""
    with bench.services.database() as url:
        queue = _Queue(bench, url)
        return [*_claims(queue), *_many(queue), *_jobs(queue), _twice(queue)]


@dataclass
class _Queue:
    """A database with two queues in it, ours and the floor's, and what was seen of jobs claimed twice."""

    bench: Bench
    url: str
    twice: list[float] = field(default_factory=list)
    claimed: int = 0

    def ours(self, way: str, workers: int = 1) -> float:
        """Our claims or jobs a second, on a full queue."""
        self._do("truncate jobs cascade")
        self._do(_FILL, ROWS)
        rate = self._rate(way, workers)
        once, twice = self._do(_CLAIMED)
        self.twice.append(twice)
        self.claimed += once
        return rate

    def floor(self, way: str, workers: int = 1) -> float:
        """The floor's, on a queue that is as full."""
        self._do(floor_queue.TABLES)
        self._do(floor_queue.FILL, ROWS)
        return self._rate(way, workers)

    def _rate(self, way: str, workers: int) -> float:
        self._do("vacuum analyze")
        self._do("checkpoint")
        seconds = str(min(3.0, self.bench.scale.seconds))
        command = [
            sys.executable,
            "-m",
            "tests.bench.programs.claimers",
            way,
            self.url,
            str(workers),
        ]
        return _number([*command, seconds], ROOT)

    def _do(self, statement: str, *values: object) -> tuple[int, int]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            done = connection.execute(statement, values or None)
            return done.fetchone() if done.description else (0, 0)


def _claims(queue: _Queue) -> list[Figure]:
    three, one = Pairs(), Pairs()
    for number in range(queue.bench.scale.rounds):
        queue.bench.step(f"claims, round {number + 1}")
        ours = queue.ours("our claim")
        three.add(ours, queue.floor("three steps"))
        one.add(ours, queue.floor("one statement"))
    what = "claim the longest due of 60,000 jobs, 1 worker"
    return [
        Figure(
            *("Q1", what, "claims/s", tuple(three.ours), "psycopg: select, update, commit"),
            tuple(three.beside),
            ratio_asked=at_least(0.5),
        ),
        Figure(
            *("Q1 aim", what, "claims/s", tuple(one.ours), "psycopg: one statement"),
            tuple(one.beside),
            ratio_asked=at_least(0.5),
            note="an aim, no must; a quarter of ours asks whether the pooled connection still lives",
        ),
    ]


def _many(queue: _Queue) -> list[Figure]:
    ours, floor = Pairs(), Pairs()
    for number in range(queue.bench.scale.rounds):
        queue.bench.step(f"{MANY} workers, round {number + 1}")
        ours.add(queue.ours("our claim", MANY), queue.ours("our claim"))
        floor.add(queue.floor("one statement", MANY), queue.floor("one statement"))
    what = f"the same, {MANY} workers"
    told = "as much as the floor gains (the next line), which is what the machine had to give"
    return [
        Figure(
            *("Q3", what, "claims/s", tuple(ours.ours), "ours, 1 worker", tuple(ours.beside)),
            ratio_asked=at_least(1.8),
            note=f"workers, driver and database share the cores, so expect {told}",
        ),
        Figure(
            *("Q3 floor", f"psycopg, one statement: {MANY} workers", "claims/s"),
            tuple(floor.ours),
            "the same, 1 worker",
            tuple(floor.beside),
        ),
    ]


def _jobs(queue: _Queue) -> list[Figure]:
    floor, peer = Pairs(), Pairs()
    why = "procrastinate 3.10.0, concurrency 1"
    for number in range(queue.bench.scale.rounds):
        queue.bench.step(f"empty jobs, round {number + 1}")
        ours = queue.ours("our job")
        floor.add(ours, queue.floor("claim and finish"))
        try:
            peer.add(ours, _procrastinate(queue.bench))
        except NotRun as reason:
            peer.ours.append(ours)
            why = f"not run: {reason}; {RECORDED}"
    what = "claim, run an empty job under its heartbeat, finish; 1 worker"
    bare = "psycopg: claim in one statement, finish"
    return [
        Figure(
            *("Q2", what, "jobs/s", tuple(peer.ours), why, tuple(peer.beside)),
            ratio_asked=at_least(1.0),
        ),
        Figure("Q2 floor", what, "jobs/s", tuple(floor.ours), bare, tuple(floor.beside)),
    ]


def _twice(queue: _Queue) -> Figure:
    return Figure(
        "Q4",
        "jobs claimed twice with no lease expired",
        "jobs",
        (sum(queue.twice),),
        asked=at_most(0),
        note=f"of {queue.claimed:,} claims in these runs",
    )


def _procrastinate(bench: Bench) -> float:
    """Jobs a second by its worker, in a database of its own. Raises NotRun."""
    python = interpreter(PROCRASTINATE, bench.peers)
    script = Path(__file__).parents[1] / "programs" / "peer_procrastinate.py"
    with bench.services.database() as url:
        return _number([str(python), str(script), url, str(PEER_JOBS)], bench.scratch)


def _number(command: list[str], directory: Path) -> float:
    """What a program prints on its last line."""
    return float(output(command, directory, {}).splitlines()[-1])


SUBJECT = Subject(
    "queue",
    "A queue of 60,000 ready jobs, one process and connection per worker, synchronous commits. Ours"
    " counts the attempt and sets lease and token; the floors do the same on a table with one partial"
    " index and no keys. procrastinate stores 2,000 empty jobs first and is timed while one worker does"
    " them.",
    measure,
)
