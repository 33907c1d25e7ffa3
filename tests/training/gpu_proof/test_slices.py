"""Which slice runs next, when a command ends, and when a training stops: decisions without a clock."""

import pytest

from training.gpu_proof import slices
from training.gpu_proof.slices import SLICES, SliceRecord, SliceStatus, TimeLimits

FINISHED, UNFINISHED, FAILED = SliceStatus


def build_records(**statuses):
    """Records by slice name, with underscores for hyphens."""
    named = {name.replace("_", "-"): status for name, status in statuses.items()}
    return {name: SliceRecord(name, status) for name, status in named.items()}


def choose(records, tried=()):
    """The name of the next slice."""
    step = slices.choose_next(records, tried)
    return step and step.name


def test_slices_run_in_the_order_of_their_value():
    records, names = {}, []
    while (step := slices.choose_next(records, ())) is not None:
        names.append(step.name)
        records[step.name] = SliceRecord(step.name, FINISHED)
    assert names == [step.name for step in SLICES]
    assert names[:4] == ["weights", "yes-no-before", "yes-no-sft", "yes-no-after"]


@pytest.mark.parametrize(
    ("records", "tried", "name"),
    [
        (build_records(weights=UNFINISHED), (), "weights"),
        (build_records(weights=FAILED), ("weights",), None),
        (
            build_records(weights=FINISHED, yes_no_before=FINISHED, yes_no_sft=UNFINISHED),
            (),
            "yes-no-sft",
        ),
        (
            build_records(weights=FINISHED, yes_no_before=FINISHED, yes_no_sft=UNFINISHED),
            ("yes-no-sft",),
            "boxed-sft",
        ),
    ],
)
def test_a_slice_needs_what_came_before_and_is_tried_once_a_command(records, tried, name):
    assert choose(records, tried) == name


def test_every_need_comes_earlier():
    for index, step in enumerate(SLICES):
        assert not step.needs or step.needs in {before.name for before in SLICES[:index]}


@pytest.mark.parametrize(
    ("begun_at", "end"),
    [(1_000.0, 1_540.0), (2_400.0, 2_800.0), (2_900.0, 2_800.0)],
)
def test_a_command_ends_after_nine_minutes_or_with_the_rented_half_hour(begun_at, end):
    assert slices.compute_end(TimeLimits(), 1_000.0, begun_at) == end


@pytest.mark.parametrize(
    ("now", "step", "stops"),
    [
        (50.0, 3, False),
        (95.0, 4, False),  # no checkpoint is on disk yet
        (89.0, 6, False),  # checkpoint 5 is there, and checkpoint 10 comes at 99
        (91.0, 6, True),  # … at 101
        (100.0, 3, True),  # the time is over
        (99.0, 1, False),
    ],
)
def test_a_training_stops_right_after_its_last_useful_checkpoint(now, step, stops):
    """With checkpoints every 5 steps of 2 seconds, and the end at 100."""
    assert slices.must_stop(now, 100.0, step, 5, 2.0) is stops


def test_attempts_add_up():
    first = SliceRecord("grpo", UNFINISHED, "out of time", 100.04, 1, {"steps": 3.0})
    total = (
        SliceRecord("grpo", UNFINISHED)
        .add_attempt(first)
        .add_attempt(SliceRecord("grpo", FINISHED, "", 20.0, 1, {"tokens_per_second": 9.5}))
    )
    assert total == SliceRecord(
        "grpo", FINISHED, "", 120.0, 2, {"steps": 3.0, "tokens_per_second": 9.5}
    )
