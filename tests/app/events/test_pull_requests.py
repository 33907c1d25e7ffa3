import pytest

from app.events import GHOST, Actor, BaseChange, PullAction, PullRequestEvent
from tests.builders.github.webhook_payloads import (
    CAT,
    MONA,
    OTHER_SHA,
    SHA,
    TEN,
    account,
    envelope,
    pull,
    read,
)


def test_an_opened_pull_request_is_read_whole():
    event = read("pull_request", envelope(action="opened", pull_request=pull()))
    assert event == PullRequestEvent(
        delivery="guid",
        repository=CAT,
        sender=MONA,
        action=PullAction.OPENED,
        number=12,
        title="Handle empty input",
        body="Fixes #3",
        author=MONA,
        draft=False,
        merged=False,
        merge_commit=None,
        head=SHA,
        base=OTHER_SHA,
        base_ref="main",
        default_branch="main",
        before=None,
        base_before=None,
        occurred_at=TEN,
    )
    assert event.installation == 7


@pytest.mark.parametrize("action", list(PullAction))
def test_every_pull_request_action_we_act_on_is_kept(action):
    event = read("pull_request", envelope(action=action, pull_request=pull()))
    assert event.action is action


def test_a_push_to_a_pull_request_tells_the_head_before_it():
    payload = envelope(action="synchronize", pull_request=pull(), before=OTHER_SHA, after=SHA)
    assert read("pull_request", payload).before == OTHER_SHA


@pytest.mark.parametrize(
    ("changes", "before"),
    [
        ({"base": {"ref": {"from": "dev"}, "sha": {"from": SHA}}}, BaseChange("dev", SHA)),
        ({"base": {"ref": {"from": "dev"}}}, BaseChange("dev", None)),
        ({"title": {"from": "x"}}, None),
    ],
    ids=["with its commit", "without its commit", "another change"],
)
def test_a_changed_base_is_read_with_where_it_was(changes, before):
    payload = envelope(action="edited", pull_request=pull(), changes=changes)
    assert read("pull_request", payload).base_before == before


def test_pull_requests_by_bots_are_kept():
    bot = account("renovate[bot]", 9, "Bot")
    payload = envelope(action="opened", pull_request=pull(user=bot), sender=bot)
    assert read("pull_request", payload).author == Actor(9, "renovate[bot]", is_bot=True)


def test_a_deleted_account_reads_as_githubs_ghost():
    event = read("pull_request", envelope(action="opened", pull_request=pull(user=None)))
    assert event.author == GHOST
