"""The table in docs/training.md is what the builder makes of the public patches. Needs the large data: R4P_DATA."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from model.evaluation.labelled_group import read_groups
from training.curation.balance import Balance
from training.curation.combinations import GroupShape
from training.curation.dataset_builder import DatasetRecipe, build_dataset
from training.curation.patch_filters import ChangeLimits
from training.curation.pools import build_from_groups
from training.curation.source_filters import StatementLimits
from training.curation.splits import SplitPlan

PAGE = Path(__file__).parents[3] / "docs" / "training.md"
ROW = re.compile(r"^\| (paper|ours)?[^|]*\| (none|mirrored|even) \|([\d,| ]+)\|$", re.MULTILINE)
ALL = SplitPlan(validation=0, test=0)
RECIPES = {
    "paper": DatasetRecipe(
        statements=StatementLimits(only_ascii=True),
        changes=ChangeLimits(suffix=".py"),
        shape=GroupShape(min_patches=6),
        split=ALL,
    ),
    "ours": DatasetRecipe(shape=GroupShape(min_patches=4), split=ALL),
}


@pytest.fixture(scope="module")
def pools(large_data):
    return build_from_groups(read_groups(large_data / "swebench_patches.jsonl.gz"))


def read_documented():
    name = ""
    for counts in ROW.finditer(PAGE.read_text()):
        name = counts[1] or name
        yield (
            name,
            Balance(counts[2]),
            [int(number.replace(",", "")) for number in counts[3].split("|")],
        )


def test_page_documents_every_recipe_and_balance():
    assert [(name, how) for name, how, _ in read_documented()] == [
        (name, how)
        for name in ("paper", "ours")
        for how in (Balance.NONE, Balance.MIRRORED, Balance.EVEN)
    ]


@pytest.mark.parametrize(("name", "how", "numbers"), list(read_documented()))
def test_builder_makes_the_documented_counts(pools, name, how, numbers):
    dataset = build_dataset(pools, replace(RECIPES[name], balance=how))
    learnt = dataset.splits["train"]
    by_positives = Counter(one.positives for one in learnt)
    counts = [len({one.issue for one in learnt}), len(learnt), *(by_positives[k] for k in range(5))]
    assert counts == numbers
    if how is not Balance.NONE:
        assert sum(one.positives for one in learnt) == 2 * len(learnt)


def test_clear_groups_have_the_documented_counts(pools):
    shape = replace(RECIPES["paper"].shape, clear_groups=5)
    recipe = replace(RECIPES["paper"], shape=shape)
    assert "820 groups of 164 issues, and 425 balanced by `even`" in PAGE.read_text()
    counts = [
        len(build_dataset(pools, replace(recipe, balance=how)).splits["train"])
        for how in (Balance.NONE, Balance.EVEN)
    ]
    assert counts == [820, 425]
