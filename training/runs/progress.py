"""Show the progress of a run: a bar in a terminal, a line for each step in a log, scalars in TensorBoard."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from model.commands.exit_codes import STDERR
from model.commands.extras import describe_installation
from training.plans.plan import BadPlan
from training.runs.run_folder import TrainingStep

OnStep = Callable[[TrainingStep], None]


def format_step(step: TrainingStep) -> str:
    """Return the metrics of an optimiser step as one line of text, without those that were not measured."""
    clipped = [share for share in (step.clip_low, step.clip_high) if share is not None]
    parts = (
        ("reward", step.reward, "{:.3f}"),
        ("loss", step.loss if step.reward is None else None, "{:.4f}"),
        ("entropy", step.entropy, "{:.3f}"),
        ("clipped", sum(clipped) if clipped else None, "{:.1%}"),
        ("readable", step.format_valid, "{:.0%}"),
        ("tokens/s", step.tokens_per_second, "{:,.0f}"),
    )
    return "  ".join(
        f"{name} {shown.format(value)}" for name, value, shown in parts if value is not None
    )


@contextmanager
def show_progress(name: str, console: Console = STDERR) -> Iterator[OnStep]:
    """Show the progress of the training run `name` on the console; yield the function to call after each step.

    A terminal shows a bar. Any other console gets a line for each step.
    """
    if not console.is_terminal:
        yield lambda step: console.print(
            f"{name}: step {step.step} of {step.planned_steps}  {format_step(step)}",
            soft_wrap=True,
            highlight=False,
        )
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[metrics]}", markup=False),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(name, total=None, metrics="")
        yield lambda step: progress.update(
            task, total=step.planned_steps, completed=step.step, metrics=format_step(step)
        )


if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

TENSORBOARD_FOLDER = "tensorboard"
"""Subfolder of the run, found by `tensorboard --logdir RUN`."""


@contextmanager
def write_to_tensorboard(run: Path) -> Iterator[OnStep]:
    """Write metrics for TensorBoard to the run's folder; yield the function to call after each step.

    The steps that a resumed run repeats replace the earlier ones. Raises BadPlan if TensorBoard is not installed.
    """
    if find_spec("tensorboard") is None:
        raise BadPlan(describe_installation(["tensorboard"], "train"))
    boards: list[SummaryWriter] = []
    try:
        yield lambda step: _add_step(boards, run / TENSORBOARD_FOLDER, step)
    finally:
        for board in boards:
            board.close()


def _add_step(boards: "list[SummaryWriter]", folder: Path, step: TrainingStep) -> None:
    from torch.utils.tensorboard import SummaryWriter

    if not boards:
        boards.append(SummaryWriter(str(folder), purge_step=step.step))
    for name, value in asdict(step).items():
        if value is not None and name not in {"step", "planned_steps", "not_finite"}:
            boards[0].add_scalar(f"r4p/{name}", value, step.step)
    boards[0].flush()
