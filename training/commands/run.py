"""`r4p train run`: train a model by a plan on a dataset, and write the run's folder."""

import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer
from typer import Argument, Option

from model.commands.exit_codes import STDERR, Exit, exit_on_error, stop
from model.commands.options import accept_options
from training.datasets.dataset import BadDataset
from training.plans import plan_file
from training.plans.plan import BadPlan, TrainPlan
from training.runs import progress, run_folder
from training.runs.run_folder import BadRun, RunResult, RunStatus, TrainingStep
from training.runs.run_lock import RunLocked
from training.trl import servable_plan

FAILED: Final = 1
"""Exit code: the run started and failed. `result.json` has the reason."""
_ROOM: Final = "name a folder that can, or make room and go on with --resume"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of `r4p train run`."""

    plan: Annotated[str, Argument(help="Name of a shipped plan, or a TOML file.")]
    dataset: Annotated[Path, Option(metavar="DIR", help="Folder of the dataset.")]
    run: Annotated[Path, Option(metavar="DIR", help="Folder of the run.")]
    resume: Annotated[bool, Option(help="Continue a run that was stopped.")] = False
    base: Annotated[
        str | None, Option(help="Folder or name of the model to train, instead of the plan's.")
    ] = None
    adapter: Annotated[
        str | None,
        Option(metavar="DIR", help="Adapter of an earlier run on the same base, to continue from."),
    ] = None
    engine_url: Annotated[
        str | None, Option(help="Address of the plan's vLLM server, such as http://HOST:8000/v1.")
    ] = None
    material: Annotated[
        Path | None,
        Option(metavar="FILE", help="File of attempts, tasks or fixes, for plans that need one."),
    ] = None
    to_serve: Annotated[
        bool, Option(help="Refuse a plan that cannot give a model that judges.")
    ] = False
    max_steps: Annotated[int | None, Option(min=1, help="Stop after this many steps.")] = None
    tensorboard: Annotated[bool, Option(help="Write curves for TensorBoard.")] = False
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False

    def load_plan(self) -> TrainPlan:
        """Return the training plan that `plan` names, with the changes of the other options. Raises BadPlan."""
        plan = plan_file.load_plan(self.plan)
        base, adapter = self.base or plan.model.base, self.adapter or plan.model.adapter
        return replace(
            plan,
            model=replace(plan.model, base=base, adapter=adapter),
            rollout=replace(plan.rollout, url=self.engine_url or plan.rollout.url),
            optimiser=replace(plan.optimiser, max_steps=self.max_steps or plan.optimiser.max_steps),
        )

    def require_servable_plan(self) -> None:
        """Raise BadPlan when a training by these options cannot give a model that judges in the bot."""
        servable_plan.require_servable_plan(self.load_plan(), self.material)


@app.command()
@accept_options(RunOptions)
def run(options: RunOptions) -> None:
    """Train a model by a plan on a dataset, and write the run's folder."""
    folder = options.run
    with exit_on_error("train run", BadPlan, BadRun, BadDataset):
        try:
            if options.to_serve:
                options.require_servable_plan()
            result = _train(options)
        except RunLocked as error:  # a temporary condition: a calling program tries again
            stop("train run", Exit.BACKEND_DOWN, str(error))
        except OSError as error:  # a started run records its failure in its folder, so only an unwritable folder gets here
            stop("train run", Exit.USAGE, f"{folder} can't be written: {error}; {_ROOM}")
    if _is_first():
        sys.stdout.write(run_folder.format_json(result) if options.as_json else "")
        STDERR.print(_describe_result(result, folder))
    if result.status == RunStatus.FAILED:
        raise typer.Exit(FAILED)


def require_servable(arguments: Sequence[str]) -> None:
    """Raise BadPlan, or typer's error, when `r4p train run` with these arguments cannot give a model that judges."""
    command = typer.main.get_command(app)
    RunOptions(
        **command.make_context("r4p train run", list(arguments)).params
    ).require_servable_plan()


def _train(options: RunOptions) -> RunResult:
    plan = options.load_plan()
    STDERR.print(f"{plan.name}: {plan.about or plan.trainer.value}; loading {plan.model.base}")
    from training.trl import train as running

    _silence_libraries()
    with ExitStack() as stack:
        watchers = [stack.enter_context(progress.show_progress(plan.name))]
        if options.tensorboard:
            watchers.append(stack.enter_context(progress.write_to_tensorboard(options.run)))

        def on_step(step: TrainingStep) -> None:
            for tell in watchers:
                tell(step)

        job = running.TrainingJob(
            plan, options.dataset, options.run, options.resume, options.material
        )
        return running.train(job, on_step)


def _is_first() -> bool:
    """Whether this is the main process. Only the main process prints."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def _silence_libraries() -> None:
    """Silence messages of libraries that do not concern the user."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    warnings.filterwarnings("ignore", message="You are using 'rollout_func'")


def _describe_result(result: RunResult, folder: Path) -> str:
    if result.status == RunStatus.FAILED:
        return f"{result.plan} failed after {result.steps} steps: {result.why}"
    since = "" if result.resumed_from is None else f", resumed from step {result.resumed_from}"
    return f"{result.plan}: {result.steps} steps in {result.seconds:.0f} s{since}; {folder}"
