"""Filters of whole issues and whole sources."""

from dataclasses import replace

import pytest

from tests.builders.patch_pools import TEXT, patch, pool
from training.curation.source_filters import (
    MIN_LABELLED,
    StatementLimits,
    drop_one_sided,
    find_rejection,
    find_unlicensed,
    find_unwanted,
)
from training.datasets.groups import LabelSource


def pools(author, targets):
    return [
        replace(pool(f"o/r#{number}"), patches=(patch(number, target, author=author),))
        for number, target in enumerate(targets)
    ]


def test_a_system_of_which_only_correct_patches_are_there_is_left_out():
    told = [
        *pools("leaderboard/a", [1.0] * (MIN_LABELLED - 1)),
        *pools("leaderboard/b", [1.0]),
        *pools("fair/a", [1.0] * MIN_LABELLED + [0.0]),
        *pools("rare/a", [0.0] * (MIN_LABELLED - 1)),
        *pools("odd/a", [None] * MIN_LABELLED),
        *pools(None, [1.0] * MIN_LABELLED),
    ]
    kept, reasons = drop_one_sided(told)
    assert {one.author for found in kept for one in found.patches} == {
        "fair/a",
        "rare/a",
        "odd/a",
        None,
    }
    assert reasons == ["its system's patches have one label"] * MIN_LABELLED


def test_whoever_merges_its_own_work_is_no_benchmark():
    told = [
        replace(one, source=LabelSource.OUTCOMES)
        for one in pools("maintainer", [1.0] * MIN_LABELLED)
    ]
    assert drop_one_sided(told) == (told, [])


def test_sources_are_left_out_by_name():
    one = patch(0, author="leaderboard-lite/a")
    assert find_unwanted(one, ("x/*", "leaderboard-*")) == "of a source that is left out"
    assert find_unwanted(one, ("leaderboard",)) is None
    assert find_unwanted(patch(0), ("*/*",)) is None


@pytest.mark.parametrize(
    ("licence", "source", "said"),
    [
        ("MIT", LabelSource.BENCHMARK, None),
        ("GPL-3.0-only", LabelSource.BENCHMARK, "its licence is not among those wanted"),
        (None, LabelSource.BENCHMARK, "its licence is not known"),
        (None, LabelSource.OUTCOMES, None),
    ],
)
def test_licences_are_asked_of_benchmarks_alone(licence, source, said):
    found = pool(licence=licence, source=source)
    assert find_unlicensed(found, ("MIT", "Apache-2.0")) == said


def reason(text, **limits):
    return find_rejection(pool(statement=text), StatementLimits(**limits))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT, None),
        (TEXT[:99], "shorter than 100 characters"),
        ("  " + TEXT[:99] + "  ", "shorter than 100 characters"),
        ("words " * 17, None),
        (("word " * 800)[:-1] + "s", None),
        ("word " * 800 + "ss", "longer than 4,000 characters"),
        (TEXT + " ![what I see](a)", "shows an image"),
        (TEXT + " ![what I see][1]", "shows an image"),
        (TEXT + ' <IMG src="a">', "shows an image"),
        (TEXT + " https://example.org/a/b.PNG", "shows an image"),
        (TEXT + " https://github.com/user-attachments/assets/1-2", "shows an image"),
        (TEXT + " see https://example.org/a.html", None),
        (TEXT + " `if not image[0]:`", None),
        (
            f"See #12, o/r#13, GH-14, https://example.org/{'a' * 60}/b by @some-body[bot], {'0123456789' * 4}.",
            "says it elsewhere",
        ),
    ],
)
def test_only_what_can_be_understood_by_its_text_is_kept(text, said):
    assert reason(text) == said


def test_other_letters_are_left_out_where_that_is_asked_for():
    text = TEXT + " Größe"
    assert reason(text) is None
    assert reason(text, only_ascii=True) == "not only ASCII"
    assert reason(TEXT, only_ascii=True) is None
