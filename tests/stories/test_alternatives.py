"""A lone pull request gets rivals of our own, and is judged beside them."""

import pytest

from tests.stories.verdicts import FILL

pytestmark = pytest.mark.services

THREE_WAYS = {"shapes.py": 'def area(shape):\n    return "three ways"\n'}


def test_a_lone_pull_request_and_three_alternatives_are_one_group_of_four(tell):
    story = tell(FILL, THREE_WAYS)
    issue = story.issue()
    only = story.rival(issue, "w - h + 1")
    story.settle()
    said = story.verdict(issue)
    assert said.rows == {only: "Incorrect"}
    assert sorted(said.ours.values()) == ["Correct", "Correct", "Incorrect"]
    assert said.document["group"]["size"] == 4
    assert [len(part) for part in said.document["group"]["partition"]] == [4]
    assert "git apply" in said.body
    assert story.kinds()["propose_patches"] == 1
    assert story.check(only).conclusion == "neutral"
