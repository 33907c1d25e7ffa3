"""Equal edits are one, and the edit that most attempts made is shown."""

import pytest

from model.agents.attempt_selection import (
    AttemptSelection,
    choose_attempt,
    choose_tested_attempt,
    find_equal_edits,
)


def build_edit(word, line=1):
    return (
        "diff --git a/a.py b/a.py\nindex 111..222 100644\n--- a/a.py\n+++ b/a.py\n"
        f"@@ -{line} +{line} @@\n-x = 0\n+x = {word}\n"
    )


@pytest.mark.parametrize(
    ("patches", "same"),
    [
        ([], ()),
        ([None], (None,)),
        ([build_edit(1), None, build_edit(1, line=9), build_edit(2)], (0, None, 0, 3)),
        (["no diff", "no diff", "nor this"], (0, 0, 2)),
    ],
)
def test_equal_edits_point_to_the_first(patches, same):
    assert find_equal_edits(patches) == same


@pytest.mark.parametrize(
    ("patches", "chosen"),
    [
        ([None, None], AttemptSelection(None, "none of 2 attempts handed in a patch")),
        ([None, build_edit(1)], AttemptSelection(1, "the only edit, made by 1 of 2 attempts")),
        ([build_edit(1), build_edit(1, 9)], AttemptSelection(0, "the only edit, made by 2 of 2 attempts")),
        ([build_edit(1), build_edit(2), None, build_edit(2)], AttemptSelection(1, "the edit of most attempts, made by 2 of 4")),
        ([None, build_edit(2), build_edit(1)], AttemptSelection(1, "the first of 2 different edits with 1 of 3 attempts each")),
    ],
)  # fmt: skip
def test_edit_of_most_attempts_is_chosen(patches, chosen):
    assert choose_attempt(patches) == chosen


def test_tests_narrow_the_choice():
    patches = [build_edit(1), build_edit(1), None, build_edit(2)]
    assert choose_tested_attempt(patches, {3}, {"unbroken": 1}) == AttemptSelection(
        3,
        "the only edit, made by 1 of 4 attempts; the tests prefer 1 of 3 patches",
        {"unbroken": 1},
    )
