from dataclasses import replace

import pytest

from tests.builders import tiny_model
from training.datasets import schedule
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
    with pytest.raises(ValueError, match=f"none of {len(groups)} groups has a patch whose label"):
        schedule.schedule_rounds(groups, SMOKE)
