"""Webhooks that arrive twice, late, in another order, or from our own App."""

import random

import pytest

pytestmark = pytest.mark.services


def test_every_webhook_delivered_again_changes_nothing(story):
    issue, _ = story.open_judged_issue()
    before = story.verdict(issue), story.calls(), story.evaluations()
    standin = story.stage.standin
    mine = {d.guid for d in standin.deliveries() if d.installation_id == story.installation}
    for guid in sorted(mine):
        standin.redeliver(guid)
    story.settle()
    assert (story.verdict(issue), story.calls(), story.evaluations()) == before


@pytest.mark.parametrize("seed", [1, 2])
def test_webhooks_in_any_order_and_doubled_reach_the_same_end(story, seed):
    standin = story.stage.standin
    standin.hold_webhooks()
    issue = story.issue()
    draft = story.rival(issue, "w - h", draft=True)
    story.repo.ready(draft)
    second_rival = story.rival(issue, "w + h + 1")
    gone = story.rival(issue, "w")
    story.push(second_rival, "w * h")
    story.repo.close(gone)
    held = [d for d in standin.deliveries() if d.status == "PENDING"]
    order = [*range(len(held)), *range(len(held))]
    random.Random(seed).shuffle(order)
    standin.release(order)
    story.settle()
    assert story.verdict(issue).rows == {draft: "Incorrect", second_rival: "Correct"}
    assert story.checks_of(story.repo.head(gone)) == []


def test_a_webhook_that_never_came_is_made_up_for_by_the_clock(story):
    issue, (first, _) = story.open_judged_issue("w - h", "w + h + 1")
    assert story.verdict(issue).rows[first] == "Incorrect"
    story.stage.standin.hold_webhooks()
    story.push(first, "w * h")
    late = story.rival(issue, "h * w")
    question = story.repo.comment(issue, "/r4p status", "reader")
    story.stage.standin.release([])
    story.stage.tick("reconcile")
    story.wait_for(lambda: story.verdict(issue).rows.get(first) == "Correct")
    story.settle()
    assert story.verdict(issue).rows[late] == "Correct"
    assert "Compared here:" in story.answer(issue, question)


def test_the_echo_of_our_own_comment_and_checks_does_nothing(story):
    issue, _ = story.open_judged_issue()
    story.verdict(issue)
    standin = story.stage.standin
    echoes = [
        delivery
        for delivery in standin.deliveries()
        if delivery.installation_id == story.installation
        and delivery.payload["sender"]["type"] == "Bot"
    ]
    assert {delivery.event for delivery in echoes} == {"issue_comment", "check_run"}
    before = story.calls(), story.count_jobs()
    for delivery in echoes:
        standin.redeliver(delivery.guid)
    story.settle()
    assert (story.calls(), story.count_jobs()) == before
    assert "run_command" not in story.count_jobs()


def test_what_was_sent_while_no_door_was_open_is_asked_for_and_arrives(story):
    story.stage.kill("web")
    issue = story.issue()
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.stage.standin.drain()
    story.wait_for(story.stage.is_ready)
    story.settle()
    assert story.evaluations() == []
    comment = story.repo.comment(issue, "Anybody?", "reader")
    story.settle()
    story.request_redelivery()
    story.wait_for(lambda: story.evaluations() == ["published"], story.describe_open_jobs)
    story.settle()
    assert list(story.verdict(issue).rows) == pulls
    assert story.answer(issue, comment) == ""
