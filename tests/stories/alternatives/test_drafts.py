"""`/r4p open A1` opens a draft pull request if the repository and the operator allow it."""

import pytest

from tests.stories import stage as stages
from tests.stories.stage import WRITER_RIGHTS
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY, area

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("bubblewrap")]

WANTED = ADVISORY + "draft_pull_requests: true\n"
DONE, REFUSED = ["eyes", "+1"], ["eyes", "confused"]


def prepare_alternative(story, rights=WRITER_RIGHTS):
    """Create an issue with one pull request and A1, and install the second App; return the numbers."""
    if rights:
        story.stage.standin.install(story.stage.writer, [story.repo], rights)
    issue = story.issue()
    only = story.rival(issue, "w - h")
    story.settle()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    assert story.verdict(issue).alternatives == {"A1": "Correct"}
    return issue, only


def read_refusal(story, issue, line="/r4p open A1", **options):
    """Return the answer to a command that the bot refuses at once."""
    asked = story.command(issue, line, **options)
    assert story.reactions(issue, asked) == ([] if options else REFUSED)
    return story.answer(issue, asked)


def open_draft(story, issue):
    """Open a draft by a command and return its number."""
    asked = story.command(issue, "/r4p open A1")
    assert (story.reactions(issue, asked), story.answer(issue, asked)) == (DONE, "")
    (verdict,) = story.read_notices(issue, "draft")
    return int(verdict.split("#")[1].split(".")[0])


def test_an_alternative_is_opened_as_a_draft_once_and_is_nobodys_rival(tell):
    story = tell(WANTED)
    issue, only = prepare_alternative(story)
    assert "`/r4p open A1` opens A1 as a draft pull request." in story.verdict(issue).body
    draft = open_draft(story, issue)
    pull = story.repo.pull(draft)
    assert (pull.draft, pull.head_ref, pull.base_ref) == (True, f"r4p/issue-{issue}-A1", "main")
    text = story.repo.issue(draft)
    assert (text.author, text.title) == ("r4p-writer[bot]", f"Alternative A1 for issue #{issue}")
    assert "**Untested.**" in text.body
    assert f"/issues/{issue}#issuecomment-{story.verdict(issue).id}" in text.body
    again = story.command(issue, "/r4p open A1")
    assert story.answer(issue, again).endswith(f"A1 already has a draft pull request: #{draft}.\n")
    assert story.count_jobs()["open_draft"] == 1
    judged = story.evaluations()
    story.repo.edit_pr(draft, body=f"Fixes #{issue}")
    story.repo.ready(draft)
    story.settle()
    assert story.evaluations() == judged
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == ({only: "Incorrect"}, {"A1": "Correct"})
    added = read_refusal(story, issue, f"/r4p group add #{draft}")
    assert f"#{draft} is the bot's own draft" in added
    story.repo.merge(draft)
    story.settle()
    assert story.outcomes(issue) == []


def test_without_the_repositorys_word_nothing_is_opened(tell):
    story = tell()
    issue, _only = prepare_alternative(story)
    assert "`draft_pull_requests: true` in `.github/r4p.yml`" in read_refusal(story, issue)
    assert "open_draft" not in story.count_jobs()


def test_a_reader_may_not_have_one_opened_and_nobody_one_that_is_not_there(tell):
    story = tell(WANTED)
    issue, _only = prepare_alternative(story)
    assert "needs write access" in read_refusal(story, issue, author="reader")
    assert "A9 is not among" in read_refusal(story, issue, "/r4p open A9")
    assert "written as A1" in read_refusal(story, issue, "/r4p open")
    assert "open_draft" not in story.count_jobs()


@pytest.mark.parametrize(
    ("rights", "reason"),
    [
        (None, "second App, which opens pull requests, is not installed"),
        ({"metadata": "read"}, "the bot's second App may not write here"),
    ],
)
def test_a_second_app_that_may_not_write_here_is_said(tell, rights, reason):
    story = tell(WANTED)
    issue, _only = prepare_alternative(story, rights)
    asked = story.command(issue, "/r4p open A1")
    assert story.reactions(issue, asked) == DONE
    (notice,) = story.read_notices(issue, "draft")
    assert reason in notice


def test_where_the_code_has_moved_on_that_is_said(tell):
    story = tell(WANTED)
    issue, _only = prepare_alternative(story)
    story.repo.commit(area("w + h + 1"))
    story.settle()
    story.command(issue, "/r4p open A1")
    (notice,) = story.read_notices(issue, "draft")
    assert "the code has changed, and the diff does not apply any more" in notice


def test_where_a_write_fails_one_draft_is_opened_all_the_same(tell):
    story = tell(WANTED)
    issue, _only = prepare_alternative(story)
    story.break_requests("POST /pulls", "502_after_effect")
    story.repo.comment(issue, "/r4p open A1", "maintainer")
    story.wait_for(lambda: story.is_postponed("open_draft"))
    story.let_pass(40)
    (notice,) = story.read_notices(issue, "draft")
    assert "is open as a draft pull request: #" in notice


@pytest.fixture(scope="module")
def without_a_writer(tmp_path_factory):
    data = tmp_path_factory.mktemp("stage")
    settings = stages.build_script_settings(data) | {"R4P_WRITER_APP_ID": ""}
    with stages.run_stage(data, settings) as running:
        yield running


def test_without_a_second_app_what_is_missing_is_named(without_a_writer):
    assert "writer" not in {child.process.name for child in without_a_writer.bot.children}
    story = Story.begin(without_a_writer, "story-without-a-writer", WANTED, {})
    issue, _only = prepare_alternative(story)
    assert "`R4P_WRITER_APP_ID`" in read_refusal(story, issue)
    story.end()
