import numpy as np
import pytest

from training.datasets.groups import LabelSource, TrainingGroup
from training.evaluation import metrics
from training.evaluation.metrics import (
    CONSTANTS,
    GroupReplies,
    build_constant_judge,
    build_statistics,
    list_correct_issues,
    split_by_source,
)


def group(key, targets, issue=None, source=LabelSource.BENCHMARK):
    patches = tuple(f"diff {at}" for at in range(len(targets)))
    return TrainingGroup(
        key, issue or key, "octo/cat", "It fails.", patches, targets, source=source
    )


def heard(targets, beliefs, key="a", issue=None, rewards=(0.5,), votes=(4, 3)):
    return GroupReplies(group(key, targets, issue), beliefs, rewards, *votes)


def numbers(said):
    by = metrics.index_issues(said)
    everything = [np.concatenate(rows) for rows in (by.patches, by.groups)]
    return {name: one(*everything) for name, one in build_statistics(said).items()}


def test_hard_labels_give_the_known_metrics():
    found = numbers([heard((1.0, 0.0, 0.0, 1.0), (0.9, 0.1, 0.6, 0.2))])
    assert found["accuracy"] == 0.5
    assert found["balanced_accuracy"] == 0.5
    assert found["brier"] == pytest.approx((0.01 + 0.01 + 0.36 + 0.64) / 4)
    assert found["format_valid"] == 0.75
    assert (found["exact_match"], found["best_of_group"]) == (0.0, 1.0)


def test_a_decision_about_a_likely_label_is_as_right_as_that_is_likely():
    found = numbers([heard((0.8, 0.4), (1.0, 0.0))])
    assert found["accuracy"] == pytest.approx((0.8 + 0.6) / 2)
    assert found["balanced_accuracy"] == pytest.approx((0.8 / 1.2 + 0.6 / 0.8) / 2)


def test_false_accepts_are_counted_among_incorrect_patches():
    found = numbers([heard((1.0, 0.0, 0.0, 0.2), (0.9, 0.1, 0.6, 0.8))])
    assert found["false_accepts"] == pytest.approx((1 + 0.8) / (1 + 1 + 0.8))
    assert np.isnan(numbers([heard((1.0,), (0.9,))])["false_accepts"])


def test_a_patch_that_nobody_knows_about_counts_nowhere():
    some = heard((1.0, None, 0.0), (0.9, 0.9, 0.1))
    assert some.labelled_places == (0, 2)
    assert numbers([some]) == numbers([heard((1.0, 0.0), (0.9, 0.1))])


def test_no_opinion_is_a_coin_toss():
    assert numbers([heard((1.0, 0.0), (None, None))])["accuracy"] == 0.5


def test_the_reward_is_the_mean_over_replies_then_groups():
    said = [heard((1.0,), (1.0,), rewards=(1.0, 0.0)), heard((1.0,), (1.0,), "b", rewards=(0.25,))]
    assert numbers(said)["reward"] == pytest.approx(0.375)


def test_a_group_that_the_engine_left_unanswered_makes_the_reward_unknown_not_zero():
    assert np.isnan(numbers([heard((1.0,), (None,), rewards=())])["reward"])


def test_who_says_the_same_of_every_patch_is_right_by_the_base_rate():
    said = [heard((1.0, 0.0, 0.0, None), (0.9, 0.1, 0.1, 0.1))]
    right = {
        name: numbers(build_constant_judge(said, belief)) for name, belief in CONSTANTS.items()
    }
    assert right["all_correct"]["accuracy"] == pytest.approx(1 / 3)
    assert right["all_incorrect"]["reward"] == pytest.approx(2 / 3)
    assert right["all_incorrect"]["balanced_accuracy"] == 0.5


def test_one_decision_an_issue_and_never_by_an_unknown_label():
    said = [
        heard((1.0, None), (0.9, None), "b/2", "b"),
        heard((1.0, 0.0), (0.1, 0.1), "b/1", "b"),
        heard((0.8, 0.2), (0.6, 0.4), "a/1", "a"),
        heard((1.0,), (None,), "c/1", "c"),
        heard((0.5,), (0.9,), "d/1", "d"),
    ]
    assert list_correct_issues(said) == {"a": True, "b": False, "c": False, "d": False}


def test_rows_of_an_issue_are_those_of_all_its_groups():
    said = [
        heard((1.0, None), (1, 1), "a/1", "a"),
        heard((1.0,), (1,), "b"),
        heard((0.0,), (1,), "a/2", "a"),
    ]
    by = metrics.index_issues(said)
    assert [list(rows) for rows in by.patches] == [[0, 2], [1]]
    assert [list(rows) for rows in by.groups] == [[0, 2], [1]]


def test_who_labelled_is_never_pooled_and_unlabelled_groups_are_left_out():
    told = group("a", (1.0,), source=LabelSource.OUTCOMES)
    tested, unknown = group("b", (1.0, None)), group("c", (None,))
    assert split_by_source([told, tested, unknown]) == {
        LabelSource.OUTCOMES: [told],
        LabelSource.BENCHMARK: [tested],
    }
