"""Record each training step in the run's folder and report it. Loads transformers."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from training.runs import run_folder
from training.runs.run_folder import TrainingStep
from training.trl.checkpoints import LOWER_RATE_ADVICE, TrainingDiverged

OnStep = Callable[[TrainingStep], None]
_TRL_NAMES = {
    "loss": "loss",
    "lr": "learning_rate",
    "reward": "reward",
    "reward_std": "reward_std",
    "entropy": "entropy",
    "clip_low": "clip_ratio/low_mean",
    "clip_high": "clip_ratio/high_mean",
    "format_valid": "format_valid",
}
"""Our metric names and TRL's."""


class MetricsCallback(TrainerCallback):
    """Callback that writes each step to metrics.jsonl.

    It stops a run with a non-finite gradient before the next checkpoint.
    """

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
        """Start the clock of the first step, and its token count where the resumed checkpoint ended."""
        del args, control
        self._last = time.monotonic()
        # A resumed run continues its token count, so the first step must not count them all.
        self._tokens = float(state.num_input_tokens_seen)
        self.steps = state.global_step

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Append the metrics of a step to metrics.jsonl and report them to `on_step`, in the main process.

        Raises TrainingDiverged for a non-finite loss or gradient.
        """
        del args, control
        logs: Mapping[str, Any] = kwargs["logs"]
        # TRL also logs a summary at the end of training, without a loss.
        if "loss" not in logs:
            return
        now, self.steps = time.monotonic(), state.global_step
        seconds, self._last = now - self._last, now
        # GRPO reports its own count, which includes sampled tokens. Other trainers have the state's count only.
        tokens = float(logs.get("num_tokens") or state.num_input_tokens_seen)
        new_tokens, self._tokens = tokens - self._tokens, tokens
        step = TrainingStep(
            step=state.global_step,
            planned_steps=state.max_steps,
            seconds=round(seconds, 4),
            tokens=int(tokens),
            tokens_per_second=round(new_tokens / seconds, 1) if seconds > 0 else None,
            # JSON has no NaN: the value becomes None and its name is listed instead.
            not_finite=tuple(
                name for name, key in _TRL_NAMES.items() if _is_not_finite(logs.get(key))
            ),
            **{name: _to_number(logs.get(key)) for name, key in _TRL_NAMES.items()},
        )
        # All processes get the logs. Only one may append to the shared file.
        if state.is_world_process_zero:
            with (self._folder / run_folder.METRICS).open("a") as file:
                file.write(run_folder.format_step_json(step))
            self._on_step(step)
        # The loss may be finite while its gradient is not. Checked after writing, so the step stays on record.
        if step.loss is None or not math.isfinite(float(logs.get("grad_norm", 0.0))):
            raise TrainingDiverged(
                f"step {step.step} has the loss {logs['loss']} and the gradient {logs.get('grad_norm')}, {LOWER_RATE_ADVICE}"
            )


def _to_number(value: Any) -> float | None:
    return None if value is None or _is_not_finite(value) else float(value)


def _is_not_finite(value: Any) -> bool:
    return value is not None and not math.isfinite(float(value))
