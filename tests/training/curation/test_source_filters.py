"""Filters of whole issues and whole sources."""

from dataclasses import replace

import pytest

from tests.builders.patch_pools import TEXT, build_patch, build_pool
from training.curation.source_filters import (
    MIN_LABELLED,
    StatementLimits,
    drop_one_sided,
    find_rejection,
    find_unlicensed,
    find_unwanted,
)
from training.datasets.groups import LabelSource


def build_pools(author, targets):
    return [
        replace(build_pool(f"o/r#{number}"), patches=(build_patch(number, target, author=author),))
        for number, target in enumerate(targets)
    ]


def test_one_sided_system_is_left_out():
    given = [
        *build_pools("leaderboard/a", [1.0] * (MIN_LABELLED - 1)),
        *build_pools("leaderboard/b", [1.0]),
        *build_pools("fair/a", [1.0] * MIN_LABELLED + [0.0]),
        *build_pools("rare/a", [0.0] * (MIN_LABELLED - 1)),
        *build_pools("odd/a", [None] * MIN_LABELLED),
        *build_pools(None, [1.0] * MIN_LABELLED),
    ]
    kept, reasons = drop_one_sided(given)
    assert {one.author for given_pool in kept for one in given_pool.patches} == {
        "fair/a",
        "rare/a",
        "odd/a",
        None,
    }
    assert reasons == ["its system's patches have one label"] * MIN_LABELLED


def test_one_sided_outcomes_are_kept():
    given = [
        replace(one, source=LabelSource.OUTCOMES)
        for one in build_pools("maintainer", [1.0] * MIN_LABELLED)
    ]
    assert drop_one_sided(given) == (given, [])


def test_sources_are_left_out_by_pattern():
    one = build_patch(0, author="leaderboard-lite/a")
    assert find_unwanted(one, ("x/*", "leaderboard-*")) == "of a source that is left out"
    assert find_unwanted(one, ("leaderboard",)) is None
    assert find_unwanted(build_patch(0), ("*/*",)) is None


@pytest.mark.parametrize(
    ("licence", "source", "expected"),
    [
        ("MIT", LabelSource.BENCHMARK, None),
        ("GPL-3.0-only", LabelSource.BENCHMARK, "its licence is not among those wanted"),
        (None, LabelSource.BENCHMARK, "its licence is not known"),
        (None, LabelSource.OUTCOMES, None),
    ],
)
def test_licence_is_required_of_benchmarks_only(licence, source, expected):
    given_pool = build_pool(licence=licence, source=source)
    assert find_unlicensed(given_pool, ("MIT", "Apache-2.0")) == expected


def find_reason(text, **limits):
    return find_rejection(build_pool(statement=text), StatementLimits(**limits))


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_statement_that_needs_more_than_its_text_is_rejected(text, expected):
    assert find_reason(text) == expected


def test_non_ascii_statement_is_rejected_on_request():
    text = TEXT + " Größe"
    assert find_reason(text) is None
    assert find_reason(text, only_ascii=True) == "not only ASCII"
    assert find_reason(TEXT, only_ascii=True) is None
