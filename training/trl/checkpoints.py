"""Write and find complete checkpoints, although the process may be killed at any time. Loads transformers."""

import re
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from model.adapters import adapter_files
from training.runs import run_folder

LOWER_RATE_ADVICE = "so training stopped; a lower optimiser.learning_rate may help"
COMPLETE = "COMPLETE"
"""Marker file of a complete checkpoint. It holds the number of processes that wrote it."""
_REFERENCE = "ref"
"""TRL's name of the reference adapter when training continues an adapter."""
_NAME = re.compile(r"checkpoint-(\d+)")


class TrainingDiverged(RuntimeError):
    """The loss or the gradient is not finite, so further steps would destroy the weights."""


class CheckpointingTrainer(transformers.Trainer):
    """A mixin for TRL trainers that marks complete checkpoints and stops at a non-finite loss."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        # Sharded training: every process writes a part, so the marker has to wait for all of them.
        self.accelerator.wait_for_everyone()
        if self.is_world_process_zero():
            checkpoint = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
            mark_complete(checkpoint, self.accelerator.num_processes)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the trained adapter as well. With two adapters transformers loads only TRL's reference copy."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        # With two adapter folders transformers picks one by name, and "ref" would win over the trained adapter.
        if (Path(resume_from_checkpoint) / _REFERENCE / adapter_files.WEIGHTS).exists():
            into: Any = self.model if model is None else model
            into.load_adapter(resume_from_checkpoint, "default", is_trainable=True)

    def create_model_card(self, *_args: Any, **_named: Any) -> None:
        """Write no model card, because the files in the run's folder describe the model."""

    def training_step(self, *args: Any, **named: Any) -> torch.Tensor:
        """Train on one micro batch and return its loss.

        Raises TrainingDiverged in every process at once if the loss of any process is not finite.
        """
        loss: torch.Tensor = super().training_step(*args, **named)
        # The sum over processes is equal everywhere, so all raise together. A process that raised alone
        # would leave the others waiting in their next collective operation.
        spoilt = int(self.accelerator.reduce((~torch.isfinite(loss)).long(), "sum"))
        if spoilt:
            step, processes = self.state.global_step + 1, self.accelerator.num_processes
            where = f" in {spoilt} of {processes} processes" if processes > 1 else ""
            raise TrainingDiverged(
                f"the loss of step {step} is no number{where}, {LOWER_RATE_ADVICE}"
            )
        return loss


def mark_complete(checkpoint: Path, processes: int) -> None:
    """Flush a checkpoint's folder with its subfolders to disk, then mark it complete.

    `processes` is the number of processes that wrote it; the marker stores the number.
    """
    # Contents before marker: after a power failure a marker without its files would count as complete.
    for path in (*checkpoint.rglob("*"), checkpoint):
        run_folder.flush(path)
    run_folder.write_file(checkpoint / COMPLETE, f"{processes}\n")


def find_newest(folder: Path) -> tuple[Path, int] | None:
    """Return the last complete checkpoint in a run's folder and its step, or None. Incomplete ones are deleted."""
    checkpoints = [
        (path, int(match[1]))
        for path in folder.glob("checkpoint-*")
        if (match := _NAME.fullmatch(path.name))
    ]
    # transformers would resume from an incomplete checkpoint, because its name has the highest step.
    for path, _ in checkpoints:
        if not (path / COMPLETE).exists():
            shutil.rmtree(path)
    whole = [checkpoint for checkpoint in checkpoints if (checkpoint[0] / COMPLETE).exists()]
    return max(whole, key=lambda checkpoint: checkpoint[1], default=None)


def list_differences(folder: Path, processes: int) -> list[str]:
    """Return a list with a text if a resumed run would use another number of processes than before, else [].

    `processes` is the number now; the last checkpoint stores the number before. Another number samples other replies.
    """
    newest = find_newest(folder)
    # Checkpoints from before the count was stored have an empty marker.
    wrote = int((newest[0] / COMPLETE).read_text() or processes) if newest else processes
    return [] if wrote == processes else [f"processes were {wrote}, are {processes}"]
