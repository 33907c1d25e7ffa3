import pytest

from app.events import Ignored, PushedCommit, PushEvent
from tests.builders.github.webhook_payloads import CAT, MONA, OTHER_SHA, SHA, push, read


def test_a_push_to_the_default_branch_is_read_whole():
    assert read("push", push()) == PushEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        before=OTHER_SHA,
        after=SHA,
        forced=False,
        commits=(PushedCommit(SHA, "Fix it"),),
        config_touched=False,
    )


@pytest.mark.parametrize("kind", ["added", "modified", "removed"])
def test_a_push_that_touches_the_configuration_says_so(kind):
    event = read("push", push(commits=[{"id": SHA, "message": "", kind: ["x", ".github/r4p.yml"]}]))
    assert event.config_touched


@pytest.mark.parametrize(
    "fields",
    [
        {"forced": True},
        {"created": True},
        {"commits": [{"id": SHA, "message": ""}] * 2048},
    ],
    ids=["forced", "created", "cut"],
)
def test_a_push_that_does_not_list_all_may_have_touched_the_configuration(fields):
    assert read("push", push(**fields)).config_touched


def test_a_long_commit_message_is_cut():
    event = read("push", push(commits=[{"id": SHA, "message": "m" * 5000}]))
    assert len(event.commits[0].message) == 1000


def test_pushes_elsewhere_and_deletions_are_ignored():
    assert read("push", push(ref="refs/heads/fix")) == Ignored("a push beside the default branch")
    assert read("push", push(deleted=True)) == Ignored("the default branch was deleted")
