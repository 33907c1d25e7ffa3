"""`r4p gym`: build gyms from git histories, show them and check them."""

import shutil
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from model import typed_json
from model.commands.execution.gym_run import app
from model.commands.exit_codes import Exit, exit_on_error, format_count, print_json, stop, warn
from model.commands.options import AsJson, accept_options
from model.commands.output import show_progress
from model.environments.environment_cache import DEFAULT_CACHE
from model.errors import BadGym, GitFailed
from model.gyms.gym_folder import Gym, read_gym
from model.gyms.gym_task import GymTask, TestsFrom
from model.prompts.untrusted import escape_invisible
from model.sandbox.walls import NoSandbox
from training.commands.import_swebench import import_swebench
from training.gym import build, sample, validation
from training.gym.commit_change import BuildSettings
from training.gym.commits import history
from training.gym.commits.commit_limits import PAPER_LIMITS, SIZE_LIMITS
from training.gym.environment_search import EnvironmentShelf, list_pythons
from training.gym.gym_check import find_problems
from training.gym.harbor_export import export_harbor

__all__ = ["app"]
_BUILD = "gym build"

app.command("import-swebench")(import_swebench)


class LimitChoice(StrEnum):
    """Which limits a commit must keep."""

    PAPER = "paper"
    SIZE = "size"


class TestsChoice(StrEnum):
    """Which commits give tasks."""

    COMMIT = "commit"
    GENERATED = "generated"


@dataclass(frozen=True, kw_only=True)
class GymBuildOptions:
    """Options of `r4p gym build`."""

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


@app.command("build")
@accept_options(GymBuildOptions)
def build_gym(options: GymBuildOptions) -> None:
    """Build a gym from the history of a git repository. The code of its commits runs in a sandbox without a network.

    A commit gives a task if a test fails before it and passes after it, in every run.

    Exit codes: 0 written, 2 usage, 5 no sandbox.
    """
    with exit_on_error(_BUILD, BadGym, GitFailed):
        if options.out.exists():
            raise BadGym(f"--out {options.out} exists already; name a folder to create")
        settings = options.build_settings()
        commits = history.read_commits(
            settings.repository, options.revision, options.since, options.until
        )
        settings = replace(settings, history=tuple(commits))
        begin = time.monotonic()
        with show_progress(len(commits)) as (say, advance):
            say("0 tasks")

            def tell(done: int, tasks: int) -> None:
                advance(done)
                say(format_count(tasks, "task"))

            try:
                built = build.build_tasks(
                    settings, commits, parallel=options.parallel, on_commit=tell
                )
            except NoSandbox as error:
                stop(_BUILD, Exit.BACKEND_DOWN, str(error))
        manifest = build.save_gym(options.out, options.out.name, settings.repository, built)
    for reason, count in built.refusals.most_common():
        warn(_BUILD, f"{count:,} commits refused: {reason}")
    warn(
        _BUILD,
        f"{format_count(manifest.tasks, 'task')} of {format_count(len(commits), 'commit')} in "
        f"{format_count(len(built.environments), 'environment')}, "
        f"{time.monotonic() - begin:.0f} s",
    )


@app.command("sample")
def copy_sample(
    out: Annotated[Path, Option(metavar="GYM", help="Folder to create.")],
) -> None:
    """Write the small gym that comes with R4P bot, with tasks of TinyDB. Exit codes: 0 written, 2 usage."""
    if out.exists():
        stop("gym sample", Exit.USAGE, f"--out {out} exists already; name a folder to create")
    source = Path(sample.__file__).parent
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    warn("gym sample", f"{format_count(len(read_gym(out).tasks), 'task')} written to {out}")


@app.command()
def show(
    gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")],
    task: Annotated[str | None, Option(metavar="ID", help="Show one task in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a gym holds, or one task with its statement and patches. Exit codes: 0 shown, 2 usage."""
    with exit_on_error("gym show", BadGym):
        opened = read_gym(gym)
        chosen = [item for item in opened.tasks if task in {None, item.id}]
        if not chosen and task is not None:
            raise BadGym(f"{gym} has no task {task}; `r4p gym show {gym}` lists them")
    if as_json:
        documents = [typed_json.dump(item) for item in chosen]
        print_json(typed_json.dump(opened.manifest) if task is None else documents[0])
    elif task is None:
        _show_tasks(opened)
    else:
        _show_task(chosen[0])


def _show_tasks(gym: Gym) -> None:
    out = Console(highlight=False, markup=False)
    table = Table(
        "task", "fail to pass", "pass to pass", "candidates", "environment", box=SIMPLE_HEAD
    )
    for task in gym.tasks:
        counts = (len(task.fail_to_pass), len(task.pass_to_pass), len(task.candidates))
        table.add_row(task.id, *(f"{count:,}" for count in counts), task.environment)
    out.print(table)
    for reason, count in sorted(gym.manifest.refusals.items(), key=lambda item: -item[1]):
        out.print(escape_invisible(f"{count:,} commits refused: {reason}"))


def _show_task(task: GymTask) -> None:
    out = Console(highlight=False, markup=False, soft_wrap=True)
    out.print(escape_invisible(f"{task.id} ({task.repository}, {task.licence}, {task.created})\n"))
    for title, text in (
        ("statement", task.statement),
        ("true patch", task.patch),
        ("minimal patch", task.minimal_patch or "nobody looked for it"),
        ("tests", task.test_patch),
        ("fail to pass", "\n".join(task.fail_to_pass)),
    ):
        out.print(escape_invisible(f"== {title}\n{text}"))


@app.command()
def check(gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")]) -> None:
    """Check a gym: its files, whether each diff applies to its tree, and whether a statement gives the solution away.

    No test runs. Exit codes: 0 sound, 2 usage, 3 a task is wrong.
    """
    with exit_on_error("gym check", BadGym):
        opened = read_gym(gym)
        with show_progress(len(opened.tasks)) as (_, advance):
            problems = list(find_problems(opened, advance))
    for problem in problems:
        warn("gym check", problem)
    if problems:
        raise typer.Exit(Exit.NONE_CORRECT)
    warn("gym check", f"{format_count(len(opened.tasks), 'sound task')}")


@app.command()
def export(
    gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")],
    harbor: Annotated[
        Path, Option(metavar="DIR", help="Folder to create, with a Harbor task each.")
    ],
) -> None:
    """Write the tasks of a gym for other tools. Exit codes: 0 written, 2 usage."""
    with exit_on_error("gym export", BadGym):
        count = export_harbor(read_gym(gym), harbor)
    warn("gym export", f"{format_count(count, 'Harbor task')} written to {harbor}")
