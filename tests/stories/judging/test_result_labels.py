"""Labels with the verdict, where the repository wants them: one at a time on each pull request."""

import pytest

from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services


def test_each_judged_pull_request_has_one_label_of_its_present_verdict(tell):
    story = tell(ADVISORY + "result_labels: true\n")
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    assert story.repo.pull(right).labels == ("r4p/correct",)
    assert story.repo.pull(wrong).labels == ("r4p/incorrect",)
    story.push(wrong, "h * w")
    story.settle()
    assert story.verdict(issue).rows == {right: "Correct", wrong: "Correct"}
    assert story.repo.pull(wrong).labels == ("r4p/correct",)


def test_there_is_no_label_without_the_setting_or_in_shadow(story, tell):
    issue, pulls = story.open_judged_issue()
    story.verdict(issue)
    assert [story.repo.pull(pull).labels for pull in pulls] == [(), ()]
    shadow = tell(ADVISORY.replace("advisory", "shadow") + "result_labels: true\n")
    _, hidden = shadow.open_judged_issue()
    assert [shadow.repo.pull(pull).labels for pull in hidden] == [(), ()]
