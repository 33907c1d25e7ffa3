"""The demo plays two real issues with four rival patches each: from webhook to outcome, and with tests that run."""

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console

from app.db.store.issues.evaluations import Evaluation
from app.jobs.job import Json
from app.operator.bot import BotDown
from app.operator.embedded import EmbeddedError
from app.settings import EngineSettings, load
from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue, Patch
from model.errors import ModelError
from model.verdict_json import read_patches
from tests.builders.history.stored_outcomes import OutcomeRow
from tests.builders.plain_environments import build_plain_environment
from tests.demo import terminal, tinydb_example
from tests.demo.bot_progress import BotProgress, TookTooLong
from tests.demo.demo_stage import MAINTAINER, DemoStage, run_stage
from tests.demo.example import example
from tests.demo.example.example import Example
from tests.demo.terminal import Steps
from tests.github.facts import CheckFacts, CommentFacts
from tests.github.repo import Repo
from tests.github.server_thread import StandInError

VERDICT_SECONDS = 600.0
OUTCOME_SECONDS = 60.0
SETTLED = frozenset({"merged", "merged_after_changes", "closed"})
"""Every pull request of the demo ends as one of these."""


class DemoFailed(Exception):
    """The bot did not do its job; the message says what is missing."""


FAILURES = (DemoFailed, TookTooLong, BotDown, EmbeddedError, StandInError, ModelError)
"""Errors that end the demo with one line instead of a trace."""


@dataclass(frozen=True, slots=True)
class Published:
    """The published verdict as the stand-in shows it."""

    repo: Repo
    comment: CommentFacts
    checks: dict[int, CheckFacts]
    """By pull request."""
    evaluation: Evaluation
    calls: int
    """Calls to the API from the first webhook to the verdict, without those for tokens."""


@dataclass(slots=True)
class Story:
    """The demo's steps; each stores its seconds in `timings`."""

    steps: Steps
    out: Console
    timings: dict[str, float] = field(default_factory=dict)

    def prepare(self) -> None:
        """Download and check the embedded model's files, if the demo asks that model."""
        settings = load(EngineSettings)
        if settings.engine_name != "local_transformers":
            return
        with self._measure("download"), self.steps.download("the 0.5B model") as update:
            catalog.prepare_model(_choose_embedded(settings, update))

    def ask_model(self) -> None:
        """Let the embedded model cast one vote on the same patches, if the bot's verifier asked no model.

        The bot's own path with a language model differs only in the verifier's name.
        """
        settings = load(EngineSettings)
        if _asks_a_model() or settings.engine_name != "local_transformers":
            return
        rivals = example.load()
        patches = [
            Patch(f"#{number}", rival.diff) for number, rival in enumerate(rivals.rivals, start=2)
        ]
        with self._measure("model"), self.steps.step("one vote of the 0.5B model") as update:
            choice = _choose_embedded(settings, update)
            with closing(catalog.load_engine(choice)) as engine:
                verifier = catalog.load_verifier("r4p", engine)
                verdict = verifier.verify(Issue(rivals.title, rivals.body), patches, votes=1)
        terminal.show_model_vote(self.out, verdict)

    @contextmanager
    def world(self, data: Path) -> Iterator[DemoStage]:
        """Run the stage until the end of the story."""
        started = time.monotonic()
        with self.steps.step("starting the stand-in for GitHub and the bot"):
            environments = build_plain_environment(
                data / "environments", tinydb_example.ENVIRONMENT, tinydb_example.PACKAGES
            )
            settings = {
                "R4P_DEBOUNCE_SECONDS": "2",
                "R4P_CONCURRENCY": "1",
                "R4P_TESTS": str(environments),
                "R4P_TESTS_CLAIM": "true",
            }
            entering = run_stage(data, settings, (example.load(), tinydb_example.load()))
            world = entering.__enter__()
            self.timings["start"] = time.monotonic() - started
        try:
            yield world
        finally:
            with self.steps.step("stopping everything"):
                entering.__exit__(None, None, None)

    def verdict(
        self, world: DemoStage, story: Example, name: str, what: str
    ) -> tuple[BotProgress, Published]:
        """Open the issue of an example and its rivals, wait for the verdict and show it.

        `name` is the step's name among the timings, and `what` its name beside the progress bar.
        """
        repo = world.repositories[story.repository]
        with self._measure(name), self.steps.step(what) as update:
            since = world.standin.mark()
            number = repo.open_issue(story.title, story.body, author="reporter")
            for rival in story.rivals:
                repo.open_pr(rival.title, f"Fixes #{number}.", rival.login, diff=rival.diff)
            watch = BotProgress.over(world.bot, repo.id, number)
            evaluation = watch.wait(
                "verdict",
                watch.is_published,
                VERDICT_SECONDS,
                lambda: update(watch.progress() or "collecting", 0, 0),
            )
            published = _read_published(world, repo, number, evaluation, since)
        where = f"{repo.full_name}#{number}"
        terminal.show_comment(self.out, where, published.comment.author, published.comment.body)
        terminal.show_checks(self.out, published.checks)
        return watch, published

    def outcomes(self, watch: BotProgress, published: Published) -> tuple[OutcomeRow, ...]:
        """Merge one pull request, close the others, wait for the outcomes and show them."""
        *others, chosen = sorted(published.checks)
        with self._measure("outcomes"), self.steps.step("a maintainer merges one, closes the rest"):
            published.repo.merge(chosen, user=MAINTAINER, method="squash")
            for number in others:
                published.repo.close(number, user=MAINTAINER)
            wanted = {chosen, *others}
            rows = watch.wait(
                "outcome of every pull request",
                lambda: _select_settled(watch.outcome_rows(), wanted),
                OUTCOME_SECONDS,
                lambda: None,
            )
        terminal.show_outcomes(self.out, rows)
        return rows

    @contextmanager
    def _measure(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.timings[name] = time.monotonic() - started


def play(*, json_file: Path | None, keep: bool) -> int:
    """Play the demo; return 0 only if the bot published a verdict and recorded outcomes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the caller may ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    story = Story(Steps(Console(stderr=True)), Console())
    data = Path(tempfile.mkdtemp(prefix="r4p-demo-"))
    try:
        story.prepare()
        with story.world(data) as world:
            what = "one issue, four rival patches"
            watch, published = story.verdict(world, example.load(), "verdict", what)
            rows = story.outcomes(watch, published)
            what = "another issue, whose repository has tests"
            _, tested = story.verdict(world, tinydb_example.load(), "tests", what)
            story.ask_model()
            result = _result(story, world, published, rows) | {"with_tests": _describe(tested)}
            _summary(story, result)
            if json_file is not None:
                json_file.write_text(json.dumps(result, indent=2) + "\n")
            if keep:
                _linger(story, world)
    except FAILURES as error:
        story.steps.console.print(f"r4p: the demo failed: {error}", markup=False)
        story.steps.console.print(f"r4p: logs are kept in {data}", markup=False)
        return 1
    except KeyboardInterrupt:
        shutil.rmtree(data, ignore_errors=True)
        return 130
    shutil.rmtree(data, ignore_errors=True)
    return 0


def _read_published(
    world: DemoStage, repo: Repo, issue: int, evaluation: Evaluation, since: int
) -> Published:
    """Read the verdict from the stand-in; DemoFailed if something is missing."""
    calls = api_calls(world, since)
    comments = [c for c in repo.comments(issue) if c.author == f"{world.slug}[bot]"]
    if len(comments) != 1:
        raise DemoFailed(f"{len(comments)} comments on the issue, expected exactly one")
    has_votes = any(patch.votes.valid for patch in read_patches(evaluation.verdict))
    if _asks_a_model() and not has_votes:
        raise DemoFailed("no vote of the model could be read")
    checks = {}
    for candidate in evaluation.candidates:
        number = candidate.pull
        runs = [r for r in repo.check_runs(number) if r.name == "r4p/verdict"]
        if len(runs) != 1:
            raise DemoFailed(f"{len(runs)} check runs on #{number}, expected exactly one")
        checks[int(number)] = runs[0]
    return Published(repo, comments[0], checks, evaluation, calls)


def _choose_embedded(
    settings: EngineSettings, on_step: Callable[[str, int, int], None]
) -> EngineChoice:
    cache = settings.model_dir
    return EngineChoice("local_transformers", model=settings.model, cache=cache, on_step=on_step)


def _asks_a_model() -> bool:
    return load(EngineSettings).verifier not in catalog.ENGINELESS_VERIFIERS


def api_calls(world: DemoStage, since: int = 0) -> int:
    """Count the calls to GitHub's API, without git fetches and token requests."""
    operations = world.standin.calls(since).operations
    return sum(count for name, count in operations.items() if ".git" not in name)


def _select_settled(
    rows: tuple[OutcomeRow, ...], wanted: set[int]
) -> tuple[OutcomeRow, ...] | None:
    ends = {row.pull for row in rows if row.kind in SETTLED and row.permission is not None}
    return rows if wanted <= ends else None


def _result(
    story: Story, world: DemoStage, published: Published, rows: tuple[OutcomeRow, ...]
) -> dict[str, Json]:
    violations = world.standin.violations()
    if violations:
        raise DemoFailed(f"GitHub's schemas were violated {len(violations)} times: {violations[0]}")
    outcomes: list[Json] = [row.as_json() for row in rows]
    return {
        **_describe(published),
        "outcomes": outcomes,
        "timings": {name: round(seconds, 3) for name, seconds in story.timings.items()},
        "api_calls": {"verdict": published.calls, "total": api_calls(world)},
    }


def _describe(published: Published) -> dict[str, Json]:
    return {
        "issue_comment": published.comment.body,
        "check_runs": {str(number): asdict(run) for number, run in published.checks.items()},
        "verdict": published.evaluation.verdict,
    }


def _summary(story: Story, result: dict[str, Json]) -> None:
    seconds = ", ".join(f"{name} {taken:.0f} s" for name, taken in story.timings.items())
    lines = (
        f"\nTwo verdicts with {result['api_calls']['total']} API calls: {seconds}.",
        "`consensus` claims little, so unsure is the expected answer; tests that run say more.",
        "A model of 0.5B judges no better than a coin; the table shows only that the path works.",
        "Next: .venv/bin/r4p up --data var/r4p sets the bot up for your repositories.",
    )
    for line in lines:
        story.out.print(line, markup=False, highlight=False)


def _linger(story: Story, world: DemoStage) -> None:
    story.out.print(f"bot       {world.bot.operations_url}/readyz", markup=False)
    story.out.print(f"metrics   {world.bot.operations_url}/metrics", markup=False)
    story.out.print(
        f"stand-in  {world.standin.url}/api/v3/repos/{example.load().repository}", markup=False
    )
    story.out.print(f"database  {world.bot.services.database_url}", markup=False)
    story.out.print("Ctrl-C stops it.")
    sys.stdout.flush()
    try:
        while True:
            world.bot.check()
            time.sleep(1.0)
    except KeyboardInterrupt:
        return
