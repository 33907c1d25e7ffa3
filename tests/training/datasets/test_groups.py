from dataclasses import replace

import pytest

from training.datasets.groups import TrainingGroup

GROUP = TrainingGroup(
    key="a",
    issue="o/r#1",
    repo="o/r",
    problem_statement="It adds.",
    patches=("x", "y", "z", ""),
    targets=(0.9, 0.2, None, None),
)


def test_unknown_target_is_no_positive():
    assert GROUP.positives == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": (1.0,)}, "group a: 4 patches but 1 targets"),
        ({"targets": (1.5, 0.0, 0.0, 0.0)}, "group a: target 1.5 is no probability"),
        ({"trajectories": ("I ran it.",)}, "group a: 4 patches but 1 trajectories"),
    ],
)
def test_targets_and_trajectories_must_fit_the_patches(change, message):
    with pytest.raises(ValueError, match=message):
        replace(GROUP, **change)
