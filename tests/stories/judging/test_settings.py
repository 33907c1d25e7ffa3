"""Settings of a repository in `.github/r4p.yml`, and broken files."""

import pytest

from tests.stories.verdicts import ADVISORY, area

pytestmark = pytest.mark.services

FILE = ".github/r4p.yml"


def config(**changes):
    """Return the stories' settings with changes."""
    lines = dict(line.split(": ", 1) for line in ADVISORY.splitlines())
    return "".join(f"{key}: {value}\n" for key, value in (lines | changes).items())


@pytest.mark.parametrize(
    ("mode", "conclusions"),
    [("advisory", ["success", "neutral"]), ("enforce", ["success", "failure"])],
)
def test_only_enforce_fails_the_check_of_an_incorrect_patch(tell, mode, conclusions):
    story = tell(config(mode=mode))
    issue, pulls = story.open_judged_issue()
    story.verdict(issue)
    assert [story.check(pull).conclusion for pull in pulls] == conclusions


def test_shadow_judges_and_says_nothing_until_asked(tell):
    story = tell(config(mode="shadow"))
    issue, pulls = story.open_judged_issue()
    assert story.evaluations() == ["published"]
    assert story.is_silent(issue, *pulls)
    assert [story.checks_of(story.repo.head(pull)) for pull in pulls] == [[], []]
    story.command(issue, "/r4p verify")
    assert set(story.verdict(issue).rows) == set(pulls)


def test_without_a_file_a_repository_is_watched_in_silence_after_ten_quiet_minutes(tell):
    story = tell(None)
    issue, pulls = story.open_judged_issue()
    assert story.evaluations() == []
    story.let_pass(600)
    assert story.evaluations() == ["published"]
    assert story.is_silent(issue, *pulls)


def test_a_broken_file_leaves_the_last_good_one_in_force_and_is_told(story):
    story.repo.commit({FILE: config(mode="loud")})
    issue, pulls = story.open_judged_issue()
    verdict = story.verdict(issue)
    assert [story.check(pull).conclusion for pull in pulls] == ["success", "neutral"]
    reply = "The bot can't use `.github/r4p.yml` and keeps the last good settings: line 2: `mode` can't be"
    assert reply in verdict.body
    status = story.answer(issue, story.command(issue, "/r4p status", author="reader"))
    assert reply in status
    story.repo.commit({FILE: config(mode="enforce")})
    story.settle()
    story.command(issue, "/r4p verify")
    assert "can't be used" not in story.verdict(issue).body
    assert story.check(pulls[1]).conclusion == "failure"


def test_a_pull_request_that_would_break_the_file_gets_a_red_check_until_it_is_mended(story):
    broken = story.pull("Settings", files={FILE: config(trigers="[command]")})
    story.settle()
    (check,) = story.checks_of(story.repo.head(broken), "r4p/config")
    assert check.conclusion == "failure"
    assert "did you mean `triggers`?" in check.summary
    story.heads.add(story.repo.push(broken, files={FILE: config(triggers="[command]")}))
    story.settle()
    assert story.checks_of(story.repo.head(broken), "r4p/config") == []
    unrelated = story.pull("Words", files={"README.md": "# Area\n"})
    story.settle()
    assert story.checks_of(story.repo.head(unrelated), "r4p/config") == []


def test_the_red_check_also_comes_where_an_issue_is_named(story):
    issue = story.issue()
    broken = story.rival(issue, "", title="Both", files=area("w * h") | {FILE: "mode: loud\n"})
    sound = story.rival(issue, "", title="Sound", files=area("w - h") | {FILE: config(votes="3")})
    story.settle()
    (check,) = story.checks_of(story.repo.head(broken), "r4p/config")
    assert (check.conclusion, "`version` is missing" in check.summary) == ("failure", True)
    assert story.checks_of(story.repo.head(sound), "r4p/config") == []
    assert story.verdict(issue).rows == {broken: "Correct", sound: "Incorrect"}
    mended = story.repo.push(broken, files={FILE: config(votes="3")})
    story.heads.add(mended)
    story.settle()
    assert story.checks_of(mended, "r4p/config") == []
    assert story.verdict(issue).rows[broken] == "Correct"


def test_a_file_on_a_pull_requests_own_branch_decides_nothing(story):
    issue = story.issue()
    schemer = story.rival(
        issue, "", title="Mine", files=area("w - h") | {FILE: config(mode="enforce")}
    )
    honest = story.rival(issue, "w * h")
    story.settle()
    assert story.verdict(issue).rows == {schemer: "Incorrect", honest: "Correct"}
    assert story.check(schemer).conclusion == "neutral"


def test_paths_authors_and_numbers_decide_who_takes_part(tell):
    story = tell(config(paths='["**.py"]', ignore_authors="[crank]", min_candidates="3"))
    issue = story.issue()
    ignored = story.rival(issue, "w", author="crank")
    elsewhere = story.rival(issue, "", title="Words", files={"README.md": "# Area\n"})
    first, second = story.rival(issue, "w * h"), story.rival(issue, "w - h")
    story.settle()
    assert story.is_silent(issue)
    third = story.rival(issue, "h * w")
    story.settle()
    verdict = story.verdict(issue)
    assert list(verdict.rows) == [first, second, third]
    assert f"#{ignored} is left out: its author is listed in `ignore_authors`." in verdict.body
    assert f"#{elsewhere} is left out: it touches none of the configured `paths`." in verdict.body


def test_with_commands_as_the_only_trigger_nothing_starts_by_itself(tell):
    story = tell(config(triggers="[command]"))
    issue, pulls = story.open_judged_issue()
    assert story.evaluations() == []
    story.command(issue, "/r4p verify")
    assert list(story.verdict(issue).rows) == pulls


def test_comments_none_leaves_the_checks_to_speak(tell):
    story = tell(config(comments="none"))
    issue, pulls = story.open_judged_issue()
    assert story.is_silent(issue)
    assert [story.check(pull).conclusion for pull in pulls] == ["success", "neutral"]
