from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.builders.patch_pools import build_diff, build_patch, build_pool
from training.curation.deduplication import (
    EvaluationSet,
    build_edit_key,
    drop_duplicate_edits,
    drop_duplicate_issues,
    list_edit_keys,
)
from training.curation.patch_filters import MAX_RAW_CHARACTERS

OTHER = " ".join(f"Quite another story, part {number}." for number in range(20))
LATER = datetime(2026, 2, 1, tzinfo=UTC)


def test_line_numbers_do_not_change_the_edit_key():
    same = replace(
        build_patch(0),
        diff=build_patch(0).diff.replace("@@ -1,2 +1,2 @@", "@@ -7,2 +7,2 @@ class A:"),
    )
    kept, reasons = drop_duplicate_edits(
        [build_pool(targets=()), replace(build_pool(), patches=(build_patch(0), same))]
    )
    assert [one.patches for one in kept] == [(build_patch(0),)]
    assert reasons == ["the same edit as another"]


def test_too_long_diff_equals_only_itself():
    long = build_diff("x" * MAX_RAW_CHARACTERS)
    assert build_edit_key(long) == build_edit_key(long)
    assert build_edit_key(long) != build_edit_key(
        long.replace("@@ -1,2 +1,2 @@", "@@ -7,2 +7,2 @@")
    )


def test_labels_of_copies_are_merged():
    sure = build_patch(0, 1.0, weight=0.5, outcome_at=LATER)
    rather = build_patch(0, 0.7, weight=1.0, outcome_at=datetime(2026, 1, 1, tzinfo=UTC))
    kept, _ = drop_duplicate_edits(
        [replace(build_pool(), patches=(build_patch(0, None), rather, sure))]
    )
    (copy,) = kept[0].patches
    assert copy.target == pytest.approx(0.8)
    assert (copy.weight, copy.outcome_at) == (1.0, LATER)


@pytest.mark.parametrize("target", [None, 1.0])
def test_copies_keep_the_first_known_trajectory(target):
    copies = [build_patch(0, target, trajectory=text) for text in (None, "first", "second")]
    kept, _ = drop_duplicate_edits([replace(build_pool(), patches=tuple(copies))])
    assert [patch.trajectory for patch in kept[0].patches] == ["first"]


def test_copies_without_weight_keep_their_label():
    kept, _ = drop_duplicate_edits(
        [replace(build_pool(), patches=(build_patch(0, 0.9, weight=0.0),) * 2)]
    )
    assert [one.target for one in kept[0].patches] == [0.9]


def test_copies_with_opposite_labels_are_dropped():
    pools = [
        replace(
            build_pool(), patches=(build_patch(0, 1.0), build_patch(0, 0.0), build_patch(1, 1.0))
        )
    ]
    kept, reasons = drop_duplicate_edits(
        [*pools, replace(build_pool(), patches=pools[0].patches[:2])]
    )
    assert [one.patches for one in kept] == [(build_patch(1, 1.0),)]
    assert reasons == ["copies with opposite labels"] * 4


def test_duplicate_issue_with_more_labels_is_kept():
    poor, rich = build_pool("o/r#1"), build_pool("o/r#2", (1.0, 0.0))
    other = build_pool("o/r#3", statement=OTHER)
    kept, reasons = drop_duplicate_issues([poor, other, rich])
    assert kept == [other, rich]
    assert reasons == ["says the same as another issue"]
    assert drop_duplicate_issues([rich, other, poor])[0] == [rich, other]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (build_pool("o/r#1", statement=OTHER), "an issue that is measured on"),
        (build_pool("x/y#1"), "says the same as an issue that is measured on"),
        (
            replace(build_pool("x/y#1", statement=OTHER), patches=build_pool("o/r#1").patches),
            "has a patch that is measured on",
        ),
        (build_pool("o/r#9", statement=OTHER), None),
        (replace(build_pool("o/r#9", statement=OTHER), patches=(build_patch(0, diff=""),)), None),
    ],
)
def test_overlap_with_the_evaluation_set_is_found(given, expected):
    assert EvaluationSet.from_pools([build_pool("o/r#1")]).find_overlap(given) == expected


def test_overlap_can_cover_whole_repositories():
    measured = EvaluationSet.from_pools([build_pool("o/r#1")], whole_repositories=True)
    assert (
        measured.find_overlap(build_pool("o/r#9", statement=OTHER))
        == "a repository that is measured on"
    )


def test_text_without_a_diff_equals_only_itself():
    assert build_edit_key("x") == build_edit_key("x") != build_edit_key("y")
    assert build_edit_key(build_diff()) != build_edit_key("x")
    assert list(
        list_edit_keys(replace(build_pool(), patches=(build_patch(0, diff=""), build_patch(1))))
    ) == [build_edit_key(build_patch(1).diff)]
