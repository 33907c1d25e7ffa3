from collections import Counter

from training.datasets.groups import TrainingGroup
from training.datasets.permutation import permute_patches

GROUP = TrainingGroup("a", "o/r#1", "o/r", "It adds.", ("w", "x", "y", ""), (1.0, 0.0, 0.5, None))


def test_targets_go_with_their_patches():
    truth = dict(zip(GROUP.patches, GROUP.targets, strict=True))
    for epoch in range(50):
        shown = permute_patches(GROUP, 1, epoch)
        assert dict(zip(shown.patches, shown.targets, strict=True)) == truth
        assert shown.key == GROUP.key


def test_the_same_epoch_shows_the_same_order_and_others_show_others():
    orders = [permute_patches(GROUP, 1, epoch).patches for epoch in range(240)]
    assert orders == [permute_patches(GROUP, 1, epoch).patches for epoch in range(240)]
    assert orders != [permute_patches(GROUP, 2, epoch).patches for epoch in range(240)]
    assert len(set(orders)) == 24
    first = Counter(order[0] for order in orders)
    assert all(40 < count < 80 for count in first.values())
