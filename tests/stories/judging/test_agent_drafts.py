"""Drafts that agents open empty, and the early notice about several pull requests for one issue."""

import pytest

from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services

AGENT = "copilot-swe-agent[bot]"


def test_a_draft_of_an_agent_takes_part_once_it_changes_a_file(story):
    story.stage.standin.add_user(AGENT, "Bot")
    issue = story.issue()
    ready = story.rival(issue, "w - h")
    draft = story.rival(issue, "w + h", draft=True, author=AGENT, title="[WIP] Fix the area")
    story.settle()
    assert story.evaluations() == []
    status = story.answer(issue, story.command(issue, "/r4p status", "reader"))
    assert "needs 2" in status
    story.push(draft, "w * h")
    story.settle()
    assert story.verdict(issue).rows == {draft: "Correct", ready: "Incorrect"}


def test_no_draft_takes_part_where_the_settings_say_none(tell):
    story = tell(ADVISORY + "include_drafts: none\n")
    story.stage.standin.add_user(AGENT, "Bot")
    issue = story.issue()
    draft = story.rival(issue, "w * h", draft=True, author=AGENT)
    pulls = [story.rival(issue, result) for result in ("w - h", "h * w")]
    story.settle()
    verdict = story.verdict(issue)
    assert set(verdict.rows) == set(pulls)
    assert f"#{draft} is left out: it is a draft." in verdict.body


def test_every_draft_takes_part_where_the_settings_say_all(tell):
    story = tell(ADVISORY + "include_drafts: all\n")
    issue = story.issue()
    pulls = [story.rival(issue, result, draft=True) for result in ("w - h", "w * h")]
    story.settle()
    assert set(story.verdict(issue).rows) == set(pulls)


def test_an_early_notice_is_written_once_and_names_who_claims_the_issue(tell):
    story = tell(ADVISORY + "early_notice: true\ntriggers: [command]\n")
    issue = story.issue()
    first = story.rival(issue, "w * h")
    story.pull("Look at this", f"See #{issue}.", files={"other.py": "x = 1\n"})
    story.settle()
    assert story.read_notices(issue, "notice") == []
    second = story.rival(issue, "w - h")
    story.settle()
    (notice,) = story.read_notices(issue, "notice")
    assert f"#{first} and #{second} are open for this issue" in notice
    assert "This note judges nothing." in notice
    story.rival(issue, "h * w")
    story.settle()
    assert story.read_notices(issue, "notice") == [notice]
    assert story.evaluations() == []


def test_without_the_setting_there_is_no_early_notice(story):
    issue, _ = story.open_judged_issue()
    story.verdict(issue)
    assert story.read_notices(issue, "notice") == []
