"""`r4p train run`: trains by a plan on a dataset, shows how it goes, and leaves a run's folder."""

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
from training.runs import progress, run_folder, tensorboard_log
from training.runs.run_folder import BadRun, Result, Status, Step
from training.runs.run_lock import Busy
from training.trl import servable_plan

FAILED: Final = 1
"""Exit code: the run began, and failed; `result.json` says why."""
_ROOM: Final = "name a folder that can, or make room and go on with --resume"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_Base = Annotated[
    str | None, typer.Option(help="Train this model instead of the plan's: a directory or a name.")
]
_Adapter = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Go on training this adapter of a run on the same base."),
]
_Url = Annotated[
    str | None, typer.Option(help="Where the plan's vLLM server is, as in http://HOST:8000/v1.")
]
_Material = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What the plan learns from besides groups: agents' attempts, or tasks."
    ),
]


@app.command()
def run(  # noqa: PLR0913 - one for each option
    plan: Annotated[str, typer.Argument(help="A plan's name, or its TOML file.")],
    data: Annotated[Path, typer.Option("--dataset", metavar="DIR", help="A dataset's folder.")],
    folder: Annotated[Path, typer.Option("--run", metavar="DIR", help="The run's folder.")],
    resume: Annotated[bool, typer.Option(help="Go on where a run was stopped, if it was.")] = False,
    base: _Base = None,
    adapter: _Adapter = None,
    engine_url: _Url = None,
    material: _Material = None,
    to_serve: Annotated[
        bool, typer.Option(help="Refuse a plan of which nothing could come that judges.")
    ] = False,
    max_steps: Annotated[int | None, typer.Option(min=1, help="Stop after so many steps.")] = None,
    tensorboard: Annotated[bool, typer.Option(help="Write curves for TensorBoard.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result on standard output.")] = False,
) -> None:
    """Train a model by a plan."""
    try:
        wanted = _changed(plan_file.load(plan), base, adapter, engine_url, max_steps)
        if to_serve:
            servable_plan.require(wanted, material)
        where = (data, folder, material)
        found = _run(wanted, where, resume=resume, tensorboard=tensorboard)
    except Busy as error:  # for now: who is asked by a program comes back
        stop("train run", Exit.BACKEND_DOWN, str(error))
    except (BadPlan, BadRun, BadDataset, BadEngine) as error:
        stop("train run", Exit.USAGE, str(error))
    except EngineDown as error:
        stop("train run", Exit.BACKEND_DOWN, str(error))
    except OSError as error:  # what ends a run that has begun stands in its folder, unless it can't be written there
        stop("train run", Exit.USAGE, f"{folder} can't be written: {error}; {_ROOM}")
    if _is_first():
        sys.stdout.write(run_folder.as_json(found) if as_json else "")
        STDERR.print(_told(found, folder))
    if found.status == Status.FAILED:
        raise typer.Exit(FAILED)


def require_servable(arguments: Sequence[str]) -> None:
    """Raises BadPlan, or what Typer does, where `r4p train run` with these arguments could never make what judges."""
    given = typer.main.get_command(app).make_context("r4p train run", list(arguments)).params
    told = (given[name] for name in ("base", "adapter", "engine_url", "max_steps"))
    servable_plan.require(_changed(plan_file.load(given["plan"]), *told), given["material"])


def _changed(
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


def _run(
    plan: TrainPlan, where: tuple[Path, Path, Path | None], *, resume: bool, tensorboard: bool
) -> Result:
    data, folder, material = where
    STDERR.print(f"{plan.name}: {plan.about or plan.trainer.value}; loading {plan.model.base}")
    from training.trl import train as running

    _quiet()
    with ExitStack() as stack:
        watchers = [stack.enter_context(progress.shown(plan.name))]
        if tensorboard:
            watchers.append(stack.enter_context(tensorboard_log.written(folder)))

        def on_step(step: Step) -> None:
            for tell in watchers:
                tell(step)

        return running.run(running.Job(plan, data, folder, resume, material), on_step)


def _is_first() -> bool:
    """Of several processes that train together, one speaks."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def _quiet() -> None:
    """What libraries say of their own making is nothing for who watches a run."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    warnings.filterwarnings("ignore", message="You are using 'rollout_func'")


def _told(result: Result, folder: Path) -> str:
    if result.status == Status.FAILED:
        return f"{result.plan} failed after {result.steps} steps: {result.why}"
    since = "" if result.resumed_from is None else f", resumed from step {result.resumed_from}"
    return f"{result.plan}: {result.steps} steps in {result.seconds:.0f} s{since}; {folder}"
