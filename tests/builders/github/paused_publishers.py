"""Attempts to publish that stop before each of their steps, so that a test decides who goes on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from sqlalchemy import Engine, select

from app.db.session import transaction
from app.db.store.queue import jobs, upkeep
from app.db.store.queue.effects import PostgresEffects
from app.db.tables.schema import effects
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CheckDraft, CommentDraft, Publisher
from app.github.http.connection import GitHub
from app.jobs.job import LocateIssues, Planned
from app.values.identifiers import CommitSha, InstallationId, RepositoryId, RepositoryRef
from tests.builders.worker_scene import save_repository
from tests.github.repo import Repo

STEPS = ("permit_write", "plan", "check_owner", "write", "confirm")
"""Where an attempt may be paused: before its permit, its plan, its last check, its request, its confirmation."""
_MARKER = "<!-- r4p:group=1 -->"


class Stopping:
    """Passes all calls on to `target`, and stops before those in `STEPS`."""

    def __init__(self, target, stop):
        self._target, self._stop = target, stop

    def __getattr__(self, name):
        value = getattr(self._target, name)
        if name not in STEPS:
            return value

        def call(*arguments, **options):
            self._stop(name)
            return value(*arguments, **options)

        return call


class PausedAttempt:
    """Work in a thread of its own that goes on step by step."""

    def __init__(self, work):
        self.step = ""
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        threads = ThreadPoolExecutor(1)
        self._work = threads.submit(self._run, work)
        self._work.add_done_callback(lambda _: self._stopped.release())
        threads.shutdown(wait=False)

    @property
    def is_over(self):
        return self._work.done()

    @property
    def error(self):
        """What the work raised; None: nothing, or it goes on."""
        return self._work.exception() if self.is_over else None

    def go_on(self):
        """Let the attempt run to its next step, or to its end."""
        self._go.release()
        assert self._stopped.acquire(timeout=60), f"stuck after {self.step}"

    def go_until(self, step):
        while self.step != step:
            assert not self.is_over, f"never came to {step}: {self.error}"
            self.go_on()

    def finish(self):
        while not self.is_over:
            self.go_on()

    def _run(self, work):
        assert self._go.acquire(timeout=60), "nobody let it begin"
        work(self._stop)

    def _stop(self, step):
        self.step = step
        self._stopped.release()
        assert self._go.acquire(timeout=60), f"nobody went on from {step}"


@dataclass
class PausedPublishers:
    """Attempts to publish verdict after verdict on one issue; each takes the job over from the one before."""

    database: Engine
    github: GitHub
    repo: Repo
    installation: InstallationId
    bot: str
    issue: int = 0
    attempts: list[PausedAttempt] = field(default_factory=list)

    def __post_init__(self):
        save_repository(self.database, self.installation, self.repo)

    def begin(self):
        """Turn to a new issue with a pull request."""
        self.issue = self.repo.open_issue("Area is wrong")
        self.pull = self.repo.open_pr("Fix", f"Fixes #{self.issue}", files={"a": str(self.issue)})
        self.attempts = []
        return self

    def publish(self, *, is_check=False):
        """Claim the job, as a worker does after the last one's lease ended, and stop at the first step."""
        number = len(self.attempts) + 1
        effects = PostgresEffects(self.database, self._claim(), self.issue * 10 + number)

        def work(stop):
            publisher = Publisher(Stopping(self.github, stop), Stopping(effects, stop))
            self._write(publisher, f"verdict {number}", is_check=is_check)

        attempt = PausedAttempt(work)
        attempt.go_on()
        self.attempts.append(attempt)
        return attempt

    def list_visible(self, *, is_check=False):
        """What people see of the bot's: every comment, or the check run that GitHub shows, the last one of its name."""
        if is_check:
            last = max(self.repo.check_runs_of(self.pull.head_sha), key=lambda run: run.id)
            return [last.title]
        own = (c for c in self.repo.comments(self.issue) if c.author == self.bot)
        return [comment.body.removeprefix(f"{_MARKER}\n") for comment in own]

    def state(self):
        """The stored state of the effect that writes the comment."""
        with transaction(self.database) as connection:
            query = select(effects.c.state).where(effects.c.key == f"comment:{self.issue}")
            return connection.execute(query).scalar_one()

    def _claim(self):
        repository = RepositoryId(self.repo.id)
        with transaction(self.database) as connection:
            connection.exec_driver_sql("update jobs set lease_until = now() - interval '1 s'")
            upkeep.release_expired(connection, max_attempts=9)
            wanted = Planned(LocateIssues(self.installation, repository, self.issue))
            (stored,) = jobs.enqueue(connection, [wanted])
        return jobs.claim(self.database, stored.id, 60)

    def _write(self, publisher, text, *, is_check):
        place = RepositoryRef(self.installation, RepositoryId(self.repo.id), self.repo.full_name)
        if is_check:
            head = CommitSha(self.pull.head_sha)
            draft = CheckDraft("r4p/verdict", head, "neutral", text, "Why.")
            publisher.check_run(EffectKey(place, f"check:{self.issue}"), draft)
        else:
            draft = CommentDraft(self.issue, f"{_MARKER}\n{text}", _MARKER)
            publisher.comment(EffectKey(place, f"comment:{self.issue}"), draft)
