"""`r4p train run`: train a model by a plan on a dataset, and write the run's folder."""

import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from model.commands.exit_codes import STDERR, Exit, stop
from model.errors import BadEngine, EngineDown
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

_Base = Annotated[
    str | None, typer.Option(help="Folder or name of the model to train, instead of the plan's.")
]
_Adapter = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Adapter of an earlier run on the same base, to continue from."
    ),
]
_Url = Annotated[
    str | None, typer.Option(help="Address of the plan's vLLM server, such as http://HOST:8000/v1.")
]
_Material = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File of agents' attempts or tasks, for plans that need one."
    ),
]


@app.command()
def run(  # noqa: PLR0913 - one parameter per option of the command
    plan: Annotated[str, typer.Argument(help="Name of a shipped plan, or a TOML file.")],
    data: Annotated[Path, typer.Option("--dataset", metavar="DIR", help="Folder of the dataset.")],
    folder: Annotated[Path, typer.Option("--run", metavar="DIR", help="Folder of the run.")],
    resume: Annotated[bool, typer.Option(help="Continue a run that was stopped.")] = False,
    base: _Base = None,
    adapter: _Adapter = None,
    engine_url: _Url = None,
    material: _Material = None,
    to_serve: Annotated[
        bool, typer.Option(help="Refuse a plan that cannot give a model that judges.")
    ] = False,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many steps.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write curves for TensorBoard.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a model by a plan."""
    try:
        wanted = _apply_options(plan_file.load_plan(plan), base, adapter, engine_url, max_steps)
        if to_serve:
            servable_plan.require_servable_plan(wanted, material)
        where = (data, folder, material)
        result = _train(wanted, where, resume=resume, tensorboard=tensorboard)
    except RunLocked as error:  # a temporary condition: a calling program tries again
        stop("train run", Exit.BACKEND_DOWN, str(error))
    except (BadPlan, BadRun, BadDataset, BadEngine) as error:
        stop("train run", Exit.USAGE, str(error))
    except EngineDown as error:
        stop("train run", Exit.BACKEND_DOWN, str(error))
    except OSError as error:  # a started run records its failure in its folder, so only an unwritable folder gets here
        stop("train run", Exit.USAGE, f"{folder} can't be written: {error}; {_ROOM}")
    if _is_first():
        sys.stdout.write(run_folder.format_json(result) if as_json else "")
        STDERR.print(_describe_result(result, folder))
    if result.status == RunStatus.FAILED:
        raise typer.Exit(FAILED)


def require_servable(arguments: Sequence[str]) -> None:
    """Raise BadPlan, or Typer's error, when `r4p train run` with these arguments cannot make a serving model."""
    given = typer.main.get_command(app).make_context("r4p train run", list(arguments)).params
    changes = (given[name] for name in ("base", "adapter", "engine_url", "max_steps"))
    servable_plan.require_servable_plan(
        _apply_options(plan_file.load_plan(given["plan"]), *changes), given["material"]
    )


def _apply_options(
    plan: TrainPlan, base: str | None, adapter: str | None, url: str | None, max_steps: int | None
) -> TrainPlan:
    return replace(
        plan,
        model=replace(
            plan.model, base=base or plan.model.base, adapter=adapter or plan.model.adapter
        ),
        rollout=replace(plan.rollout, url=url or plan.rollout.url),
        optimiser=replace(plan.optimiser, max_steps=max_steps or plan.optimiser.max_steps),
    )


def _train(
    plan: TrainPlan, where: tuple[Path, Path, Path | None], *, resume: bool, tensorboard: bool
) -> RunResult:
    data, folder, material = where
    STDERR.print(f"{plan.name}: {plan.about or plan.trainer.value}; loading {plan.model.base}")
    from training.trl import train as running

    _silence_libraries()
    with ExitStack() as stack:
        watchers = [stack.enter_context(progress.show_progress(plan.name))]
        if tensorboard:
            watchers.append(stack.enter_context(progress.write_to_tensorboard(folder)))

        def on_step(step: TrainingStep) -> None:
            for tell in watchers:
                tell(step)

        return running.train(running.TrainingJob(plan, data, folder, resume, material), on_step)


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
