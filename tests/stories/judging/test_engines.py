"""Failing engines and patches that cannot be judged: a failure never makes a patch incorrect."""

import pytest
from sqlalchemy import text

from worker.publishing.verdict_view import NOT_FINISHED

FAILURES = text("select failure from evaluations where failure is not null")

pytestmark = pytest.mark.services


def test_replies_nobody_can_read_leave_every_patch_unsure(story):
    issue, pulls = story.open_judged_issue(title="Area is wrong, and the engine babbles")
    verdict = story.verdict(issue)
    assert verdict.rows == dict.fromkeys(pulls, "Unsure")
    assert "2 unreadable" in verdict.body
    assert {story.check(pull).conclusion for pull in pulls} == {"neutral"}


def test_an_engine_that_fails_leaves_every_patch_unsure_and_its_address_unsaid(story):
    issue, pulls = story.open_judged_issue(title="Area is wrong, and the engine chokes")
    verdict = story.verdict(issue)
    assert verdict.rows == dict.fromkeys(pulls, "Unsure")
    texts = [verdict.body, *(str(story.check(pull).summary) for pull in pulls)]
    assert "the engine failed" in texts[0]
    assert not any("gpu-7" in text for text in texts)


def test_one_vote_lost_of_two_is_told_and_the_other_counts(story):
    issue, (right, wrong) = story.open_judged_issue(title="Area is wrong, and the engine mumbles")
    verdict = story.verdict(issue)
    assert verdict.rows == {right: "Correct", wrong: "Incorrect"}
    assert verdict.agreement == {right: "1 of 1", wrong: "1 of 1"}
    assert "1 unreadable" in verdict.body


def test_an_engine_that_was_away_judges_when_it_is_back(story):
    story.is_rough = True
    issue, (right, wrong) = story.open_judged_issue(title="Area is wrong, and the engine sleeps")
    assert story.is_silent(issue)
    status = story.answer(issue, story.command(issue, "/r4p status"))
    assert "Waiting in the queue." in status
    story.let_pass(60)
    assert story.verdict(issue).rows == {right: "Correct", wrong: "Incorrect"}


def test_a_patch_too_big_for_the_model_is_not_judged_and_the_others_are(story):
    issue = story.issue()
    huge = "".join(f"line_{number} = {number}\n" for number in range(20_000))
    big = story.rival(issue, "", title="Rewrite", files={"area.py": huge})
    right, wrong = story.rival(issue, "w * h"), story.rival(issue, "w - h")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows == {big: "Not judged", right: "Correct", wrong: "Incorrect"}
    assert f"The bot did not judge #{big}: " in verdict.body
    assert "the verifier has room for" in verdict.body
    assert story.check(big).conclusion == "skipped"


def test_empty_and_binary_patches_are_not_judged_and_say_why(story):
    issue = story.issue()
    empty = story.rival(issue, "w + h", title="Touch nothing")
    binary = story.rival(issue, "", title="Logo", files={"logo.bin": "\0\1\2" * 40})
    right, wrong = story.rival(issue, "w * h"), story.rival(issue, "w - h")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows == dict.fromkeys((empty, binary), "Not judged") | {
        right: "Correct",
        wrong: "Incorrect",
    }
    assert "the patch is empty" in verdict.body
    assert "the patch changes no line of text" in verdict.body


def test_equal_edits_share_a_seat_and_a_verdict(story):
    issue, (first, second) = story.open_judged_issue("w * h", "w * h")
    verdict = story.verdict(issue)
    assert verdict.rows == {first: "Correct", second: "Correct"}
    assert f"The same edit as #\u200b{first}." in verdict.body


def test_a_verifier_that_gave_up_is_told_and_judged_on_request(story):
    story.is_rough, story.may_die = True, {"verify_group"}
    issue, pulls = story.open_judged_issue(title="Area is wrong, and the engine ponders")
    story.verdict(issue)
    story.give_up("verify_group", lambda: story.push(pulls[0], "h * w"))
    story.stage.tick("reconcile")
    story.wait_for(lambda: story.has_reached("published"))
    verdict = story.verdict(issue)
    assert set(verdict.rows.values()) == {"Not judged"}
    with story.stage.database.connect() as connection:
        (failure,) = connection.execute(FAILURES).scalars()
    texts = [verdict.body, *(f"{c.title} {c.summary}" for c in map(story.check, pulls))]
    assert all(NOT_FINISHED in text for text in texts)
    assert failure not in NOT_FINISHED
    assert not any(failure.splitlines()[0] in text for text in texts)
    story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows == {pulls[0]: "Correct", pulls[1]: "Incorrect"}
