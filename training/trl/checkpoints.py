"""Checkpoints that are whole or not there: a process may be killed while it writes one. Loads transformers."""

import re
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from model.adapters import adapter_files
from training.runs import run_folder

LOWER = "and going on would spoil it; a lower optimiser.learning_rate may help"
COMPLETE = "COMPLETE"
"""A file in a checkpoint that was written to its end: how many processes wrote it."""
_REFERENCE = "ref"
"""TRL's name of the adapter that a trainer is kept near to, where it goes on from one."""
_NAME = re.compile(r"checkpoint-(\d+)")


class Diverged(RuntimeError):
    """A loss or gradient that is no number: going on would only spoil the weights."""


class Complete(transformers.Trainer):
    """Before a trainer of TRL's: marks each checkpoint that is whole, and stops at a loss that is no number."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.is_world_process_zero():
            made = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
            mark(made, self.accelerator.num_processes)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """All of it: of two adapters transformers reads the one alone that has a folder, TRL's copy to compare with."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        if (Path(resume_from_checkpoint) / _REFERENCE / adapter_files.WEIGHTS).exists():
            into: Any = self.model if model is None else model
            into.load_adapter(resume_from_checkpoint, "default", is_trainable=True)

    def create_model_card(self, *_args: Any, **_named: Any) -> None:
        """None: the run's folder says of itself what it is."""

    def training_step(self, *args: Any, **named: Any) -> torch.Tensor:
        """One micro batch. Raises Diverged, in every process: one that stopped alone would leave the others waiting."""
        loss: torch.Tensor = super().training_step(*args, **named)
        spoilt = int(self.accelerator.reduce((~torch.isfinite(loss)).long(), "sum"))
        if spoilt:
            step, of = self.state.global_step + 1, self.accelerator.num_processes
            where = f" in {spoilt} of {of} processes" if of > 1 else ""
            raise Diverged(f"the loss of step {step} is no number{where}, {LOWER}")
        return loss


def mark(checkpoint: Path, processes: int) -> None:
    """Say that a checkpoint was written to its end, once it is on the disk; a sharded one has folders in it."""
    for path in (*checkpoint.rglob("*"), checkpoint):
        run_folder.flush(path)
    run_folder.write(checkpoint / COMPLETE, f"{processes}\n")


def newest(folder: Path) -> tuple[Path, int] | None:
    """The last whole checkpoint and its step; those that are not whole are removed."""
    found = [
        (path, int(match[1]))
        for path in folder.glob("checkpoint-*")
        if (match := _NAME.fullmatch(path.name))
    ]
    for path, _ in found:
        if not (path / COMPLETE).exists():
            shutil.rmtree(path)
    whole = [one for one in found if (one[0] / COMPLETE).exists()]
    return max(whole, key=lambda one: one[1], default=None)


def differences(folder: Path, processes: int) -> list[str]:
    """What the last checkpoint was written by and these processes are not: another number draws other replies."""
    found = newest(folder)
    wrote = int((found[0] / COMPLETE).read_text() or processes) if found else processes
    return [] if wrote == processes else [f"processes were {wrote}, are {processes}"]
