"""Faults of GitHub and of machines at the worst moment: in the end everything exists exactly once."""

import pytest

pytestmark = pytest.mark.services

FAULTS = [
    "502_after_effect",
    "reset_after_effect",
    "garbled",
    "502",
    "reset",
    "403_secondary",
    "429",
    "500",
    "html",
]


@pytest.mark.parametrize("kind", FAULTS)
def test_a_comment_whose_creation_fails_stands_once_in_the_end(story, kind):
    story.break_requests("POST /issues/*/comments", kind)
    issue, (right, wrong) = story.open_judged_issue()
    story.let_pass(120)
    assert story.verdict(issue).rows == {right: "Correct", wrong: "Incorrect"}
    assert story.check(wrong).conclusion == "neutral"
    assert story.stage.standin.fault_hits()[-1] == 1


@pytest.mark.parametrize("kind", FAULTS)
def test_a_check_whose_creation_fails_stands_once_in_the_end(story, kind):
    story.break_requests("POST /check-runs", kind, skip=1)
    issue, pulls = story.open_judged_issue()
    story.let_pass(120)
    assert len(story.verdict(issue).rows) == 2
    assert [story.check(pull).conclusion for pull in pulls] == ["success", "neutral"]
    assert story.stage.standin.fault_hits()[-1] == 1


@pytest.mark.parametrize("kind", ["502_after_effect", "reset", "429"])
def test_an_edit_of_the_comment_that_fails_is_made_up_for(story, kind):
    issue, (first, second) = story.open_judged_issue("w - h", "w + h + 1")
    before = story.verdict(issue)
    story.break_requests("PATCH /issues/comments/*", kind)
    story.push(first, "w * h")
    story.settle()
    story.let_pass(120)
    after = story.verdict(issue)
    assert (after.id, after.rows) == (before.id, {first: "Correct", second: "Incorrect"})


def test_a_comment_that_lists_do_not_show_yet_is_not_written_twice(story):
    story.stage.standin.set_listing_lag(20)
    story.break_requests("POST /issues/*/comments", "502_after_effect")
    issue, _ = story.open_judged_issue()
    story.let_pass(120)
    story.stage.standin.set_listing_lag(0)
    assert len(story.verdict(issue).rows) == 2


def test_while_github_is_down_nothing_is_lost(story):
    story.is_rough = True
    story.stage.standin.fault("POST /graphql", "503", times=3)
    issue, _ = story.open_judged_issue()
    for seconds in (30, 60, 120):
        story.let_pass(seconds)
    assert len(story.verdict(issue).rows) == 2


def test_git_that_fails_is_asked_again_ever_less_often_and_status_tells_it(story):
    story.is_rough = True
    story.stage.standin.fault(f"GET /{story.repo.full_name}.git/*", "503", times=3)
    issue, _ = story.open_judged_issue()
    asked = story.command(issue, "/r4p status", author="reader")
    reply = story.answer(issue, asked)
    assert "1 attempt so far: git can't reach this repository on GitHub." in reply
    for seconds in (30, 60):
        story.let_pass(seconds)
    asked = story.command(issue, "/r4p status", author="reader")
    assert "3 attempts so far: git can't" in story.answer(issue, asked)
    story.let_pass(60)
    assert story.evaluations() == [], "it waits for more than a minute by now"
    story.let_pass(60)
    assert len(story.verdict(issue).rows) == 2
    asked = story.command(issue, "/r4p status", author="reader")
    assert "so far" not in story.answer(issue, asked)


def test_an_hours_budget_that_is_spent_is_waited_for(story):
    story.is_rough = True
    issue = story.issue()
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.stage.standin.exhaust(story.installation, "graphql")
    story.wait_for(lambda: story.is_postponed("evaluate_issue"))
    story.let_pass(3_700)
    assert list(story.verdict(issue).rows) == pulls


def test_tokens_that_were_revoked_are_replaced(story):
    story.stage.standin.revoke_tokens(story.installation)
    issue, _ = story.open_judged_issue()
    assert len(story.verdict(issue).rows) == 2


def test_a_verifier_killed_at_work_is_replaced_and_its_job_resumed(story):
    story.is_rough = True
    issue = story.issue("Area is wrong, and the engine ponders")
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.wait_for(lambda: story.is_running("verify_group"))
    story.stage.kill("verify")
    story.settle()
    assert list(story.verdict(issue).rows) == pulls
    assert story.evaluations() == ["published"]


def test_a_publisher_killed_at_work_leaves_no_second_comment(story):
    story.is_rough = True
    story.stage.standin.fault("POST /repos/*/issues/*/comments", "timeout_after_effect", seconds=20)
    issue = story.issue()
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.wait_for(lambda: story.stage.standin.fault_hits()[-1] == 1)
    story.stage.kill("github")
    story.settle()
    assert list(story.verdict(issue).rows) == pulls


def test_a_broker_that_forgets_everything_half_way_delays_only(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    for state in ("collected", "verified", "published"):
        story.stage.clear_broker()
        story.wait_for(lambda state=state: story.has_reached(state))
    story.settle()
    assert list(story.verdict(issue).rows) == pulls
