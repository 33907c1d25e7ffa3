"""Runs a handler every way a worker may run it: twice, and again after a crash at a commit.

`arrange` sets up a world and says which job to do in it; `observe` says what the world looks like
afterwards. Every way must leave the world as a single undisturbed run leaves it.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Engine

from app.db.store.queue import jobs, upkeep
from app.jobs.job import Job, Planned
from tests.services import Services
from worker.queue.context import Context, Handler

When = Literal["before", "after"]
Arrange = Callable[[Engine], Job]
Observe = Callable[[Engine], object]

LEASE = 60.0


class Crash(BaseException):
    """The process dies here: nothing may catch this and carry on."""


@dataclass
class Commits:
    """Counts an engine's commits, and dies before or after one of them."""

    die_at: int = 0
    when: When = "before"
    seen: int = 0

    @contextmanager
    def of(self, database: Engine) -> Iterator[None]:
        dialect = database.dialect
        commit = dialect.do_commit

        def count_call(connection: object) -> None:
            self.seen += 1
            if (self.seen, self.when) == (self.die_at, "before"):
                raise Crash
            commit(connection)
            if self.seen == self.die_at:
                raise Crash

        dialect.do_commit = count_call
        try:
            yield
        finally:
            del dialect.do_commit


@dataclass
class EveryWay:
    """Runs handlers on one database, emptied before each way."""

    services: Services
    database: Engine
    at_each_commit: bool
    """Whether a crash comes at every commit, or at the one in the middle."""

    def __call__(self, handler: Handler, arrange: Arrange, observe: Observe) -> object:
        """What an undisturbed run leaves behind, once every other way was seen to leave the same."""
        commits = Commits()
        job = self._fresh(arrange)
        self._attempt(handler, job, commits)
        expected = observe(self.database)
        job = self._fresh(arrange)
        self._attempt(handler, job, Commits())
        self._attempt(handler, job, Commits())
        self._compare(observe, expected, "after a second run")
        for number in self._deaths(commits.seen):
            for moment in ("before", "after"):
                self._crash(handler, arrange, Commits(number, moment))
                self._compare(observe, expected, f"after dying {moment} commit {number}")
        return expected

    def _compare(self, observe: Observe, expected: object, when: str) -> None:
        left = observe(self.database)
        assert left == expected, f"{when}: {left!r} instead of {expected!r}"

    def _deaths(self, seen: int) -> Iterable[int]:
        return range(1, seen + 1) if self.at_each_commit else {(seen + 1) // 2} - {0}

    def _fresh(self, arrange: Arrange) -> Job:
        self.database.dispose()
        self.services.clean_database()
        return arrange(self.database)

    def _crash(self, handler: Handler, arrange: Arrange, commits: Commits) -> None:
        job = self._fresh(arrange)
        try:
            self._attempt(handler, job, commits)
        except Crash:
            self._let_the_lease_end()
        self._attempt(handler, job, Commits())

    def _attempt(self, handler: Handler, job: Job, commits: Commits) -> None:
        with self.database.begin() as connection:
            (stored,) = jobs.enqueue(connection, [Planned(job)])
        claimed = jobs.claim(self.database, stored.id, LEASE)
        assert claimed is not None, f"{job} can't be claimed"
        with commits.of(self.database):
            handler(Context(self.database, claimed, threading.Event(), lambda: False), job)
        assert jobs.finish(self.database, claimed)

    def _let_the_lease_end(self) -> None:
        with self.database.begin() as connection:
            connection.exec_driver_sql("update jobs set lease_until = now() - interval '1 s'")
            upkeep.release_expired(connection, max_attempts=3)
