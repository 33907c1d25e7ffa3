"""`r4p train` in which the second process alone has a loss that is no number; run as a program, by test_grpo."""

import math
import warnings
from typing import Any

import transformers
from accelerate import PartialState

from training.commands.cli import main

_step = transformers.Trainer.training_step


def _spoilt(self: transformers.Trainer, *args: Any, **named: Any) -> Any:
    loss = _step(self, *args, **named)
    spoil = PartialState().process_index == 1 and self.state.global_step == 1
    return loss * math.nan if spoil else loss


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    transformers.Trainer.training_step = _spoilt
    main(prog_name="r4p train")
