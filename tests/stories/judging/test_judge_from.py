"""`judge_from`: strangers' pull requests wait for `/r4p ok`, and everybody can see that."""

import pytest

from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services


def test_a_strangers_pull_request_waits_for_an_approval_that_survives_a_push(tell):
    story = tell(ADVISORY + "judge_from: contributors\n")
    story.stage.standin.grant(story.repo, "helper", "triage")
    issue = story.issue()
    trusted = [story.rival(issue, result, author="maintainer") for result in ("w * h", "w - h")]
    stranger = story.rival(issue, "h * w", author="reporter")
    story.settle()
    verdict = story.verdict(issue)
    assert list(verdict.rows) == trusted
    assert "waits for `/r4p ok`" in verdict.body
    status = story.answer(issue, story.command(issue, "/r4p status", author="helper"))
    assert f"- #{stranger}: it waits for `/r4p ok`" in status
    refused = story.command(stranger, "/r4p ok", author="reporter")
    assert "needs triage access" in story.answer(stranger, refused)
    wrong = story.command(issue, "/r4p ok #99", author="helper")
    assert "99 is no pull request that the bot has seen" in story.answer(issue, wrong)
    approved = story.command(stranger, "/r4p ok", author="helper")
    assert story.reactions(stranger, approved) == ["eyes", "+1"]
    assert list(story.verdict(issue).rows) == [*trusted, stranger]
    story.push(stranger, "w*h")
    story.settle()
    assert list(story.verdict(issue).rows) == [*trusted, stranger]


def test_a_command_judges_everything_although_nothing_is_approved(tell):
    story = tell(ADVISORY + "judge_from: approved\n")
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    assert story.evaluations() == []
    waits = story.answer(issue, story.command(issue, "/r4p status"))
    assert f"not approved: #\u200b{only}" in waits
    story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows == {only: "Correct"}
