"""A story: people act in a new repository, the bot answers, and nothing is left over.

At its end every comment of the bot must have been read, no job may be open or dead, nothing may stand
twice, no rule of GitHub's be broken and no secret logged. Then the App is uninstalled, and no row of
the installation may be left.
"""

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from sqlalchemy import func, select, text, update

from app.db.tables.schema import jobs, write_limits
from app.github.http.rate_limiter import WriteLimits
from app.jobs.job import Redeliver
from tests.github.facts import CheckFacts
from tests.stories.bot_records import BotRecords
from tests.stories.stage import DAY_SECONDS, SLUG, Stage
from tests.stories.verdicts import BASE, BotComment, area

BOT = f"{SLUG}[bot]"
PATIENCE_SECONDS = 60.0
"""A bound, not a wait: on a loaded machine a redelivery takes half of it."""
SOON_SECONDS = 5.0
"""A job that runs later than this waits for time to pass."""
OPEN_SECONDS = 600.0
"""A job that runs later than this is planned, not open."""
_MARKER = re.compile(r"<!-- (r4p:(?:group|reply|not-judged|draft|notice)=[\w-]+) -->")


@dataclass
class Story(BotRecords):
    """A repository with the App on it, and the story's reads and expectations."""

    marks: tuple[int, int, dict[str, int]]
    """At the start: the stand-in's history, its violations, the logs' lengths."""
    numbers: list[int] = field(default_factory=list)
    heads: set[str] = field(default_factory=set)
    read: set[tuple[int, str]] = field(default_factory=set)
    may_die: set[str] = field(default_factory=set)
    """Kinds of jobs that may give up in this story."""
    is_rough: bool = False
    """Something is broken on purpose, so that jobs may need several attempts."""
    is_installed: bool = True
    patience: float = PATIENCE_SECONDS
    """Seconds that anything may take."""

    @classmethod
    def begin(cls, stage: Stage, name: str, config: str | None, files: dict[str, str]) -> "Story":
        """Create a repository and wait until the bot knows it."""
        standin = stage.standin
        tree = BASE | ({} if config is None else {".github/r4p.yml": config}) | files
        repo = standin.create_repository(f"{name}/areas", tree)
        for login, role in {"maintainer": "maintain", "reader": "read"}.items():
            standin.grant(repo, login, role)
        before = (0, len(standin.violations()), stage.measure_logs())
        story = cls(stage, repo, standin.install(stage.app, [repo]), before)
        story.settle()
        story.marks = (standin.mark(), *before[1:])
        return story

    # ---- people act

    def issue(self, title: str = "Area is wrong", body: str = "It adds.") -> int:
        """Open an issue and return its number."""
        number = self.repo.open_issue(title, body)
        self.numbers.append(number)
        return number

    def rival(self, issue: int, result: str, **options: object) -> int:
        """Open a pull request for an issue that makes `area` return `result`."""
        title, body = (
            options.pop("title", f"Return {result}"),
            options.pop("body", f"Fixes #{issue}"),
        )
        return self.pull(title, body, **({"files": area(result)} | options))

    def pull(self, title: str, body: str = "", **options: object) -> int:
        """Open a pull request and return its number."""
        pull = self.repo.open_pr(title, body, **options)
        self.numbers.append(pull.number)
        self.heads.add(pull.head_sha)
        return pull.number

    def push(self, pull: int, result: str, **options: object) -> str:
        """Push to a pull request and return the new head."""
        head = self.repo.push(pull, files=area(result), **options)
        self.heads.add(head)
        return head

    def open_judged_issue(
        self, *results: str, title: str = "Area is wrong"
    ) -> tuple[int, list[int]]:
        """Open an issue with rivals, wait for the verdict and return the numbers."""
        issue = self.issue(title)
        pulls = [self.rival(issue, result) for result in results or ("w * h", "w - h")]
        self.settle()
        return issue, pulls

    def command(self, number: int, line: str, author: str = "maintainer") -> int:
        """Write a comment, wait for the bot and return the comment's id."""
        comment = self.repo.comment(number, line, author)
        self.settle()
        return comment

    def review(self, number: int, body: str, author: str = "maintainer") -> str:
        """Write a review, wait for the bot and return the key of its reply."""
        given = self.repo.review(number, "COMMENTED", author, body)
        self.settle()
        return f"review-{given}"

    def break_requests(self, match: str, kind: str, **options: object) -> None:
        """Break requests about this repository from now on."""
        self.is_rough = True
        method, path = match.split(" ")
        self.stage.standin.fault(f"{method} /repos/{self.repo.full_name}{path}", kind, **options)

    def give_up(self, kind: str, act: Callable[[], object]) -> None:
        """Run `act` and kill the job of this kind that follows."""
        before = len(self.jobs((jobs.c.kind == kind) & (jobs.c.state == "dead")))
        act()
        self.wait_for(lambda: self.is_running(kind))
        with self.stage.database.begin() as connection:
            connection.execute(
                update(jobs)
                .where(jobs.c.installation_id == self.installation, jobs.c.kind == kind)
                .where(jobs.c.state == "running")
                .values(state="dead", error="the worker died three times", token=jobs.c.token + 1)
            )
        assert len(self.jobs((jobs.c.kind == kind) & (jobs.c.state == "dead"))) == before + 1

    # ---- time passes

    def settle(self) -> None:
        """Wait until the bot has no work left."""
        self.wait_for(lambda: self._is_quiet() and self._is_quiet(), self._what_is_open)

    def wait_for(self, condition: Callable[[], object], why: Callable[[], object] = str) -> None:
        """Wait for a condition, and restart processes that died."""
        deadline = time.monotonic() + self.patience
        while not condition():
            assert time.monotonic() < deadline, f"not in {self.patience} s: {condition} {why()}"
            self.stage.bot.check()
            time.sleep(0.02)

    def let_pass(self, seconds: float) -> None:
        """Let time pass for GitHub and for planned jobs, then wait for the bot."""
        self.stage.standin.advance(seconds)
        mine = write_limits.c.installation_id == self.installation
        with self.stage.database.begin() as connection:
            connection.execute(
                update(jobs)
                .where(jobs.c.installation_id == self.installation, jobs.c.state == "ready")
                .values(run_after=jobs.c.run_after - text(f"interval '{seconds} s'"))
            )
            row = select(write_limits.c.state).where(mine).with_for_update()
            if (state := connection.execute(row).scalar_one_or_none()) is not None:
                earlier = _earlier(WriteLimits(**state), seconds)
                connection.execute(update(write_limits).where(mine).values(state=asdict(earlier)))
        self.settle()

    def request_redelivery(self) -> None:
        """Look for lost webhooks now, even while an earlier search waits for its next turn."""
        with self.stage.database.begin() as connection:
            connection.execute(
                update(jobs)
                .where(jobs.c.kind == Redeliver.kind, jobs.c.state == "ready")
                .values(run_after=func.now())
            )
        self.stage.tick("redeliver")

    def describe_open_jobs(self) -> str:
        """Return the jobs that are not done, with their last errors."""
        with self.stage.database.connect() as connection:
            open_jobs = connection.execute(
                select(jobs.c.kind, jobs.c.state, jobs.c.run_after, jobs.c.error).where(
                    jobs.c.state != "done"
                )
            )
            return "\n".join(map(str, open_jobs))

    def let_days_pass(self, days: int) -> None:
        """Let days pass in the bot's setting of a day; its tokens expire."""
        self.is_rough = True
        self.let_pass(days * DAY_SECONDS)
        self.let_pass(400)

    def _is_quiet(self) -> bool:
        self.stage.standin.drain()
        return not self._what_is_open()

    def _what_is_open(self) -> list[tuple[str, str, str | None]]:
        return self.due_within(SOON_SECONDS)

    # ---- what the world shows

    def verdict(self, issue: int) -> BotComment:
        """Return the verdict comment of an issue and mark it as read."""
        (comment,) = self._read_comments(issue, "r4p:group")
        return comment

    def answer(self, number: int, asked_in: int | str) -> str:
        """Return the bot's reply to a comment or review, or ""."""
        replies = self._read_comments(number, f"r4p:reply={asked_in} ")
        refusal = self._read_comments(number, f"r4p:not-judged={asked_in} ")
        assert (len(replies) <= 1, len(refusal) <= 1) == (True, True)
        return "".join(comment.body for comment in [*replies, *refusal])

    def read_notices(self, number: int, kind: str) -> list[str]:
        """Return the bot's comments of a kind: `draft`, or `notice` for early notices."""
        return [comment.body for comment in self._read_comments(number, f"r4p:{kind}=")]

    def is_silent(self, *numbers: int) -> bool:
        """Return whether the bot wrote no comment there."""
        return not any(self._read_comments(number, "") for number in numbers)

    def _read_comments(self, number: int, marker: str) -> list[BotComment]:
        comments = [
            BotComment(comment.id, comment.body)
            for comment in self.repo.comments(number)
            if comment.author == BOT and f"<!-- {marker}" in comment.body
        ]
        self.read |= {(own.id, own.body) for own in comments}
        return comments

    def reactions(self, number: int, comment: int) -> list[str]:
        """Return the bot's reactions to a comment, in order."""
        (target,) = (
            candidate for candidate in self.repo.comments(number) if candidate.id == comment
        )
        return [content for content, login in target.reactions if login == BOT]

    def check(self, pull: int) -> CheckFacts:
        """Return the bot's only check run on a pull request's head."""
        (run,) = self.checks_of(self.repo.head(pull))
        return run

    def checks_of(self, sha: str, name: str = "r4p/verdict") -> list[CheckFacts]:
        """Return the bot's check runs on a commit."""
        runs = self.repo.check_runs_of(sha)
        return [run for run in runs if run.app == SLUG and run.name == name]

    def calls(self) -> dict[str, int]:
        """Count the bot's calls of each API operation since the story began."""
        counts = self.stage.standin.calls(self.marks[0]).operations
        return {name: count for name, count in counts.items() if ".git/" not in name}

    # ---- the end

    def end(self) -> None:
        """Check that nothing is left over, remove the App and check that its data is gone."""
        self.settle()
        standin = self.stage.standin
        assert self.due_within(OPEN_SECONDS) == [], f"jobs are open:\n{self.describe_open_jobs()}"
        assert self._list_unread() == [], "the bot said something nobody read"
        assert self._list_duplicates() == [], "something stands twice"
        dead = [job for job in self.jobs(jobs.c.state == "dead") if job[0] not in self.may_die]
        assert dead == [], f"jobs gave up: {dead}"
        again = [] if self.is_rough else self.jobs(jobs.c.attempt > 1)
        assert again == [], "jobs needed a second attempt"
        if self.is_installed:
            standin.uninstall(self.installation)
        self.settle()
        assert self.count_rows() == {}, "something is kept after the App was removed"
        broken = standin.violations()[self.marks[1] :]
        assert broken == [], "rules of GitHub's were broken"
        assert self.stage.find_secrets_in_logs(self.marks[2]) == []

    def _list_unread(self) -> list[str]:
        return [
            comment.body
            for number in self.numbers
            for comment in self.repo.comments(number)
            if comment.author == BOT and (comment.id, comment.body) not in self.read
        ]

    def _list_duplicates(self) -> list[str]:
        bodies = [
            comment.body
            for number in self.numbers
            for comment in self.repo.comments(number)
            if comment.author == BOT
        ]
        marks = Counter(mark for body in bodies for mark in _MARKER.findall(body))
        runs = [run for sha in self.heads for run in self.checks_of(sha)]
        checks = Counter(run.external_id for run in runs)
        return [name for name, times in [*marks.items(), *checks.items()] if times > 1]


def _earlier(limits: WriteLimits, seconds: float) -> WriteLimits:
    return replace(
        limits,
        counted_at=limits.counted_at - seconds,
        writes=tuple(write - seconds for write in limits.writes),
        replies=tuple(reply - seconds for reply in limits.replies),
        blocked_until=limits.blocked_until - seconds,
    )
