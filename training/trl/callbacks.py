"""Each step of a trainer becomes a line in its run's folder, and is told to who watches. Loads transformers."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from training.runs import run_folder
from training.runs.run_folder import Step
from training.trl.checkpoints import LOWER, Diverged

OnStep = Callable[[Step], None]
_NAMES = {
    "loss": "loss",
    "lr": "learning_rate",
    "reward": "reward",
    "reward_std": "reward_std",
    "entropy": "entropy",
    "clip_low": "clip_ratio/low_mean",
    "clip_high": "clip_ratio/high_mean",
    "format_valid": "format_valid",
}
"""Our names, and TRL's."""


class Watch(TrainerCallback):
    """Writes metrics.jsonl; stops a run whose gradient is no number before a checkpoint is made of it."""

    def __init__(self, folder: Path, on_step: OnStep) -> None:
        self._folder = folder
        self._on_step = on_step
        self._last = time.monotonic()
        self._tokens = 0.0
        self.steps = 0

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **_: Any,
    ) -> None:
        """Seconds count from here on, tokens from the checkpoint."""
        del args, control
        self._last = time.monotonic()
        self._tokens = float(state.num_input_tokens_seen)
        self.steps = state.global_step

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **told: Any,
    ) -> None:
        """Raises Diverged."""
        del args, control
        logs: Mapping[str, Any] = told["logs"]
        if "loss" not in logs:
            return
        now, self.steps = time.monotonic(), state.global_step
        seconds, self._last = now - self._last, now
        tokens = float(logs.get("num_tokens") or state.num_input_tokens_seen)
        drawn, self._tokens = tokens - self._tokens, tokens
        step = Step(
            step=state.global_step,
            of=state.max_steps,
            seconds=round(seconds, 4),
            tokens=int(tokens),
            tokens_per_second=round(drawn / seconds, 1) if seconds > 0 else None,
            not_finite=tuple(ours for ours, theirs in _NAMES.items() if _is_wild(logs.get(theirs))),
            **{ours: _number(logs.get(theirs)) for ours, theirs in _NAMES.items()},
        )
        if state.is_world_process_zero:
            with (self._folder / run_folder.METRICS).open("a") as file:
                file.write(run_folder.line(step))
            self._on_step(step)
        if step.loss is None or not math.isfinite(float(logs.get("grad_norm", 0.0))):
            raise Diverged(
                f"step {step.step} has the loss {logs['loss']} and the gradient {logs.get('grad_norm')}, {LOWER}"
            )


def _number(value: Any) -> float | None:
    return None if value is None or _is_wild(value) else float(value)


def _is_wild(value: Any) -> bool:
    return value is not None and not math.isfinite(float(value))
