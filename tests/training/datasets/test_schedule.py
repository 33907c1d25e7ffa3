"""Epochs, permutations and rounds."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import tiny_model
from tests.training.datasets.test_groups import GROUP
from training.datasets import schedule
from training.datasets.groups import TrainingGroup
from training.datasets.schedule import permute_patches, sample_epoch
from training.plans import plan_file

SMOKE = plan_file.load_plan("cpu-smoke")


def _plan(**optimiser):
    return replace(SMOKE, optimiser=replace(SMOKE.optimiser, **optimiser))


def test_epochs_follow_one_another_and_each_shows_every_group_once():
    groups = tiny_model.groups(8)
    asked = schedule.schedule_rounds(groups, _plan(epochs=3, max_steps=None))
    assert (asked.rounds, asked.steps, asked.filled) == (3, 3, 0)
    keys = [one.key for one in asked.groups]
    for epoch in range(3):
        assert sorted(keys[epoch * 8 : epoch * 8 + 8]) == sorted(one.key for one in groups)


def test_a_last_round_is_filled_up_and_that_is_said():
    asked = schedule.schedule_rounds(tiny_model.groups(5), _plan(epochs=2, max_steps=None))
    assert (asked.rounds, len(asked.groups), asked.filled) == (2, 16, 6)


def test_fewer_groups_than_a_round_are_asked_again_in_other_orders():
    asked = schedule.schedule_rounds(tiny_model.groups(1), _plan(epochs=1, max_steps=None))
    assert (len(asked.groups), asked.filled) == (8, 7)
    assert len({one.patches for one in asked.groups}) > 1


def test_steps_end_a_run_before_its_epochs_do():
    asked = schedule.schedule_rounds(tiny_model.groups(40), _plan(epochs=9, max_steps=2))
    assert (asked.rounds, asked.steps, len(asked.groups)) == (2, 2, 16)


def test_a_round_has_several_steps_where_a_batch_is_smaller():
    plan = _plan(batch=2, epochs=1, max_steps=6)
    assert schedule.count_steps_per_round(plan) == 4
    asked = schedule.schedule_rounds(tiny_model.groups(40), plan)
    assert (asked.rounds, asked.steps) == (2, 6)


def test_a_group_without_a_label_or_a_weight_is_not_asked_about():
    known, unknown, weightless = tiny_model.groups(3)
    unknown = replace(unknown, targets=(None,) * 4)
    weightless = replace(weightless, weight=0.0)
    asked = schedule.schedule_rounds([known, unknown, weightless], _plan(epochs=1, max_steps=1))
    assert {one.key for one in asked.groups} == {known.key}


def test_a_light_group_may_be_missing_from_an_epoch_but_not_from_a_run_of_its_own():
    light = replace(tiny_model.groups(1)[0], weight=0.01)
    assert len(schedule.schedule_rounds([light], _plan(epochs=1, max_steps=1)).groups) == 8


@pytest.mark.parametrize("groups", [[], [replace(tiny_model.groups(1)[0], targets=(None,) * 4)]])
def test_nothing_to_learn_is_said(groups):
    with pytest.raises(ValueError, match=f"none of {len(groups)} groups has a labelled patch"):
        schedule.schedule_rounds(groups, SMOKE)


GROUPS = [replace(GROUP, key=str(number)) for number in range(40)]


def test_every_group_comes_once_and_in_an_order_of_its_own():
    first, second = sample_epoch(GROUPS, 0, 0), sample_epoch(GROUPS, 0, 1)
    assert sorted(one.key for one in first) == sorted(one.key for one in GROUPS)
    assert [one.key for one in first] != [one.key for one in second]
    assert first != sorted(first, key=lambda one: int(one.key))
    assert sample_epoch(GROUPS, 0, 0) == first


def test_a_patch_keeps_its_target_wherever_it_sits():
    truth = dict(zip(GROUP.patches, GROUP.targets, strict=True))
    shown = sample_epoch(GROUPS, 0, 0)
    assert {one.patches for one in shown} > {GROUP.patches}
    for one in shown:
        assert dict(zip(one.patches, one.targets, strict=True)) == truth


def test_a_weight_is_how_often_a_group_comes():
    half = [replace(one, weight=0.5) for one in GROUPS]
    double = [replace(one, weight=2) for one in GROUPS]
    assert len(sample_epoch(double, 0, 0)) == 80
    counts = [len(sample_epoch(half, 0, epoch)) for epoch in range(50)]
    assert min(counts) < max(counts)
    assert abs(sum(counts) / 50 - 20) < 2  # the mean of 2,000 draws, 4 deviations wide


def test_a_group_that_comes_twice_is_seated_twice():
    one, two = sample_epoch([replace(GROUP, weight=2)], 1, 0)
    assert one.patches != two.patches


PADDED = TrainingGroup("a", "o/r#1", "o/r", "It adds.", ("w", "x", "y", ""), (1.0, 0.0, 0.5, None))


def test_targets_go_with_their_patches():
    truth = dict(zip(PADDED.patches, PADDED.targets, strict=True))
    for epoch in range(50):
        shown = permute_patches(PADDED, 1, epoch)
        assert dict(zip(shown.patches, shown.targets, strict=True)) == truth
        assert shown.key == PADDED.key


def test_the_same_epoch_shows_the_same_order_and_others_show_others():
    orders = [permute_patches(PADDED, 1, epoch).patches for epoch in range(240)]
    assert orders == [permute_patches(PADDED, 1, epoch).patches for epoch in range(240)]
    assert orders != [permute_patches(PADDED, 2, epoch).patches for epoch in range(240)]
    assert len(set(orders)) == 24
    first = Counter(order[0] for order in orders)
    assert all(40 < count < 80 for count in first.values())
