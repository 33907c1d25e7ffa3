"""What an epoch shows, and in which order."""

from dataclasses import replace

from tests.training.datasets.test_groups import GROUP
from training.datasets.epochs import sample_epoch

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
