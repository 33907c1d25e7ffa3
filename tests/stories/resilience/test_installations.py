"""The App is removed, suspended, or loses a repository."""

import pytest

pytestmark = pytest.mark.services


def test_when_the_app_is_removed_everything_of_it_is_forgotten(story):
    issue, _ = story.open_judged_issue()
    story.verdict(issue)
    assert story.count_rows().keys() == {"installations", "repositories", "deliveries"}
    assert story.checkout().exists()
    story.stage.standin.uninstall(story.installation)
    story.is_installed = False
    story.settle()
    assert story.count_rows() == {}
    assert not story.checkout().exists()
    standin = story.stage.standin
    for guid in {d.guid for d in standin.deliveries() if d.installation_id == story.installation}:
        standin.redeliver(guid)
    story.settle()
    assert story.count_rows() == {}


def test_a_repository_taken_out_is_forgotten_and_the_rest_stays(story):
    issue, _ = story.open_judged_issue()
    story.verdict(issue)
    story.stage.standin.remove_repositories(story.installation, [story.repo])
    story.settle()
    assert "repositories" not in story.count_rows()
    assert not story.checkout().exists()
    story.stage.standin.add_repositories(story.installation, [story.repo])
    story.settle()
    assert story.count_rows()["repositories"] == 1


def test_while_suspended_nothing_is_published_and_afterwards_it_is(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    pulls = [story.rival(issue, result) for result in ("w * h", "w - h")]
    story.wait_for(lambda: story.evaluations() == ["collected"])
    story.stage.standin.suspend(story.installation)
    story.settle()
    assert story.is_silent(issue)
    assert [story.checks_of(story.repo.head(pull)) for pull in pulls] == [[], []]
    story.stage.standin.unsuspend(story.installation)
    story.settle()
    story.stage.tick("reconcile")
    story.wait_for(lambda: story.evaluations() == ["published"])
    assert list(story.verdict(issue).rows) == pulls


def test_removing_the_app_while_it_judges_leaves_nothing(story):
    issue = story.issue("Area is wrong, and the engine ponders")
    for result in ("w * h", "w - h"):
        story.rival(issue, result)
    story.wait_for(lambda: story.is_running("verify_group"))
    story.stage.standin.uninstall(story.installation)
    story.is_installed = False
    story.settle()
    assert story.is_silent(issue)
    assert story.count_rows() == {}
