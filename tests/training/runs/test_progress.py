"""Who watches a run sees its numbers: a bar that moves in a terminal, lines in a log, scalars in TensorBoard."""

import io

import pytest
from rich.console import Console

from tests.builders.models.run_folders import build_step
from training.runs import progress


def show_steps(steps, **terminal):
    console = Console(file=io.StringIO(), width=160, **terminal)
    with progress.show_progress("cpu-smoke", console) as on_step:
        for one in steps:
            on_step(one)
    return console.file.getvalue()


def test_log_has_a_line_per_step():
    one = build_step(
        3, 20, reward=0.6125, entropy=0.5, clip_low=0.01, clip_high=0.02, format_valid=0.875,
        tokens_per_second=1234.5,
    )  # fmt: skip
    assert show_steps([one, one]) == 2 * (
        "cpu-smoke: step 3 of 20  reward 0.613  entropy 0.500  clipped 3.0%  readable 88%  tokens/s 1,234\n"
    )


def test_step_shows_what_was_measured():
    bare = dict.fromkeys(("reward", "entropy", "clip_low", "clip_high", "format_valid"))
    assert (
        progress.format_step(build_step(1, loss=0.25, tokens_per_second=None, **bare))
        == "loss 0.2500"
    )
    assert progress.format_step(build_step(1, loss=None, tokens_per_second=None, **bare)) == ""


def test_terminal_shows_one_bar():
    output = show_steps(
        [build_step(1, 2, reward=0.25), build_step(2, 2, reward=0.75)], force_terminal=True
    )
    assert "cpu-smoke" in output
    assert "2/2" in output
    assert "reward 0.750" in output


def test_tensorboard_has_the_metrics_and_repeated_steps_replace_earlier_ones(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: PLC0415

    with progress.write_to_tensorboard(tmp_path) as on_step:
        for at in (1, 2, 3):
            on_step(build_step(at, reward=at / 10, entropy=None))
    with progress.write_to_tensorboard(tmp_path) as on_step:
        on_step(build_step(3, reward=0.9, entropy=None))
    events = EventAccumulator(str(tmp_path / progress.TENSORBOARD_FOLDER))
    events.Reload()
    scalars = [(one.step, one.value) for one in events.Scalars("r4p/reward")]
    assert scalars == [(1, pytest.approx(0.1)), (2, pytest.approx(0.2)), (3, pytest.approx(0.9))]
    assert "r4p/entropy" not in events.Tags()["scalars"]


def test_run_without_a_step_writes_nothing(tmp_path):
    with progress.write_to_tensorboard(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
