from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.curation.balance import Balance, balance_groups
from training.datasets.groups import TrainingGroup


def group(number, correct, incorrect=None, issue=None):
    incorrect = 4 - correct if incorrect is None else incorrect
    targets = (1.0,) * correct + (0.0,) * incorrect + (None,) * (4 - correct - incorrect)
    return TrainingGroup(
        str(number), issue or f"o/r#{number}", "o/r", "It adds.", tuple("abcd"), targets
    )


def many(*counts, start=0):
    """So many groups with 0, 1, 2, 3 and 4 correct patches."""
    return [
        group(f"{start}.{correct}.{number}", correct)
        for correct, count in enumerate(counts)
        for number in range(count)
    ]


def counts(groups):
    found = Counter(one.positives for one in groups)
    return [found[correct] for correct in range(5)]


@pytest.mark.parametrize(
    ("how", "given_", "kept"),
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
def test_classes_are_made_equal(how, given_, kept):
    groups = many(*given_)
    left, reasons = balance_groups(groups, how, 1)
    assert counts(left) == kept
    assert len(reasons) == len(groups) - len(left)


def test_a_class_without_its_mirror_is_told_apart():
    _, reasons = balance_groups(many(3, 2, 0, 1, 0), Balance.MIRRORED, 1)
    assert Counter(reasons) == {
        "none with as many incorrect ones": 3,
        "too many with so many correct patches": 1,
    }


def test_groups_with_fewer_labels_are_balanced_among_themselves():
    partly = [group(f"p{at}", 1, 0) for at in range(4)] + [group(f"n{at}", 0, 1) for at in range(2)]
    left, _ = balance_groups([*partly, *many(9, 9, 9, 9, 9)], Balance.EVEN, 1)
    assert Counter(one.positives for one in left if None in one.targets) == {1: 2, 0: 2}
    assert len(left) == 4 + 45


def test_no_issue_has_more_groups_than_it_must():
    rich = [group(f"rich{at}", 1, issue="o/r#rich") for at in range(15)]
    poor = [group(f"poor{at}", 1) for at in range(5)]
    right = [group(f"right{at}", 3) for at in range(7)]
    left, _ = balance_groups([*rich, *poor, *right], Balance.EVEN, 1)
    found = Counter(one.issue for one in left if one.positives == 1)
    assert found["o/r#rich"] == 2
    assert sum(found.values()) == 7


@given(
    st.lists(st.integers(0, 12), min_size=5, max_size=5),
    st.sampled_from(list(Balance)),
    st.integers(),
)
def test_no_constant_answer_pays(numbers, how, seed):
    groups = many(*numbers)
    left, reasons = balance_groups(groups, how, seed)
    assert [one for one in groups if one in left] == left
    assert len(left) + len(reasons) == len(groups)
    if how is not Balance.NONE:
        assert sum(one.positives for one in left) == 2 * len(left)
    assert balance_groups(groups, how, seed) == (left, reasons)
