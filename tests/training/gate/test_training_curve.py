"""The curve of a training keeps the course of its reward, or of its loss, in few points."""

import pytest

from training.gate.training_curve import MOST_POINTS, CurvePoint, TrainingCurve, build_curve
from training.runs.run_folder import TrainingStep


def build_steps(rewards, losses):
    return [
        TrainingStep(number, len(rewards), loss, 1e-4, 1.0, reward=reward)
        for number, (reward, loss) in enumerate(zip(rewards, losses, strict=True), 1)
    ]


def test_few_steps_are_their_own_points_and_reward_comes_first():
    curve = build_curve(build_steps([0.1, None, 0.5], [2.0, 1.0, 0.5]))
    assert curve == TrainingCurve("reward", (CurvePoint(1, 0.1), CurvePoint(3, 0.5)))


def test_without_a_reward_the_loss_counts_and_without_both_there_is_no_curve():
    curve = build_curve(build_steps([None, None], [2.0, 1.0]))
    assert curve == TrainingCurve("loss", (CurvePoint(1, 2.0), CurvePoint(2, 1.0)))
    assert build_curve(build_steps([None], [None])) is None
    assert build_curve([]) is None


@pytest.mark.parametrize("count", [59, 60, 61, 1000, 7919])
def test_many_steps_become_means_that_reach_the_last_step(count):
    rewards = [step / count for step in range(1, count + 1)]
    curve = build_curve(build_steps(rewards, [None] * count))
    assert MOST_POINTS // 2 <= len(curve.points) <= MOST_POINTS
    assert curve.points[-1].step == count
    values = [point.value for point in curve.points]
    assert values == sorted(values)
