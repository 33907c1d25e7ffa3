"""What a trainer logs becomes a line of metrics.jsonl, from which nothing that went wrong is missing."""

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from training.runs import run_folder
from training.trl.callbacks import MetricsCallback
from training.trl.checkpoints import TrainingDiverged

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own
NAN = float("nan")


@pytest.fixture
def log_step(tmp_path):
    """`log(**told)`: the step that is kept of what a trainer logs."""
    watch = MetricsCallback(tmp_path, lambda _: None)
    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True)

    def log(**metrics):
        state = TrainerState(global_step=1, max_steps=2)
        watch.on_log(arguments, state, TrainerControl(), logs={"loss": 0.5} | metrics)
        return run_folder.read_steps(tmp_path)[-1]

    return log


def test_infinite_metric_differs_from_a_missing_one(log_step):
    assert (log_step().entropy, log_step().not_finite) == (None, ())
    assert log_step(entropy=1.0).not_finite == ()
    step = log_step(
        entropy=NAN, **{"clip_ratio/low_mean": float("inf"), "clip_ratio/high_mean": 0.1}
    )
    assert (step.entropy, step.clip_low, step.clip_high) == (None, None, 0.1)
    assert step.not_finite == ("entropy", "clip_low")


def test_infinite_loss_ends_the_run_and_is_recorded(log_step, tmp_path):
    with pytest.raises(TrainingDiverged, match="step 1 has the loss nan"):
        log_step(loss=NAN)
    assert run_folder.read_steps(tmp_path)[-1].not_finite == ("loss",)
