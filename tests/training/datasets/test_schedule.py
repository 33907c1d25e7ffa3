"""Epochs, permutations and rounds."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.models import tiny_model
from tests.training.datasets.test_groups import GROUP
from training.datasets import schedule
from training.datasets.groups import TrainingGroup
from training.datasets.schedule import permute_patches, sample_epoch
from training.plans import plan_file

SMOKE = plan_file.load_plan("cpu-smoke")


def _change_optimiser(**optimiser):
    return replace(SMOKE, optimiser=replace(SMOKE.optimiser, **optimiser))


def test_each_epoch_shows_every_group_once():
    groups = tiny_model.build_groups(8)
    scheduled = schedule.schedule_rounds(groups, _change_optimiser(epochs=3, max_steps=None))
    assert (scheduled.rounds, scheduled.steps, scheduled.filled) == (3, 3, 0)
    keys = [one.key for one in scheduled.groups]
    for epoch in range(3):
        assert sorted(keys[epoch * 8 : epoch * 8 + 8]) == sorted(one.key for one in groups)


def test_last_round_is_filled_up_and_counted():
    scheduled = schedule.schedule_rounds(
        tiny_model.build_groups(5), _change_optimiser(epochs=2, max_steps=None)
    )
    assert (scheduled.rounds, len(scheduled.groups), scheduled.filled) == (2, 16, 6)


def test_few_groups_are_repeated_in_other_orders():
    scheduled = schedule.schedule_rounds(
        tiny_model.build_groups(1), _change_optimiser(epochs=1, max_steps=None)
    )
    assert (len(scheduled.groups), scheduled.filled) == (8, 7)
    assert len({one.patches for one in scheduled.groups}) > 1


def test_max_steps_end_a_run_before_its_epochs():
    scheduled = schedule.schedule_rounds(
        tiny_model.build_groups(40), _change_optimiser(epochs=9, max_steps=2)
    )
    assert (scheduled.rounds, scheduled.steps, len(scheduled.groups)) == (2, 2, 16)


def test_smaller_batch_makes_several_steps_per_round():
    plan = _change_optimiser(batch=2, epochs=1, max_steps=6)
    assert schedule.count_steps_per_round(plan) == 4
    scheduled = schedule.schedule_rounds(tiny_model.build_groups(40), plan)
    assert (scheduled.rounds, scheduled.steps) == (2, 6)


def test_group_without_label_or_weight_is_left_out():
    labelled, unknown, weightless = tiny_model.build_groups(3)
    unknown = replace(unknown, targets=(None,) * 4)
    weightless = replace(weightless, weight=0.0)
    scheduled = schedule.schedule_rounds(
        [labelled, unknown, weightless], _change_optimiser(epochs=1, max_steps=1)
    )
    assert {one.key for one in scheduled.groups} == {labelled.key}


def test_only_light_group_is_still_scheduled():
    light = replace(tiny_model.build_groups(1)[0], weight=0.01)
    assert (
        len(schedule.schedule_rounds([light], _change_optimiser(epochs=1, max_steps=1)).groups) == 8
    )


@pytest.mark.parametrize(
    "groups", [[], [replace(tiny_model.build_groups(1)[0], targets=(None,) * 4)]]
)
def test_schedule_without_labels_is_refused(groups):
    with pytest.raises(ValueError, match=f"none of {len(groups)} groups has a labelled patch"):
        schedule.schedule_rounds(groups, SMOKE)


GROUPS = [replace(GROUP, key=str(number)) for number in range(40)]


def test_epoch_has_every_group_once_in_its_own_order():
    first, second = sample_epoch(GROUPS, 0, 0), sample_epoch(GROUPS, 0, 1)
    assert sorted(one.key for one in first) == sorted(one.key for one in GROUPS)
    assert [one.key for one in first] != [one.key for one in second]
    assert first != sorted(first, key=lambda item: int(item.key))
    assert sample_epoch(GROUPS, 0, 0) == first


def test_weight_is_the_mean_number_of_repeats():
    half = [replace(one, weight=0.5) for one in GROUPS]
    double = [replace(one, weight=2) for one in GROUPS]
    assert len(sample_epoch(double, 0, 0)) == 80
    counts = [len(sample_epoch(half, 0, epoch)) for epoch in range(50)]
    assert min(counts) < max(counts)
    assert abs(sum(counts) / 50 - 20) < 2  # the mean of 2,000 draws, 4 deviations wide


def test_repeated_group_is_seated_anew():
    one, two = sample_epoch([replace(GROUP, weight=2)], 1, 0)
    assert one.patches != two.patches


PADDED = TrainingGroup("a", "o/r#1", "o/r", "It adds.", ("w", "x", "y", ""), (1.0, 0.0, 0.5, None))


def test_permutation_keeps_trajectories_with_patches():
    told = replace(PADDED, trajectories=tuple(f"how {text}" for text in PADDED.patches))
    for epoch in range(9):
        shown = permute_patches(told, 1, epoch)
        assert shown.trajectories == tuple(f"how {text}" for text in shown.patches)


def test_permutation_keeps_targets_with_patches_and_depends_on_seed_and_epoch():
    truth = dict(zip(PADDED.patches, PADDED.targets, strict=True))
    shown = [permute_patches(PADDED, 1, epoch) for epoch in range(240)]
    for one in shown:
        assert dict(zip(one.patches, one.targets, strict=True)) == truth
        assert one.key == PADDED.key
    assert shown == [permute_patches(PADDED, 1, epoch) for epoch in range(240)]
    assert shown != [permute_patches(PADDED, 2, epoch) for epoch in range(240)]
    assert len({one.patches for one in shown}) == 24
    first = Counter(one.patches[0] for one in shown)
    assert all(40 < count < 80 for count in first.values())
