"""`/r4p …` in comments: who may, what happens, and what is not a command at all."""

import pytest

from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services

DONE, REFUSED = ["eyes", "+1"], ["eyes", "confused"]


def test_help_lists_every_command_and_anybody_may_ask(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p help", author="reader")
    answer = story.answer(issue, asked)
    assert all(
        f"`/r4p {verb}" in answer
        for verb in ("verify", "status", "explain", "agree", "disagree", "group", "help")
    )
    assert story.reactions(issue, asked) == []


def test_verify_judges_a_single_pull_request_and_asking_twice_adds_votes(story):
    issue = story.issue()
    only = story.rival(issue, "w * h")
    first = story.command(issue, "/r4p verify")
    assert story.verdict(issue).agreement[only] == "2 of 2"
    second = story.command(only, "@r4p-bot verify")
    assert story.verdict(issue).agreement[only] == "4 of 4"
    assert story.reactions(issue, first) == story.reactions(only, second) == DONE
    assert story.answer(issue, first) == story.answer(only, second) == ""


def test_two_who_ask_at_the_same_moment_are_both_answered(story):
    issue = story.issue()
    story.stage.standin.hold_webhooks()
    asked = [story.repo.comment(issue, "/r4p verify", "maintainer") for _ in range(2)]
    story.stage.standin.release()
    story.settle()
    for comment in asked:
        assert "Not judged: The bot can judge no pull request" in story.answer(issue, comment)
        assert story.reactions(issue, comment) == DONE


def test_asking_while_events_come_in_gives_one_verdict_on_the_newest_heads(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    pulls = [story.rival(issue, result) for result in ("w - h", "w + h + 1")]
    story.stage.standin.hold_webhooks()
    asked = [story.repo.comment(issue, "/r4p verify", "maintainer") for _ in range(2)]
    story.push(pulls[0], "w * h")
    story.stage.standin.release()
    asked.append(story.repo.comment(issue, "/r4p verify", "maintainer"))
    story.push(pulls[1], "h * w")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, "changed since" in verdict.body) == (
        dict.fromkeys(pulls, "Correct"),
        False,
    )
    assert [story.check(pull).conclusion for pull in pulls] == ["success", "success"]
    assert [story.reactions(issue, comment) for comment in asked] == [DONE] * 3
    assert {*story.evaluations()} <= {"superseded", "published"}


def test_an_event_does_not_take_back_what_somebody_asked_for(tell):
    story = tell(ADVISORY + "triggers: [command]\n")
    issue = story.issue("Area is wrong, and the engine ponders")
    only = story.rival(issue, "w * h")
    story.settle()
    asked = story.repo.comment(issue, "/r4p verify", "maintainer")
    story.wait_for(lambda: story.evaluations() == ["collected"])
    story.repo.edit_pr(only, body=f"Fixes #{issue}, in other words")
    story.settle()
    assert story.verdict(issue).rows == {only: "Correct"}
    assert story.reactions(issue, asked) == DONE


def test_in_shadow_mode_who_asked_is_answered_though_a_head_moved(tell):
    story = tell(ADVISORY.replace("advisory", "shadow"))
    issue = story.issue("Area is wrong, and the engine ponders")
    only = story.rival(issue, "w - h")
    story.settle()
    story.repo.comment(issue, "/r4p verify", "maintainer")
    story.wait_for(lambda: story.evaluations() == ["collected"])
    story.push(only, "w * h")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows == {only: "Incorrect"}
    assert "has new commits" in verdict.body


def test_verify_with_nothing_to_judge_says_so(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p verify")
    answer = story.answer(issue, asked)
    assert "Not judged: The bot can judge no pull request and needs 1." in answer


def test_a_verify_that_comes_to_nothing_is_answered_where_it_was_written(story):
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    story.repo.close(issue)
    asked = story.command(only, f"/r4p verify\n/r4p group add #{only}")
    answer = story.answer(only, asked)
    assert "Not judged: The issue is closed." in answer
    assert f"Added: #{only}." in answer
    assert story.is_silent(issue)


def test_status_and_explain_are_open_to_readers(story):
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    status = story.answer(issue, story.command(issue, "/r4p status", author="reader"))
    assert "Judged. [The verdict](" in status
    assert f"- #{right} (closes it)\n- #{wrong} (closes it)" in status
    explained = story.answer(wrong, story.command(wrong, f"/r4p explain #{wrong}", "reader"))
    assert f"**#{wrong}: Incorrect**" in explained
    assert f"#{right}:" not in explained


def test_before_a_verdict_there_is_nothing_to_explain(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p explain", author="reader")
    assert "There is no verdict here yet." in story.answer(issue, asked)
    assert story.reactions(issue, asked) == []


def test_agreeing_and_disagreeing_become_outcomes_with_the_right_of_who_spoke(story):
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    agreed = story.command(issue, f"/r4p agree #{right}")
    story.command(issue, f"/r4p disagree #{wrong} it is what the author meant")
    assert story.reactions(issue, agreed) == DONE
    assert story.outcomes(issue) == [
        (right, "agree", None),
        (wrong, "disagree", "it is what the author meant"),
    ]
    assert {row.permission for row in story.outcome_rows(issue)} == {"maintain"}


def test_a_group_can_be_added_to_and_taken_from(story):
    issue, (first, second) = story.open_judged_issue()
    story.verdict(issue)
    loose = story.pull("Multiply too", files={"area.py": "def area(w, h):\n    return h * w\n"})
    added = story.command(issue, f"/r4p group add #{loose}")
    assert f"Added: #{loose}." in story.answer(issue, added)
    assert story.verdict(issue).rows[loose] == "Correct"
    removed = story.command(issue, f"/r4p group remove #{first}")
    assert f"Removed: #{first}." in story.answer(issue, removed)
    assert list(story.verdict(issue).rows) == [second, loose]
    shown = story.answer(issue, story.command(issue, "/r4p group"))
    assert f"- #{second} (closes it)\n- #{loose} (added by command)" in shown


def test_an_unknown_verb_is_answered_with_what_was_meant(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p verfy")
    assert "Did you mean `/r4p verify`?" in story.answer(issue, asked)
    assert story.reactions(issue, asked) == REFUSED
    assert "evaluate_issue" not in story.count_jobs()


def test_a_reader_may_not_start_a_judgement(story):
    issue = story.issue()
    own = story.rival(issue, "w * h", author="reader")
    asked = story.command(own, "/r4p verify", author="reader")
    assert "needs write access" in story.answer(own, asked)
    assert story.reactions(own, asked) == []
    again = story.command(own, "/r4p verify", author="reader")
    assert (story.answer(own, again), story.reactions(own, again)) == ("", [])
    assert story.is_silent(issue)
    assert story.evaluations() == []


@pytest.mark.parametrize(
    "body",
    [
        "> /r4p verify",
        "```\n/r4p verify\n```",
        "    /r4p verify",
        "Use `/r4p verify` for that.",
        "<!--\n/r4p verify\n-->",
        "Then I wrote /r4p verify again.",
    ],
    ids=["quote", "fence", "indented", "code", "hidden", "mid-line"],
)
def test_what_is_no_command_does_nothing(story, body):
    issue = story.issue()
    comment = story.command(issue, body)
    assert (story.reactions(issue, comment), story.is_silent(issue)) == ([], True)
    assert story.calls() == {}


def test_edited_comments_and_bots_give_no_commands(story):
    issue = story.issue()
    edited = story.command(issue, "Looks good to me.")
    story.repo.edit_comment(edited, "/r4p verify")
    story.stage.standin.add_user("helper[bot]", "Bot")
    by_bot = story.command(issue, "/r4p verify", author="helper[bot]")
    assert story.reactions(issue, edited) == story.reactions(issue, by_bot) == []
    assert story.is_silent(issue)
    assert story.count_jobs() == {"refresh_config": 1}


def test_a_check_runs_buttons_ask_again_and_record_opinions(story):
    issue, (right, wrong) = story.open_judged_issue()
    story.verdict(issue)
    story.repo.press(story.check(right).id, "r4p-verify")
    story.settle()
    assert story.verdict(issue).agreement[right] == "4 of 4"
    story.repo.press(story.check(wrong).id, "r4p-disagree")
    story.settle()
    assert [kind for _, kind, _ in story.outcomes(issue)] == ["disagree"]


def test_a_review_commands_as_a_comment_does_and_is_answered_in_words(story):
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    asked = story.review(only, "Looks right to me.\n\n/r4p verify")
    assert story.verdict(issue).rows == {only: "Correct"}
    assert "Understood: `/r4p verify`." in story.answer(only, asked)
    both = story.review(only, "/r4p agree\n/r4p status")
    verdict = story.answer(only, both)
    assert ("Understood: `/r4p agree`." in verdict, f"- #{only} (closes it)" in verdict) == (
        True,
        True,
    )
    assert (only, "agree", None) in story.outcomes(issue)


def test_a_review_gives_no_right_and_a_mistake_in_it_is_corrected(story):
    issue = story.issue()
    own = story.rival(issue, "w * h", author="reader")
    story.settle()
    asked = story.review(own, "/r4p verify", author="reader")
    assert "needs write access" in story.answer(own, asked)
    unknown = story.review(own, "/r4p verfy")
    assert "Did you mean `/r4p verify`?" in story.answer(own, unknown)
    story.repo.close(issue)
    closed = story.review(own, "/r4p verify")
    assert "Not judged: The issue is closed." in story.answer(own, closed)
    assert "Understood: `/r4p verify`." in story.answer(own, closed)
    assert (story.evaluations(), story.is_silent(issue)) == ([], True)
