"""Show the progress of a run: a bar in a terminal, a line for each step in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from model.commands.exit_codes import STDERR
from training.runs.run_folder import TrainingStep

OnStep = Callable[[TrainingStep], None]


def format_step(step: TrainingStep) -> str:
    """Return the metrics of a step in one line. Metrics that the method does not measure are omitted."""
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
    """Yield the function to call after each step of the run `name`."""
    if not console.is_terminal:
        yield lambda step: console.print(
            f"{name}: step {step.step} of {step.of}  {format_step(step)}",
            soft_wrap=True,
            highlight=False,
        )
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[told]}", markup=False),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(name, total=None, told="")
        yield lambda step: progress.update(
            task, total=step.of, completed=step.step, told=format_step(step)
        )
