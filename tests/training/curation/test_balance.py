from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.curation.balance import Balance, balance_groups
from training.datasets.groups import TrainingGroup


def build_group(number, correct, incorrect=None, issue=None):
    incorrect = 4 - correct if incorrect is None else incorrect
    targets = (1.0,) * correct + (0.0,) * incorrect + (None,) * (4 - correct - incorrect)
    return TrainingGroup(
        str(number), issue or f"o/r#{number}", "o/r", "It adds.", tuple("abcd"), targets
    )


def build_groups(*count_positives, start=0):
    """So many groups with 0, 1, 2, 3 and 4 correct patches."""
    return [
        build_group(f"{start}.{correct}.{number}", correct)
        for correct, count in enumerate(count_positives)
        for number in range(count)
    ]


def count_positives(groups):
    positives = Counter(one.positives for one in groups)
    return [positives[correct] for correct in range(5)]


@pytest.mark.parametrize(
    ("how", "counts", "kept"),
    [
        (Balance.EVEN, (50, 30, 20, 10, 5), [5, 5, 5, 5, 5]),
        (Balance.EVEN, (50, 30, 20, 10, 0), [0, 10, 10, 10, 0]),
        (Balance.EVEN, (50, 0, 0, 0, 0), [0, 0, 0, 0, 0]),
        (Balance.EVEN, (0, 0, 7, 0, 0), [0, 0, 7, 0, 0]),
        (Balance.MIRRORED, (50, 30, 20, 10, 5), [5, 10, 20, 10, 5]),
        (Balance.MIRRORED, (50, 30, 20, 0, 5), [5, 0, 20, 0, 5]),
        (Balance.NONE, (50, 30, 20, 10, 5), [50, 30, 20, 10, 5]),
        (Balance.EVEN, (), [0, 0, 0, 0, 0]),
    ],
)
def test_balance_equalises_classes(how, counts, kept):
    groups = build_groups(*counts)
    left, reasons = balance_groups(groups, how, 1)
    assert count_positives(left) == kept
    assert len(reasons) == len(groups) - len(left)


def test_class_without_its_mirror_has_its_own_reason():
    _, reasons = balance_groups(build_groups(3, 2, 0, 1, 0), Balance.MIRRORED, 1)
    assert Counter(reasons) == {
        "none with as many incorrect ones": 3,
        "too many with so many correct patches": 1,
    }


def test_partly_labelled_groups_are_balanced_among_themselves():
    partly = [build_group(f"p{at}", 1, 0) for at in range(4)] + [
        build_group(f"n{at}", 0, 1) for at in range(2)
    ]
    left, _ = balance_groups([*partly, *build_groups(9, 9, 9, 9, 9)], Balance.EVEN, 1)
    assert Counter(one.positives for one in left if None in one.targets) == {1: 2, 0: 2}
    assert len(left) == 4 + 45


def test_groups_are_taken_evenly_from_issues():
    rich = [build_group(f"rich{at}", 1, issue="o/r#rich") for at in range(15)]
    poor = [build_group(f"poor{at}", 1) for at in range(5)]
    right = [build_group(f"right{at}", 3) for at in range(7)]
    left, _ = balance_groups([*rich, *poor, *right], Balance.EVEN, 1)
    positives = Counter(one.issue for one in left if one.positives == 1)
    assert positives["o/r#rich"] == 2
    assert sum(positives.values()) == 7


@given(
    st.lists(st.integers(0, 12), min_size=5, max_size=5),
    st.sampled_from(list(Balance)),
    st.integers(),
)
def test_balanced_groups_reward_no_constant_answer(numbers, how, seed):
    groups = build_groups(*numbers)
    left, reasons = balance_groups(groups, how, seed)
    assert [one for one in groups if one in left] == left
    assert len(left) + len(reasons) == len(groups)
    if how is not Balance.NONE:
        assert sum(one.positives for one in left) == 2 * len(left)
    assert balance_groups(groups, how, seed) == (left, reasons)
