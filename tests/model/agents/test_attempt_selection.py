"""Equal edits are one, and the edit that most attempts made is shown."""

import pytest

from model.agents.attempt_selection import AttemptSelection, choose_attempt, find_equal_edits


def patch(word, line=1):
    return (
        "diff --git a/a.py b/a.py\nindex 111..222 100644\n--- a/a.py\n+++ b/a.py\n"
        f"@@ -{line} +{line} @@\n-x = 0\n+x = {word}\n"
    )


@pytest.mark.parametrize(
    ("patches", "same"),
    [
        ([], ()),
        ([None], (None,)),
        ([patch(1), None, patch(1, line=9), patch(2)], (0, None, 0, 3)),
        (["no diff", "no diff", "nor this"], (0, 0, 2)),
    ],
)
def test_patches_are_the_same_by_what_they_edit(patches, same):
    assert find_equal_edits(patches) == same


@pytest.mark.parametrize(
    ("patches", "chosen"),
    [
        ([None, None], AttemptSelection(None, "none of 2 attempts handed in a patch")),
        ([None, patch(1)], AttemptSelection(1, "the only edit, made by 1 of 2 attempts")),
        ([patch(1), patch(1, 9)], AttemptSelection(0, "the only edit, made by 2 of 2 attempts")),
        ([patch(1), patch(2), None, patch(2)], AttemptSelection(1, "the edit of most attempts, made by 2 of 4")),
        ([None, patch(2), patch(1)], AttemptSelection(1, "the first of 2 different edits with 1 of 3 attempts each")),
    ],
)  # fmt: skip
def test_the_edit_of_most_attempts_is_chosen(patches, chosen):
    assert choose_attempt(patches) == chosen
