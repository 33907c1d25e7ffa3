from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.patch_pools import build_pool
from training.curation.balance import Balance
from training.curation.dataset_builder import DatasetRecipe, NothingToLearn, build_dataset
from training.curation.deduplication import EvaluationSet
from training.curation.splits import SPLITS, SplitPlan

RECIPE = DatasetRecipe(split=SplitPlan(validation=0.2, test=0.2))


def build_pools(count=60, targets=((1.0, 0.0, 1.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 1.0))):
    return [
        build_pool(
            f"o/r-{number}",
            targets[number % len(targets)],
            repo="o/r",
            statement=" ".join(f"Story {number} tells word {number}x{at}." for at in range(30)),
        )
        for number in range(count)
    ]


def test_training_split_is_balanced_and_the_others_are_not():
    dataset = build_dataset(build_pools(), RECIPE)
    assert tuple(dataset.splits) == SPLITS
    found = Counter(one.positives for one in dataset.splits["train"])
    assert len(set(found.values())) == 1
    assert sum(one.positives for one in dataset.splits["train"]) == 2 * len(dataset.splits["train"])
    per_issue = Counter(one.issue for one in dataset.splits["test"])
    assert len(per_issue) == 12
    assert set(per_issue.values()) == {3}
    issues = [{one.issue for one in of} for of in dataset.splits.values()]
    assert sum(map(len, issues)) == len(set().union(*issues)) == 60


def test_every_dropped_group_is_counted():
    dataset = build_dataset(build_pools(), RECIPE)
    by_name = {step.name: step for step in dataset.steps}
    for name in SPLITS:
        formed = by_name[f"combinations: {name}"]
        last = by_name[f"balance: {name}" if name == "train" else f"enough: {name}"]
        assert last.units == len(dataset.splits[name])
        assert formed.units - last.units == sum(last.dropped.values())
    assert by_name["split"].issues == by_name["copies of issues"].issues == 60


def test_order_of_pools_does_not_matter():
    dataset = build_dataset(build_pools(), RECIPE)
    again = build_dataset(build_pools()[::-1], RECIPE)
    for name in SPLITS:
        assert sorted(dataset.splits[name], key=lambda item: item.key) == sorted(
            again.splits[name], key=lambda item: item.key
        )
    other = build_dataset(build_pools(), replace(RECIPE, seed=2))
    assert other.splits["train"] != dataset.splits["train"]


def test_measured_issues_are_left_out():
    given = build_pools()
    measured = EvaluationSet.from_pools(given[:30])
    dataset = build_dataset(given, RECIPE, measured)
    learnt = {one.issue for of in dataset.splits.values() for one in of}
    assert learnt == {one.issue for one in given[30:]}
    assert dataset.steps[0].dropped == {"an issue that is measured on": 30}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there is no judged issue to learn from"),
        (build_pools(3, ((None, None),)), r"of 3 issues; dropped mostly: .*nothing is known of its patches \(3\)"),
        (build_pools(1, ((1.0,),)), r"of 1 issues; dropped mostly: combinations: train: fewer than 2 patches \(1\)"),
        (build_pools(1, ((1.0, None),)), r"balance: train: none with as many incorrect ones \(1\)"),
        (build_pools(2, ((1.0, 1.0),)), r"balance: train: none with as many incorrect ones \(2\)"),
    ],
)  # fmt: skip
def test_empty_dataset_is_refused_with_the_reason(given, message):
    with pytest.raises(NothingToLearn, match=message):
        build_dataset(given, DatasetRecipe(split=SplitPlan(validation=0, test=0)))


def test_one_sided_labels_need_no_balance():
    dataset = build_dataset(
        build_pools(2, ((1.0, 1.0),)),
        DatasetRecipe(balance=Balance.NONE, split=SplitPlan(validation=0, test=0)),
    )
    assert len(dataset.splits["train"]) == 2


def test_requested_filters_are_steps_of_their_own():
    given = [replace(one, licence="MIT") for one in build_pools()]
    given += [replace(one, issue=f"x-{one.issue}", licence=None) for one in build_pools()]
    named = replace(RECIPE, licences=("MIT",), excluded_sources=("system/*",))
    dataset = build_dataset(given, named)
    assert [step.name for step in dataset.steps[:2]] == ["licence", "source"]
    assert dataset.steps[0].dropped == {"its licence is not known": 60}
    assert build_dataset(build_pools(), RECIPE).steps[0].name == "statement"
