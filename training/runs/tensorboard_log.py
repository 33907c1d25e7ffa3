"""Write the metrics of each step for TensorBoard."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from model.commands.extras import describe_installation
from training.plans.plan import BadPlan
from training.runs.progress import OnStep
from training.runs.run_folder import TrainingStep

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

TENSORBOARD_FOLDER = "tensorboard"
"""Subfolder of the run, found by `tensorboard --logdir RUN`."""


@contextmanager
def write_to_tensorboard(run: Path) -> Iterator[OnStep]:
    """Yield the function to call after each step. Repeated steps replace the earlier ones.

    Raises BadPlan if TensorBoard is not installed.
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
        if value is not None and name not in {"step", "of", "not_finite"}:
            boards[0].add_scalar(f"r4p/{name}", value, step.step)
    boards[0].flush()
