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


def build_group(key, targets, issue=None, source=LabelSource.BENCHMARK):
    patches = tuple(f"diff {at}" for at in range(len(targets)))
    return TrainingGroup(
        key, issue or key, "octo/cat", "It fails.", patches, targets, source=source
    )


def build_replies(targets, beliefs, key="a", issue=None, rewards=(0.5,), votes=(4, 3)):
    return GroupReplies(build_group(key, targets, issue), beliefs, rewards, *votes)


def compute(replies):
    rows = metrics.index_issues(replies)
    everything = [np.concatenate(rows) for rows in (rows.patches, rows.groups)]
    return {name: one(*everything) for name, one in build_statistics(replies).items()}


def test_hard_labels_give_the_known_metrics():
    values = compute([build_replies((1.0, 0.0, 0.0, 1.0), (0.9, 0.1, 0.6, 0.2))])
    assert values["accuracy"] == 0.5
    assert values["balanced_accuracy"] == 0.5
    assert values["brier"] == pytest.approx((0.01 + 0.01 + 0.36 + 0.64) / 4)
    assert values["format_valid"] == 0.75
    assert (values["exact_match"], values["best_of_group"]) == (0.0, 1.0)


def test_accuracy_weighs_a_decision_by_its_label():
    values = compute([build_replies((0.8, 0.4), (1.0, 0.0))])
    assert values["accuracy"] == pytest.approx((0.8 + 0.6) / 2)
    assert values["balanced_accuracy"] == pytest.approx((0.8 / 1.2 + 0.6 / 0.8) / 2)


def test_false_accepts_are_of_incorrect_patches():
    values = compute([build_replies((1.0, 0.0, 0.0, 0.2), (0.9, 0.1, 0.6, 0.8))])
    assert values["false_accepts"] == pytest.approx((1 + 0.8) / (1 + 1 + 0.8))
    assert np.isnan(compute([build_replies((1.0,), (0.9,))])["false_accepts"])


def test_unlabelled_patch_counts_nowhere():
    some = build_replies((1.0, None, 0.0), (0.9, 0.9, 0.1))
    assert some.places_with_label == (0, 2)
    assert compute([some]) == compute([build_replies((1.0, 0.0), (0.9, 0.1))])


def test_missing_belief_is_a_coin_toss():
    assert compute([build_replies((1.0, 0.0), (None, None))])["accuracy"] == 0.5


def test_reward_is_the_mean_over_replies_then_groups():
    replies = [
        build_replies((1.0,), (1.0,), rewards=(1.0, 0.0)),
        build_replies((1.0,), (1.0,), "b", rewards=(0.25,)),
    ]
    assert compute(replies)["reward"] == pytest.approx(0.375)


def test_unanswered_group_makes_the_reward_unknown():
    assert np.isnan(compute([build_replies((1.0,), (None,), rewards=())])["reward"])


def test_constant_judge_is_right_by_the_base_rate():
    replies = [build_replies((1.0, 0.0, 0.0, None), (0.9, 0.1, 0.1, 0.1))]
    right = {
        name: compute(build_constant_judge(replies, belief)) for name, belief in CONSTANTS.items()
    }
    assert right["all_correct"]["accuracy"] == pytest.approx(1 / 3)
    assert right["all_incorrect"]["reward"] == pytest.approx(2 / 3)
    assert right["all_incorrect"]["balanced_accuracy"] == 0.5


def test_issue_has_one_decision_by_known_labels():
    replies = [
        build_replies((1.0, None), (0.9, None), "b/2", "b"),
        build_replies((1.0, 0.0), (0.1, 0.1), "b/1", "b"),
        build_replies((0.8, 0.2), (0.6, 0.4), "a/1", "a"),
        build_replies((1.0,), (None,), "c/1", "c"),
        build_replies((0.5,), (0.9,), "d/1", "d"),
    ]
    assert list_correct_issues(replies) == {"a": True, "b": False, "c": False, "d": False}


def test_rows_of_an_issue_are_of_all_its_groups():
    replies = [
        build_replies((1.0, None), (1, 1), "a/1", "a"),
        build_replies((1.0,), (1,), "b"),
        build_replies((0.0,), (1,), "a/2", "a"),
    ]
    rows = metrics.index_issues(replies)
    assert [list(rows) for rows in rows.patches] == [[0, 2], [1]]
    assert [list(rows) for rows in rows.groups] == [[0, 2], [1]]


def test_groups_are_split_by_label_source():
    labelled = build_group("a", (1.0,), source=LabelSource.OUTCOMES)
    tested, unknown = build_group("b", (1.0, None)), build_group("c", (None,))
    assert split_by_source([labelled, tested, unknown]) == {
        LabelSource.OUTCOMES: [labelled],
        LabelSource.BENCHMARK: [tested],
    }
