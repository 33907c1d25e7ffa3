from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.patch_pools import pool
from training.curation.balance import Balance
from training.curation.dataset_builder import DatasetRecipe, NothingToLearn, build_dataset
from training.curation.deduplication import EvaluationSet
from training.curation.splits import SPLITS, SplitPlan

RECIPE = DatasetRecipe(split=SplitPlan(validation=0.2, test=0.2))


def pools(count=60, targets=((1.0, 0.0, 1.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 1.0))):
    return [
        pool(
            f"o/r-{number}",
            targets[number % len(targets)],
            repo="o/r",
            statement=" ".join(f"Story {number} tells word {number}x{at}." for at in range(30)),
        )
        for number in range(count)
    ]


def test_what_is_learnt_is_balanced_and_what_is_measured_on_is_not():
    made = build_dataset(pools(), RECIPE)
    assert tuple(made.splits) == SPLITS
    found = Counter(one.positives for one in made.splits["train"])
    assert len(set(found.values())) == 1
    assert sum(one.positives for one in made.splits["train"]) == 2 * len(made.splits["train"])
    per_issue = Counter(one.issue for one in made.splits["test"])
    assert len(per_issue) == 12
    assert set(per_issue.values()) == {3}
    issues = [{one.issue for one in of} for of in made.splits.values()]
    assert sum(map(len, issues)) == len(set().union(*issues)) == 60


def test_every_group_that_is_not_there_is_counted():
    made = build_dataset(pools(), RECIPE)
    by_name = {step.name: step for step in made.steps}
    for name in SPLITS:
        formed = by_name[f"combinations: {name}"]
        last = by_name[f"balance: {name}" if name == "train" else f"enough: {name}"]
        assert last.units == len(made.splits[name])
        assert formed.units - last.units == sum(last.dropped.values())
    assert by_name["split"].issues == by_name["copies of issues"].issues == 60


def test_the_order_of_what_is_given_decides_nothing():
    made = build_dataset(pools(), RECIPE)
    again = build_dataset(pools()[::-1], RECIPE)
    for name in SPLITS:
        assert sorted(made.splits[name], key=lambda one: one.key) == sorted(
            again.splits[name], key=lambda one: one.key
        )
    other = build_dataset(pools(), replace(RECIPE, seed=2))
    assert other.splits["train"] != made.splits["train"]


def test_nothing_is_learnt_of_what_is_measured_on():
    given = pools()
    measured = EvaluationSet.from_pools(given[:30])
    made = build_dataset(given, RECIPE, measured)
    learnt = {one.issue for of in made.splits.values() for one in of}
    assert learnt == {one.issue for one in given[30:]}
    assert made.steps[0].dropped == {"an issue that is measured on": 30}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "there is no judged issue to learn from"),
        (pools(3, ((None, None),)), r"of 3 issues; dropped mostly: .*nothing is known of its patches \(3\)"),
        (pools(1, ((1.0,),)), r"of 1 issues; dropped mostly: combinations: train: fewer than 2 patches \(1\)"),
        (pools(1, ((1.0, None),)), r"balance: train: none with as many incorrect ones \(1\)"),
        (pools(2, ((1.0, 1.0),)), r"balance: train: none with as many incorrect ones \(2\)"),
    ],
)  # fmt: skip
def test_where_there_is_nothing_to_learn_it_says_why(given, said):
    with pytest.raises(NothingToLearn, match=said):
        build_dataset(given, DatasetRecipe(split=SplitPlan(validation=0, test=0)))


def test_one_sort_of_label_is_learnt_only_by_who_asks_for_it():
    made = build_dataset(
        pools(2, ((1.0, 1.0),)),
        DatasetRecipe(balance=Balance.NONE, split=SplitPlan(validation=0, test=0)),
    )
    assert len(made.splits["train"]) == 2


def test_what_is_asked_for_is_a_step_of_its_own():
    given = [replace(one, licence="MIT") for one in pools()]
    given += [replace(one, issue=f"x-{one.issue}", licence=None) for one in pools()]
    named = replace(RECIPE, licences=("MIT",), excluded_sources=("system/*",))
    made = build_dataset(given, named)
    assert [step.name for step in made.steps[:2]] == ["licence", "source"]
    assert made.steps[0].dropped == {"its licence is not known": 60}
    assert build_dataset(pools(), RECIPE).steps[0].name == "statement"
