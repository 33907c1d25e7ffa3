"""A lone pull request is judged beside alternatives of the bot's agents."""

import pytest

from tests.stories.verdicts import ADVISORY, FILL

pytestmark = pytest.mark.services
an_agent_works = pytest.mark.usefixtures("bubblewrap")

THREE_WAYS = {"shapes.py": 'def area(shape):\n    return "three ways"\n'}
HOPELESS = {"shapes.py": 'def area(shape):\n    return "beyond repair"\n'}
SLOW = {"shapes.py": 'def area(shape):\n    return "takes its time"\n'}
POOR = FILL + "alternatives_budget: {tokens: 0}\n"
DONE, REFUSED = ["eyes", "+1"], ["eyes", "confused"]


def trees(story):
    """Return the exported trees that are still there."""
    return list((story.stage.bot.data / "trees").glob("*-*"))


@an_agent_works
def test_a_lone_pull_request_and_three_alternatives_are_one_group_of_four(tell):
    story = tell(FILL, THREE_WAYS)
    issue = story.issue()
    only = story.rival(issue, "w - h + 1")
    story.settle()
    verdict = story.verdict(issue)
    assert verdict.rows == {only: "Incorrect"}
    assert sorted(verdict.alternatives.values()) == ["Correct", "Correct", "Incorrect"]
    assert verdict.document["group"]["size"] == 4
    assert [len(part) for part in verdict.document["group"]["partition"]] == [4]
    (submitted, *written) = verdict.document["patches"]
    assert (submitted["id"], "proposed_by" in submitted) == (f"#{only}", False)
    assert {(patch["proposed_by"]["agent"], patch["head_sha"]) for patch in written} == {
        ("mini-se", None)
    }
    assert "git apply" in verdict.body
    assert story.check(only).conclusion == "neutral"
    assert trees(story) == []


@an_agent_works
def test_an_agent_that_hands_in_nothing_leaves_the_group_without_it(tell):
    story = tell(FILL, HOPELESS)
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Correct"}, {})
    assert "the agent's replies were unreadable" in verdict.body
    story.repo.edit_pr(only, body=f"Fixes #{issue}, in other words")
    story.push(only, "h * w")
    story.settle()
    assert story.verdict(issue).rows == {only: "Correct"}
    assert story.check(only).conclusion == "success"
    assert story.count_jobs()["propose_patches"] == 1


@an_agent_works
def test_what_was_written_once_is_judged_again_and_not_written_again(tell):
    story = tell()
    issue = story.issue()
    only = story.rival(issue, "w - h")
    story.settle()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    assert story.reactions(issue, asked) == DONE
    first = story.verdict(issue)
    assert (first.rows, first.alternatives) == ({only: "Incorrect"}, {"A1": "Correct"})
    story.push(only, "w / h")
    story.settle()
    again = story.verdict(issue)
    assert (again.rows, again.alternatives) == (first.rows, first.alternatives)
    assert story.check(only).conclusion == "neutral"
    assert story.count_jobs()["propose_patches"] == 1
    status = story.answer(issue, story.command(issue, "/r4p status", author="reader"))
    assert "A1" in status


@an_agent_works
def test_an_issue_without_a_pull_request_gets_one_when_somebody_asks(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({}, {"A1": "Correct"})
    explained = story.answer(issue, story.command(issue, "/r4p explain A1", author="reader"))
    assert "**A1: Correct**" in explained


@an_agent_works
def test_an_agent_that_hands_in_nothing_for_nobody_is_said_to_who_asked(tell):
    story = tell(ADVISORY, HOPELESS)
    issue = story.issue()
    asked = story.command(issue, "/r4p propose")
    answer = story.answer(issue, asked)
    assert "will write an alternative" in answer
    assert "No alternative: the agent's replies were unreadable." in answer


def test_where_nothing_may_be_spent_nothing_is_written(tell):
    story = tell(POOR)
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    assert story.is_silent(issue)
    asked = story.command(only, "/r4p propose")
    assert "budget for alternatives is used up for today" in story.answer(only, asked)
    assert story.reactions(only, asked) == REFUSED
    assert "propose_patches" not in story.count_jobs()


@an_agent_works
def test_an_agent_that_may_not_pay_for_a_reply_ends_and_that_is_said(tell):
    story = tell(FILL + "alternatives_budget: {tokens: 50}\n")
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Correct"}, {})
    assert "budget for alternatives is used up for today" in verdict.body


def test_a_reader_may_not_have_one_written(story):
    issue = story.issue()
    asked = story.command(issue, "/r4p propose", author="reader")
    assert "needs write access" in story.answer(issue, asked)
    assert "propose_patches" not in story.count_jobs()


def at_work(tell):
    """Return a story in which an agent works slowly, its issue and its only pull request."""
    story = tell(FILL, SLOW)
    issue = story.issue()
    only = story.rival(issue, "w - h")
    story.wait_for(lambda: story.is_running("propose_patches"))
    return story, issue, only


@an_agent_works
def test_an_agent_whose_group_moves_on_is_stopped_and_another_one_begins(tell):
    story, issue, only = at_work(tell)
    story.push(only, "w / h")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Incorrect"}, {"A1": "Correct"})
    assert story.evaluations() == ["superseded", "published"]
    assert story.count_jobs()["propose_patches"] == 2
    assert trees(story) == []


@an_agent_works
def test_an_agent_is_left_in_peace_where_nothing_changed(tell):
    story, issue, only = at_work(tell)
    story.repo.edit_pr(only, body=f"Fixes #{issue}, in other words")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Incorrect"}, {"A1": "Correct"})
    assert story.evaluations() == ["published"]
    assert trees(story) == []


def test_where_the_agents_process_is_killed_the_group_is_judged_without_it(tell):
    story, issue, only = at_work(tell)
    story.is_rough = True
    # the lease must end and the process start again, which takes long on a busy machine
    story.patience = 60.0
    story.stage.kill("agents")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Incorrect"}, {})
    assert "the agent's process ended too early" in verdict.body
    assert trees(story) == []


def test_what_agents_read_goes_where_the_app_is_removed(tell):
    story, _issue, _only = at_work(tell)
    story.stage.standin.uninstall(story.installation)
    story.is_installed = False
    story.settle()
    assert story.count_rows() == {}
    story.wait_for(lambda: trees(story) == [])
