"""`r4p gym build`: build a gym from the history of a git repository."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from model import catalog
from model.catalog import EngineChoice
from model.commands.exit_codes import Exit, exit_on_error, format_count, stop, warn
from model.commands.options import EngineOptions, accept_options
from model.commands.output import report_loading, show_progress
from model.environments.environment_cache import DEFAULT_CACHE
from model.errors import BadEngine, BadGym, GitFailed
from model.gyms.gym_task import GymStatements, TestsFrom
from model.sandbox.walls import NoSandbox
from training.gym import build, validation
from training.gym.back_translation.issue_writer import IssueWriter
from training.gym.build import BuiltGym
from training.gym.commit_change import BuildSettings
from training.gym.commits import history
from training.gym.commits.commit_limits import PAPER_LIMITS, SIZE_LIMITS
from training.gym.environment_search import EnvironmentShelf, list_pythons

_BUILD = "gym build"


class LimitChoice(StrEnum):
    """Which limits a commit must keep."""

    PAPER = "paper"
    SIZE = "size"


class TestsChoice(StrEnum):
    """Which commits give tasks."""

    COMMIT = "commit"
    GENERATED = "generated"


@dataclass(frozen=True, kw_only=True)
class GymBuildOptions(EngineOptions):
    """Options of `r4p gym build`. With an engine, its model writes the statements."""

    git: Annotated[Path, Option("--git", metavar="DIR", help="Git repository with the history.")]
    out: Annotated[Path, Option(metavar="GYM", help="Folder to create.")]
    repository: Annotated[
        str | None, Option(metavar="OWNER/NAME", help="Its name; the folder's name by default.")
    ] = None
    revision: Annotated[str, Option(help="Branch or commit with which the history ends.")] = "HEAD"
    since: Annotated[str | None, Option(metavar="DATE", help="First day, as in 2020-01-01.")] = None
    until: Annotated[str | None, Option(metavar="DATE", help="Last day.")] = None
    limits: Annotated[
        LimitChoice,
        Option(help="`paper`: all limits of R2E-Gym; `size`: those of files and lines only."),
    ] = LimitChoice.PAPER
    tests: Annotated[
        TestsChoice,
        Option(help="`commit`: of commits with tests; `generated`: of the others, with new tests."),
    ] = TestsChoice.COMMIT
    licence: Annotated[
        str | None, Option(metavar="SPDX", help="Licence; read from its text by default.")
    ] = None
    environments: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of test environments.")
    ] = None
    runs: Annotated[
        int,
        Option(min=1, max=9, help="Runs before and after each commit, to leave flaky tests out."),
    ] = validation.RUNS
    seconds: Annotated[
        float, Option(min=1, help="Processor time that one run of the tests may take.")
    ] = 60.0
    suite: Annotated[
        bool, Option(help="Run all tests once for pass-to-pass, not only the changed modules.")
    ] = True
    candidates: Annotated[
        bool, Option(help="Look for wrong candidates and for the minimal patch of each task.")
    ] = True
    parallel: Annotated[int | None, Option(min=1, help="Commits at the same time.")] = None

    def build_settings(self) -> BuildSettings:
        """Return the settings of the build. Raises BadGym."""
        repository = history.locate_repository(self.git)
        name = self.repository or self.git.absolute().name.removesuffix(".git")
        return BuildSettings(
            repository,
            name,
            self.licence or build.detect_licence(repository, self.revision),
            PAPER_LIMITS if self.limits is LimitChoice.PAPER else SIZE_LIMITS,
            EnvironmentShelf(self.environments or Path.home() / DEFAULT_CACHE),
            list_pythons(),
            self.runs,
            self.seconds,
            has_suite=self.suite,
            has_candidates=self.candidates,
            tests_from=TestsFrom(self.tests),
        )

    def choose_writer(self) -> EngineChoice | None:
        """Return the engine that writes the statements, or None without one. Raises BadEngine."""
        if any((self.engine, self.engine_url, self.model, self.api_key_file, self.script)):
            return self.choose_engine()
        if self.cache:
            raise BadEngine(
                "--cache does nothing without an engine; name a --model, or leave it out"
            )
        return None


@accept_options(GymBuildOptions)
def build_gym(options: GymBuildOptions) -> None:
    """Build a gym from the history of a git repository. The code of its commits runs in a sandbox without a network.

    A commit gives a task if a test fails before it and passes after it, in every run. With an engine, its model gets
    the message, the diffs and the failing tests of each such commit, and writes the issue.

    Exit codes: 0 written, 2 usage, 5 no sandbox or no engine.
    """
    with exit_on_error(_BUILD, BadGym, GitFailed):
        if options.out.exists():
            raise BadGym(f"--out {options.out} exists already; name a folder to create")
        choice = options.choose_writer()
        settings = options.build_settings()
        commits = history.read_commits(
            settings.repository,
            options.revision,
            _check_date("--since", options.since),
            _check_date("--until", options.until),
        )
        settings = replace(settings, history=tuple(commits))
        begin = time.monotonic()
        try:
            built = _build_tasks(settings, choice, options.parallel)
        except NoSandbox as error:
            stop(_BUILD, Exit.BACKEND_DOWN, str(error))
        build.save_gym(options.out, options.out.name, settings.repository, built)
    for reason, count in built.refusals.most_common():
        warn(_BUILD, f"{count:,} commits refused: {reason}")
    for line in describe_statements(built.statements):
        warn(_BUILD, line)
    warn(
        _BUILD,
        f"{format_count(len(built.tasks), 'task')} of {format_count(len(commits), 'commit')} in "
        f"{format_count(len(built.environments), 'environment')}, "
        f"{time.monotonic() - begin:.0f} s",
    )


def _check_date(option: str, value: str | None) -> str | None:
    """Return an ISO date or time as it is. Raises BadGym for others: git reads `yesterday` too, and the gym would change each day."""
    if value is not None:
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise BadGym(f"{option} {value} is no date: write it as in 2020-01-01") from error
    return value


def _build_tasks(
    settings: BuildSettings, choice: EngineChoice | None, parallel: int | None
) -> BuiltGym:
    """Build the tasks of all commits of the history, and show the progress. Raises EngineDown and NoSandbox."""
    commits = list(settings.history)
    with show_progress(len(commits)) as (say, advance):

        def tell(done: int, tasks: int) -> None:
            advance(done)
            say(format_count(tasks, "task"))

        with _open_writer(choice, say) as writer:
            say("0 tasks")
            settings = replace(settings, issue_writer=writer)
            return build.build_tasks(settings, commits, parallel=parallel, on_commit=tell)


@contextmanager
def _open_writer(
    choice: EngineChoice | None, say: Callable[[str], None]
) -> Iterator[IssueWriter | None]:
    """Yield what writes the issues of commits; None without an engine. Raises EngineDown."""
    if choice is None:
        yield None
        return
    with closing(catalog.load_engine(report_loading(choice, say))) as engine:
        yield IssueWriter(engine)


def describe_statements(statements: GymStatements | None) -> Iterator[str]:
    """Yield a line about the statements of a model, and one for each reason why others come from the tests.

    Yields nothing where no model was to be asked.
    """
    if statements is None:
        return
    yield f"{format_count(statements.by_model, 'statement')} written by {statements.model}"
    for reason, count in sorted(statements.from_tests.items(), key=lambda item: -item[1]):
        yield f"{format_count(count, 'statement')} written from the tests: {reason}"
