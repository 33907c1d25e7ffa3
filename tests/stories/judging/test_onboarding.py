"""With `R4P_ONBOARDING`, a new repository without settings gets one pull request that sets the bot up."""

import pytest

from app.comments import ONBOARDING_TITLE
from app.settings.repo_config import FILE
from tests.stories import stage as stages
from tests.stories.stage import WRITER_RIGHTS
from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services
QUIET_SECONDS = 700.0
"""Longer than the ten minutes for which the bot waits by default."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    data = tmp_path_factory.mktemp("stage")
    settings = stages.build_script_settings(data) | {"R4P_ONBOARDING": "true"}
    with stages.run_stage(data, settings) as running:
        yield running


def install_again(story):
    """Suspend and resume the App, so that the bot sees the repository as new."""
    story.stage.standin.suspend(story.installation)
    story.settle()
    story.stage.standin.unsuspend(story.installation)
    story.settle()


def ask(tell):
    """Begin a story, install the second App, and return the story with its setup pull request."""
    story = tell(None)
    assert list_pulls(story) == []
    story.stage.standin.install(story.stage.writer, [story.repo], WRITER_RIGHTS)
    install_again(story)
    (setup,) = list_pulls(story)
    return story, setup


def list_pulls(story):
    return story.stage.standin.list_pulls(story.repo)


def test_the_bot_is_silent_until_its_setup_pull_request_is_merged(tell):
    story, setup = ask(tell)
    text = story.repo.issue(setup.number)
    assert (text.author, text.title) == ("r4p-writer[bot]", ONBOARDING_TITLE)
    assert "works in **shadow mode**" in text.body
    issue, _ = story.open_judged_issue()
    story.let_pass(QUIET_SECONDS)
    assert (story.evaluations(), story.is_silent(issue)) == (["published"], True)
    story.repo.merge(setup.number)
    story.settle()
    issue, pulls = story.open_judged_issue(title="Area is still wrong")
    story.let_pass(QUIET_SECONDS)
    assert story.verdict(issue).rows == {pulls[0]: "Correct", pulls[1]: "Incorrect"}
    install_again(story)
    assert story.count_jobs()["open_onboarding"] == 2, "refused before the second App, then opened"


def test_a_closed_setup_pull_request_is_the_last_one(tell):
    story, setup = ask(tell)
    story.repo.close(setup.number)
    story.settle()
    install_again(story)
    story.let_pass(QUIET_SECONDS)
    assert [pull.number for pull in list_pulls(story)] == [setup.number]
    issue, _ = story.open_judged_issue()
    story.let_pass(QUIET_SECONDS)
    assert story.is_silent(issue)
    asked = story.command(issue, "/r4p verify")
    assert story.verdict(issue).rows
    assert story.answer(issue, asked) == ""


def test_a_lost_answer_leaves_one_setup_pull_request(tell):
    story = tell(None)
    story.stage.standin.install(story.stage.writer, [story.repo], WRITER_RIGHTS)
    story.break_requests("POST /pulls", "502_after_effect")
    story.stage.standin.suspend(story.installation)
    story.stage.standin.unsuspend(story.installation)
    story.wait_for(lambda: story.is_postponed("open_onboarding"), story.describe_open_jobs)
    story.let_pass(40)
    assert len(list_pulls(story)) == 1


def test_a_repository_with_settings_is_not_asked(tell):
    story = tell(ADVISORY)
    story.stage.standin.install(story.stage.writer, [story.repo], WRITER_RIGHTS)
    install_again(story)
    assert list_pulls(story) == []
    assert story.repo.read_file(FILE, "main").decode() == ADVISORY


def test_the_repositories_of_one_installation_wait_for_each_other(tell):
    story, _ = ask(tell)
    owner = story.repo.full_name.partition("/")[0]
    standin = story.stage.standin
    more = [standin.create_repository(f"{owner}/{name}", {"a.py": "\n"}) for name in "bc"]
    standin.install(story.stage.writer, more, WRITER_RIGHTS)
    standin.add_repositories(story.installation, more)
    story.settle()
    assert [len(standin.list_pulls(repo)) for repo in more] == [1, 0]
    story.let_pass(61)
    assert [len(standin.list_pulls(repo)) for repo in more] == [1, 1]
