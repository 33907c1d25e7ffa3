"""`/r4p pause`, `resume`, `cancel`, `delegate` and `config`, and the default settings of an organisation."""

import pytest

from tests.stories.judging.test_commands import DONE, REFUSED
from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services

FILE = ".github/r4p.yml"


def test_pause_stops_automatic_judging_until_resume(story):
    issue = story.issue()
    paused = story.command(issue, "/r4p pause")
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.settle()
    assert story.evaluations() == []
    status = story.answer(issue, story.command(issue, "/r4p status", "reader"))
    assert "`/r4p resume` ends that" in status
    resumed = story.command(issue, "/r4p resume")
    assert story.verdict(issue).rows == dict(zip(pulls, ["Correct", "Incorrect"], strict=True))
    assert story.reactions(issue, paused) == story.reactions(issue, resumed) == DONE


def test_a_command_judges_a_paused_issue(story):
    issue = story.issue()
    only = story.rival(issue, "w * h")
    story.command(issue, "/r4p pause")
    story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows == {only: "Correct"}


def test_cancel_stops_what_runs_and_a_later_wish_is_carried_out(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    only = story.rival(issue, "w * h")
    story.settle()
    story.repo.comment(issue, "/r4p verify", "maintainer")
    story.wait_for(lambda: story.evaluations() == ["collected"])
    cancelled = story.command(issue, "/r4p cancel")
    assert "Cancelled. A published verdict stays." in story.answer(issue, cancelled)
    assert story.evaluations() == ["superseded"]
    again = story.command(issue, "/r4p cancel")
    assert "Nothing waits or runs here" in story.answer(issue, again)
    story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows == {only: "Correct"}


def test_a_delegate_may_command_on_one_issue_only(story):
    issue, other = story.issue(), story.issue()
    only = story.rival(issue, "w * h")
    story.settle()
    refused = story.command(issue, "/r4p delegate reader", "reader")
    assert "`/r4p delegate` needs write access" in story.answer(issue, refused)
    given = story.command(issue, "/r4p delegate @Reader")
    assert "On this issue `reader` may use `verify`" in story.answer(issue, given)
    asked = story.command(issue, "/r4p verify", "reader")
    assert story.reactions(issue, asked) == DONE
    assert story.verdict(issue).rows == {only: "Correct"}
    story.let_pass(60)  # replies to readers have a pace of their own
    elsewhere = story.command(other, "/r4p verify", "reader")
    assert "`/r4p verify` needs write access" in story.answer(other, elsewhere)
    taken = story.command(issue, "/r4p delegate remove reader")
    assert "Nobody has delegated commands" in story.answer(issue, taken)
    late = story.command(issue, "/r4p verify", "reader")
    assert story.reactions(issue, late) == []
    assert story.evaluations() == ["published"]


def test_a_delegate_cannot_delegate(story):
    issue = story.issue()
    given = story.command(issue, "/r4p delegate reader")
    assert "`reader`" in story.answer(issue, given)
    asked = story.command(issue, "/r4p delegate friend", "reader")
    assert story.reactions(issue, asked) == REFUSED
    assert "needs write access" in story.answer(issue, asked)


def test_config_shows_own_keys_and_those_of_the_organisation(tell):
    story = tell("version: 1\nvotes: 2\nquiet_minutes: 0\n")
    shared = "version: 1\nmode: advisory\nvotes: 4\ncomments: all\n"
    standin, owner = story.stage.standin, story.repo.full_name.partition("/")[0]
    defaults = standin.create_repository(f"{owner}/.github", {FILE: shared})
    standin.add_repositories(story.installation, [defaults])
    story.settle()
    issue, pulls = story.open_judged_issue()
    verdict = story.verdict(issue)
    assert "(advisory)" in verdict.body
    assert verdict.agreement[pulls[0]] == "2 of 2"
    text = story.answer(issue, story.command(issue, "/r4p config", "reader"))
    own, rest = text.split("From `.github/r4p.yml` of the organisation's repository `.github`:")
    shared_part, defaults_part = rest.split("The bot's defaults:")
    assert "- `votes: 2`" in own
    assert "- `mode: advisory`" in shared_part
    assert "- `training: off`" in defaults_part
    defaults.commit({FILE: shared.replace("advisory", "shadow")})
    story.settle()
    later = story.answer(issue, story.command(issue, "/r4p config", "reader"))
    assert "- `mode: shadow`" in later


def test_an_issue_is_judged_so_often_a_day_and_a_command_still_works(tell):
    story = tell(ADVISORY + "evaluations_per_day: 1\n")
    issue, pulls = story.open_judged_issue("w + h + 1", "w - h")
    assert set(story.verdict(issue).rows.values()) == {"Incorrect"}
    story.push(pulls[0], "w * h")
    story.settle()
    assert story.evaluations() == ["published"]
    status = story.answer(issue, story.command(issue, "/r4p status", "reader"))
    assert "`evaluations_per_day` in this repository's settings allows 1" in status
    story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows[pulls[0]] == "Correct"
