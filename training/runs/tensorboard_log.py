"""The same numbers for TensorBoard, for those who watch many runs there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from model.commands.extras import advice
from training.plans.plan import BadPlan
from training.runs.progress import OnStep
from training.runs.run_folder import Step

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
"""Of a run's folder: `tensorboard --logdir RUN` finds it."""


@contextmanager
def written(run: Path) -> Iterator[OnStep]:
    """What to call after each step. Steps that are taken again after a crash replace those before.

    Raises BadPlan where TensorBoard is not installed.
    """
    if find_spec("tensorboard") is None:
        raise BadPlan(advice(["tensorboard"], "train"))
    boards: list[SummaryWriter] = []
    try:
        yield lambda step: _add(boards, run / FOLDER, step)
    finally:
        for board in boards:
            board.close()


def _add(boards: "list[SummaryWriter]", folder: Path, step: Step) -> None:
    from torch.utils.tensorboard import SummaryWriter

    if not boards:
        boards.append(SummaryWriter(str(folder), purge_step=step.step))
    for name, value in asdict(step).items():
        if value is not None and name not in {"step", "of", "not_finite"}:
            boards[0].add_scalar(f"r4p/{name}", value, step.step)
    boards[0].flush()
