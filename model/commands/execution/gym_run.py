"""`r4p gym run` runs the tests of a gym's tasks on their candidates, and records what they show."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from model import catalog
from model.catalog import EngineChoice
from model.commands.exit_codes import STDERR, Exit, exit_on_error, format_count, print_json, stop
from model.commands.options import EngineOptions, SuiteOptions, accept_options, open_cache
from model.commands.output import report_loading, show_progress
from model.environments.build import build_environment
from model.errors import BadEngine, BadGym, BadRecipe, BadSuiteCommand, NoEnvironment
from model.evaluation.gyms.gym_groups import list_candidates
from model.evaluation.gyms.gym_reproduction import WriteTests
from model.evaluation.gyms.gym_run import GymRunPlan, run_gym, summarise_run
from model.execution import evidence_record
from model.execution.suite_command import parse_command
from model.gyms.gym_folder import Gym, open_trees, read_gym
from model.reproduction.test_writing import WritingLimits, write_tests
from model.sandbox.walls import NoSandbox

_RUN = "gym run"

app = typer.Typer(
    name="r4p gym",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
"""The commands of `r4p gym`. `training` adds those that build gyms."""


@app.callback()
def _list_commands() -> None:
    """Gyms: issues with their base trees, true patches and tests."""


@dataclass(frozen=True, kw_only=True)
class GymRunOptions(SuiteOptions, EngineOptions):
    """Options of `r4p gym run`."""

    gym: Annotated[Path, Option(metavar="DIR", help="The folder of the gym.")]
    out: Annotated[Path, Option(metavar="FILE.jsonl", help="The record to write, or to continue.")]
    command: Annotated[
        str | None,
        Option(metavar="COMMAND", help="The regression tests; each task's own by default."),
    ] = None
    parallel: Annotated[
        int | None, Option(min=1, help="Tasks at the same time; one for each core by default.")
    ] = None
    limit: Annotated[int | None, Option(min=1, help="Number of tasks, the first by id.")] = None
    tests: Annotated[
        int, Option(min=0, help="Reproduction tests that a model writes for each task.")
    ] = 0
    json_output: Annotated[bool, Option("--json", help="Print counts as JSON.")] = False

    def choose_writer(self) -> EngineChoice | None:
        """Return the engine that writes reproduction tests, or None without `--tests`. Raises BadEngine."""
        given = (self.engine, self.engine_url, self.model, self.api_key_file, self.script)
        if self.tests:
            return self.choose_engine()
        if any(given):
            raise BadEngine("an engine writes tests only with --tests; give their number")
        return None


@app.command("run")
@accept_options(GymRunOptions)
def run(options: GymRunOptions) -> None:
    """Run the regression and fail-to-pass tests of every candidate in a gym, and record the outcomes.

    A second run continues the record. Missing test environments are built first, which needs a network.

    Exit codes: 0 recorded, 2 usage, 5 no sandbox.
    """
    with exit_on_error(_RUN, BadGym, BadSuiteCommand, BadRecipe, NoEnvironment):
        choice = options.choose_writer()
        gym = read_gym(options.gym)
        gym = replace(gym, tasks=gym.tasks[: options.limit])
        if options.command is not None:
            parse_command(options.command)
        candidates = sum(len(list_candidates(task)) for task in gym.tasks)
        try:
            _run(options, choice, gym, candidates)
        except NoSandbox as error:
            stop(_RUN, Exit.BACKEND_DOWN, str(error))
        counts = summarise_run(evidence_record.read_records(options.out))
    if options.json_output:
        print_json(counts)
    else:
        STDERR.print(
            f"{options.out}: {format_count(counts['candidates'], 'candidate')} of "
            f"{format_count(counts['tasks'], 'task')}, {counts['unknown']} unknown"
        )
        if written := counts.get("written"):
            STDERR.print(
                "written tests: " + ", ".join(f"{n} {what}" for what, n in written.items())
            )


def _run(options: GymRunOptions, choice: EngineChoice | None, gym: Gym, candidates: int) -> None:
    with show_progress(candidates) as (say, advance):
        say("preparing")
        interpreters = _find_interpreters(options, gym)
        plan = GymRunPlan(
            find_python=interpreters.get,
            command=options.command,
            base_runs=options.base_runs,
            seconds=options.seconds,
            parallel=options.parallel or os.cpu_count() or 1,
        )
        with (
            _open_writer(options, choice, say) as write,
            open_trees(gym) as trees,
            evidence_record.open_record(options.out) as file,
        ):
            say("candidates")
            run_gym(gym, trees, replace(plan, write_tests=write), file, advance)


@contextmanager
def _open_writer(
    options: GymRunOptions, choice: EngineChoice | None, say: Callable[[str], None]
) -> Iterator[WriteTests | None]:
    """Yield what writes the reproduction tests of a task; None without an engine. Raises EngineDown."""
    if choice is None:
        yield None
        return
    limits = WritingLimits(options.tests)
    with closing(catalog.load_engine(report_loading(choice, say))) as engine:
        yield lambda issue, tree: write_tests(engine, issue, tree, limits=limits)


def _find_interpreters(options: GymRunOptions, gym: Gym) -> dict[str, Path]:
    """Return the interpreter of each test environment that a task names. Builds what is missing."""
    names = {task.environment for task in gym.tasks}
    # The command does not matter: parsing checks the options, and finds the environment.
    if python := options.parse_command("pytest").python:
        return dict.fromkeys(names, python)
    folder = open_cache(options.environments).folder
    return {
        name: build_environment(gym.environments[name], folder).python for name in sorted(names)
    }
