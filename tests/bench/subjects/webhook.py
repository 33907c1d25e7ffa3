"""The webhook: how many deliveries a second, how late at a steady rate, and in how much memory."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.bench.bench import Bench, Subject
from tests.bench.support import load, servers
from tests.bench.support.measurements import Figure, Pairs, at_least, at_most
from tests.bench.support.peers import NotRun, interpreter
from tests.bench.support.program_output import output
from tests.bench.support.servers import PR_AGENT, Server
from tests.services import ROOT

RATE = 50.0
FLOOR = "FastAPI + psycopg, HMAC and 2 inserts"
PEER = "pr-agent 0.49.0 under its gunicorn configuration, 1 worker"
SATURATED = "webhook: cap, HMAC, parse, delivery and job committed, 202; 16 connections"
STEADY = "the webhook at 50 a second"
CALM = f"{STEADY}, p99"
RECORDED = "on record, not of this run: 181 req/s, p99 94 ms, 248 MB, import 7.35 s"


def measure(bench: Bench) -> list[Figure]:
    """W1 to W6."""
    with (
        bench.services.broker(),
        bench.services.database() as database_url,
        servers.ours(bench, database_url) as bot,
        servers.floor(bench, database_url) as floor,
    ):
        field = _Field(bench, database_url)
        field.warm(bot, floor)
        figures = [_measure_saturation(field, bot, floor), *_measure_steady_load(field, bot, floor)]
        return figures + _compare_with_peer(field, bot)


class _Field:
    """Where both are measured: a database that is empty before each run."""

    def __init__(self, bench: Bench, database_url: str) -> None:
        self.bench = bench
        self._database_url = database_url

    def warm(self, *all_servers: Server) -> None:
        """A second of load each, not counted."""
        self.bench.step("warming up")
        for server in all_servers:
            load.send_as_fast_as_answered(server.post, 1)

    def run_closed(self, server: Server) -> load.Answered:
        self._empty()
        answered = load.send_as_fast_as_answered(server.post, self.bench.scale.seconds)
        self._check(server, answered)
        return answered

    def run_steady(self, server: Server) -> load.Answered:
        self._empty()
        answered = load.send_steadily(server.post, RATE, self.bench.scale.seconds)
        self._check(server, answered)
        return answered

    @contextmanager
    def broker_stopped(self) -> Iterator[None]:
        """The broker takes connections and answers nobody."""
        pid = self.bench.services.embedded.valkey_pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _check(self, server: Server, answered: load.Answered) -> None:
        """What was answered is stored, each with its job; what wrk still had under way may be too."""
        with psycopg.connect(self._database_url) as connection:
            for table in server.tables:
                (rows,) = connection.execute(f"select count(*) from {table}").fetchone()
                if not answered.count <= rows <= answered.count + load.CONNECTIONS:
                    raise load.Failed(f"{answered.count} were answered, {table} holds {rows}")

    def _empty(self) -> None:
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            connection.execute("truncate deliveries, jobs, floor_deliveries, floor_jobs cascade")
            connection.execute("checkpoint")


def _measure_saturation(field: _Field, bot: Server, floor: Server) -> Figure:
    runs = Pairs()
    for number in range(field.bench.scale.rounds):
        field.bench.step(f"16 connections, pair {number + 1}")
        runs.add(field.run_closed(bot).rate, field.run_closed(floor).rate)
    note = "load from wrk"
    return Figure("W1", SATURATED, "req/s", *_runs(runs, FLOOR), at_least(0.60), note=note)


def _measure_steady_load(field: _Field, bot: Server, floor: Server) -> list[Figure]:
    calm, deaf, middle = Pairs(), Pairs(), Pairs()
    for number in range(field.bench.scale.rounds):
        field.bench.step(f"{RATE:g} a second, pair {number + 1}")
        mine, bare = field.run_steady(bot), field.run_steady(floor)
        calm.add(mine.p99_ms, bare.p99_ms)
        middle.add(mine.p50_ms, bare.p50_ms)
        field.bench.step(f"{RATE:g} a second, the broker stopped, pair {number + 1}")
        with field.broker_stopped():
            stopped = field.run_steady(bot)
        deaf.add(stopped.p99_ms, bare.p99_ms)
    worst = at_most(2.5)
    return [
        Figure("W2", CALM, "ms", *_runs(calm, FLOOR), worst),
        Figure("W2 p50", f"{STEADY}, median", "ms", *_runs(middle, FLOOR)),
        Figure("W6", f"{STEADY}, the broker stopped, p99", "ms", *_runs(deaf, FLOOR), worst),
    ]


def _compare_with_peer(field: _Field, bot: Server) -> list[Figure]:
    rate, late, size, wall = Pairs(), Pairs(), Pairs(), Pairs()
    why = ""
    try:
        field.bench.step("starting pr-agent (the first time it is installed)")
        python = interpreter(PR_AGENT, field.bench.peers)
        with servers.pr_agent(field.bench) as peer:
            field.warm(peer)
            for number in range(field.bench.scale.rounds):
                field.bench.step(f"beside pr-agent, pair {number + 1}")
                rate.add(field.run_closed(bot).rate, field.run_closed(peer).rate)
                late.add(field.run_steady(bot).p99_ms, field.run_steady(peer).p99_ms)
            size.add(bot.resident_mb(), peer.resident_mb())
        for number in range(field.bench.scale.rounds):
            field.bench.step(f"imports, pair {number + 1}")
            theirs = _import_seconds(python, "pr_agent.servers.github_app", field.bench.scratch)
            wall.add(_import_seconds(Path(sys.executable), "app.web.main", ROOT), theirs)
    except NotRun as reason:
        why = f"not run: {reason}; {RECORDED}"
        rate, late = Pairs([field.run_closed(bot).rate]), Pairs([field.run_steady(bot).p99_ms])
        size = Pairs([bot.resident_mb()])
        wall = Pairs([_import_seconds(Path(sys.executable), "app.web.main", ROOT)])
    memory, imported = "memory of the web process after load", "import of the web process, wall"
    told = why or PEER
    return [
        Figure("W3", SATURATED, "req/s", *_runs(rate, told), at_least(5)),
        Figure("W4", CALM, "ms", *_runs(late, told), at_most(0.15)),
        Figure("W5", memory, "MB", *_runs(size, told), at_most(0.5), asked=at_most(130)),
        Figure("W5 import", imported, "s", *_runs(wall, told), at_most(0.33)),
    ]


def _runs(runs: Pairs, anchor: str) -> tuple[tuple[float, ...], str, tuple[float, ...]]:
    """As a figure takes them, in its order."""
    return tuple(runs.ours), anchor, tuple(runs.beside)


def _import_seconds(python: Path, module: str, directory: Path) -> float:
    """Wall time of a process that does nothing else, after one to fill the page cache."""
    command = [str(python), "-c", f"import {module}"]
    for _ in range(2):
        started = time.perf_counter()
        output(command, directory, servers.OFFLINE)
        seconds = time.perf_counter() - started
    return seconds


SUBJECT = Subject(
    "webhook",
    "GitHub's example of a pull request that was opened (24 kB), signed, a new GUID each time; ours is"
    " `r4p serve` with nobody working off its jobs. pr-agent gets the same bytes as an `issues` event,"
    " which it verifies, parses and acknowledges, and stores nothing. In an open loop latency counts"
    " from the moment a request was due, so it includes about a millisecond of the Python client.",
    measure,
)
