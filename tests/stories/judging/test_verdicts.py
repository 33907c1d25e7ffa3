"""Verdicts from the first webhook to the comment, and after pushes."""

import pytest

from tests.stories.verdicts import area

pytestmark = pytest.mark.services


def test_four_rivals_get_one_comment_and_a_check_each_in_eight_calls(story):
    issue = story.issue()
    first, second, third, fourth = (
        story.rival(issue, result) for result in ("w * h", "w - h", "h * w", "w")
    )
    story.settle()
    verdict = story.verdict(issue)
    right, wrong = {first, third}, {second, fourth}
    assert verdict.rows == dict.fromkeys(right, "Correct") | dict.fromkeys(wrong, "Incorrect")
    assert verdict.document["votes"] == {"asked": 2, "valid": 2}
    assert {story.check(pull).conclusion for pull in right} == {"success"}
    assert {story.check(pull).conclusion for pull in wrong} == {"neutral"}
    assert sum(story.calls().values()) <= 8, story.calls()
    assert story.is_silent(*right, *wrong)


def test_a_burst_of_fifty_events_is_one_evaluation(story):
    story.stage.standin.hold_webhooks()
    issue = story.issue()
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h", "h * w", "w")]
    for number in range(45):
        story.repo.edit_pr(pulls[number % 4], body=f"Fixes #{issue}, wording {number}")
    assert story.stage.standin.release() == 50
    story.settle()
    assert story.evaluations() == ["published"]
    assert list(story.verdict(issue).rows) == pulls


def test_five_rivals_are_judged_in_overlapping_groups(story):
    results = ("w * h", "w - h", "h * w", "w", "w / h")
    issue, pulls = story.open_judged_issue(*results)
    verdict = story.verdict(issue)
    correct = [pull for pull, word in verdict.rows.items() if word == "Correct"]
    assert (list(verdict.rows), correct) == (pulls, [pulls[0], pulls[2]])
    assert "in 2 overlapping groups" in verdict.body
    parts = verdict.document["group"]["partition"]
    assert sorted(map(len, parts)) == [2, 3]


def test_one_rival_alone_waits_for_a_second(story):
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    assert story.is_silent(issue, only)
    assert story.waiting(issue) == "the bot can judge one pull request and needs 2"
    story.rival(issue, "w - h")
    story.settle()
    assert len(story.verdict(issue).rows) == 2


def test_a_head_pushed_while_it_is_judged_gets_no_check_for_its_old_text(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    moving, staying = story.rival(issue, "w - h"), story.rival(issue, "w + h + 1")
    story.wait_for(lambda: story.evaluations() == ["collected"])
    old = story.repo.head(moving)
    story.push(moving, "w * h")
    story.settle()
    assert story.checks_of(old) == []
    assert story.check(moving).conclusion == "success"
    assert story.verdict(issue).rows == {moving: "Correct", staying: "Incorrect"}


def test_a_verdict_that_a_push_overtook_says_so_until_the_new_head_is_judged(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    moving, staying = story.rival(issue, "w - h"), story.rival(issue, "w + h + 1")
    story.wait_for(lambda: story.evaluations() == ["collected"])
    story.stage.standin.hold_webhooks()
    story.push(moving, "w * h")
    story.wait_for(lambda: "published" in story.evaluations())
    word = story.verdict(issue)
    assert (word.rows[moving], "changed since" in word.body) == ("Incorrect", True)
    story.stage.standin.release()
    story.settle()
    word = story.verdict(issue)
    assert (word.rows[moving], "changed since" in word.body) == ("Correct", False)
    assert story.check(staying).conclusion == "neutral"


def test_a_push_after_the_verdict_is_judged_anew_in_the_same_comment(story):
    issue, (first, second) = story.open_judged_issue("w - h", "w + h + 1")
    before = story.verdict(issue)
    old = story.repo.head(first)
    story.push(first, "w * h")
    story.settle()
    after = story.verdict(issue)
    assert (before.rows[first], after.rows[first]) == ("Incorrect", "Correct")
    assert after.id == before.id
    assert [run.conclusion for run in story.checks_of(old)] == ["neutral"]
    assert story.check(first).conclusion == "success"
    assert len(story.checks_of(story.repo.head(second))) == 1


def test_an_issue_closed_while_it_is_judged_gets_no_verdict_until_it_is_open_again(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.wait_for(lambda: story.evaluations() == ["collected"])
    story.stage.standin.hold_webhooks()
    story.repo.close(issue)
    story.wait_for(lambda: story.evaluations() == ["superseded"])
    assert story.is_silent(issue)
    story.stage.standin.release()
    story.settle()
    asked = story.command(issue, "/r4p status", author="reader")
    assert "Not judged yet. The issue is closed." in story.answer(issue, asked)
    assert [story.checks_of(story.repo.head(pull)) for pull in pulls] == [[], []]
    story.repo.reopen(issue)
    story.settle()
    assert list(story.verdict(issue).rows) == pulls


def test_a_verdict_that_could_not_be_published_is_withdrawn_when_the_issue_closes(story):
    story.break_requests("POST /issues/*/comments", "502")
    issue = story.issue()
    for result in ("w * h", "w - h"):
        story.rival(issue, result)
    story.wait_for(lambda: story.is_postponed("publish_verdict"))
    assert story.evaluations() == ["verified"]
    story.repo.close(issue)
    story.wait_for(lambda: story.evaluations() == ["superseded"])
    story.let_pass(120)
    assert (story.is_silent(issue), story.waiting(issue)) == (True, "the issue is closed")


def test_a_force_push_is_judged_by_what_the_head_is_now(story):
    issue, (first, _) = story.open_judged_issue("w - h", "w + h + 1")
    story.push(first, "h * w", force=True)
    story.settle()
    assert story.verdict(issue).rows[first] == "Correct"


def test_an_edited_issue_is_judged_anew(story):
    issue, _ = story.open_judged_issue()
    story.repo.edit_issue(issue, body="It adds where it should multiply.")
    story.settle()
    assert story.evaluations() == ["published", "published"]
    assert len(story.verdict(issue).rows) == 2


def test_more_links_than_are_read_are_said_and_a_command_brings_in_what_was_missed(story):
    issue = story.issue()
    seen = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.settle()
    assert "did not read all links" not in story.verdict(issue).body
    for _ in range(250):
        story.repo.link(seen[0], issue)
        story.repo.unlink(seen[0], issue)
    missed = story.pull("Multiply", f"See #{issue}.", files=area("h * w"))
    story.command(issue, "/r4p verify")
    word = story.verdict(issue)
    assert (list(word.rows), "did not read all links" in word.body) == (seen, True)
    story.let_pass(30)  # a reader's reply leaves the first free writes to verdicts
    status = story.answer(issue, story.command(issue, "/r4p status", author="reader"))
    assert "did not read all links" in status
    story.answer(issue, story.command(issue, f"/r4p group add #{missed}"))
    assert list(story.verdict(issue).rows) == [*seen, missed]
