"""Rivals of an issue: drafts, closed ones, manual links, other bases, other repositories."""

import pytest

from tests.stories.verdicts import area

pytestmark = pytest.mark.services


def test_a_draft_waits_until_it_is_ready_for_review(story):
    issue = story.issue()
    draft = story.rival(issue, "w * h", draft=True)
    second_rival = story.rival(issue, "w - h")
    story.settle()
    assert story.is_silent(issue)
    story.repo.ready(draft)
    story.settle()
    assert story.verdict(issue).rows == {draft: "Correct", second_rival: "Incorrect"}


def test_a_draft_beside_two_rivals_is_left_out_and_named(story):
    issue = story.issue()
    draft = story.rival(issue, "w", draft=True)
    story.rival(issue, "w * h")
    story.rival(issue, "w - h")
    story.settle()
    verdict = story.verdict(issue)
    assert draft not in verdict.rows
    assert f"#{draft} is left out: it is a draft." in verdict.body
    assert story.checks_of(story.repo.head(draft)) == []


def test_a_rival_closed_before_it_is_judged_takes_no_part(story):
    story.stage.standin.hold_webhooks()
    issue = story.issue()
    gone, *others = (story.rival(issue, result) for result in ("w", "w * h", "w - h"))
    story.repo.close(gone)
    story.stage.standin.release()
    story.settle()
    assert list(story.verdict(issue).rows) == others
    assert story.checks_of(story.repo.head(gone)) == []


def test_nothing_is_judged_for_a_closed_issue_until_it_is_reopened(story):
    story.stage.standin.hold_webhooks()
    issue = story.issue()
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.repo.close(issue)
    story.stage.standin.release()
    story.settle()
    assert story.is_silent(issue)
    assert story.waiting(issue) == "the issue is closed"
    story.repo.reopen(issue)
    story.settle()
    assert list(story.verdict(issue).rows) == pulls


def test_a_pull_request_linked_by_hand_is_a_rival(story):
    issue = story.issue()
    story.rival(issue, "w - h")
    linked = story.pull("Multiply", "See the discussion.", files=area("w * h"))
    story.repo.link(linked, issue)
    story.repo.edit_pr(linked, body="See the long discussion.")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows[linked] == "Correct"
    assert "closes it" not in verdict.body  # the usual link needs no column


def test_a_keyword_counts_where_github_does_not_look(story):
    story.repo.commit({"README.md": "# Stable\n"}, branch="stable")
    issue = story.issue()
    story.rival(issue, "w - h")
    elsewhere = story.rival(issue, "w * h", base="stable")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows[elsewhere] == "Correct"
    assert "keyword, other base" in verdict.body


def test_a_pull_request_of_another_repository_is_no_rival(story, tell):
    second_rival = tell()
    issue = story.issue()
    story.rival(issue, "w - h")
    named = f"{story.repo.full_name}#{issue}"
    foreign = second_rival.pull("Multiply", f"Fixes {named}", files=area("w * h"))
    story.settle()
    second_rival.settle()
    assert story.is_silent(issue)
    assert story.waiting(issue) == "the bot can judge one pull request and needs 2"
    assert second_rival.is_silent(foreign)


def test_taking_the_keyword_out_takes_the_rival_out(story):
    issue, (first, second) = story.open_judged_issue()
    third = story.rival(issue, "w")
    story.settle()
    assert len(story.verdict(issue).rows) == 3
    story.repo.edit_pr(third, body="Unrelated after all.")
    story.settle()
    assert list(story.verdict(issue).rows) == [first, second]
