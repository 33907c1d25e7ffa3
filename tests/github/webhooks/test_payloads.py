"""Webhooks as a receiver sees them: signed, in order, and only the subscribed ones."""

import hashlib
import hmac

import pytest

from tests.github.actions.installs import DEFAULT_EVENTS
from tests.github.conftest import SECRET, make_scene
from tests.github.receiver import list_bodies
from tests.github.server_thread import StandInError


def test_a_delivery_is_signed_over_its_raw_bytes(webhook_scene, receiver, github):
    webhook_scene.repo.open_issue("Bug", "Grüße ☃")
    github.drain()
    (got,) = receiver.received
    digest = hmac.new(SECRET.encode(), got.body, hashlib.sha256).hexdigest()
    assert got.headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert got.headers["X-GitHub-Event"] == "issues"
    assert got.headers["X-GitHub-Hook-Installation-Target-ID"] == str(webhook_scene.app.app_id)


def test_registering_and_installing_are_announced(github, receiver):
    scene = make_scene(github, webhook_url=receiver.url, webhook_secret=SECRET)
    github.drain()
    assert receiver.events() == ["ping", "installation"]
    assert list_bodies(receiver)[1]["repositories"][0]["full_name"] == scene.repo.full_name


def test_the_life_of_an_installation_is_announced(webhook_scene, receiver, github):
    owner = webhook_scene.repo.full_name.split("/")[0]
    more = github.create_repository(f"{owner}/more", {"a": "a\n"})
    github.add_repositories(webhook_scene.installation, [more])
    github.remove_repositories(webhook_scene.installation, [more])
    github.accept_permissions(webhook_scene.installation, {"metadata": "read", "issues": "write"})
    github.suspend(webhook_scene.installation)
    github.unsuspend(webhook_scene.installation)
    github.uninstall(webhook_scene.installation)
    github.drain()
    actions = " ".join(body["action"] for body in list_bodies(receiver))
    assert actions == "added removed new_permissions_accepted suspend unsuspend deleted"


def test_a_whole_story_arrives_in_order(webhook_scene, receiver, github):
    issue = webhook_scene.repo.open_issue("Bug")
    pull = webhook_scene.fix("x = 1\n", body=f"Fixes #{issue}", draft=True).number
    webhook_scene.repo.ready(pull)
    webhook_scene.repo.push(pull, files={"tool/core.py": "x = 2\n"})
    webhook_scene.repo.edit_pr(pull, title="Better")
    webhook_scene.repo.review(pull)
    webhook_scene.repo.comment(pull, "nice")
    webhook_scene.repo.check_suite(webhook_scene.repo.head(pull), "success")
    webhook_scene.repo.merge(pull)
    github.drain()
    received = [
        (r, b.get("action")) for r, b in zip(receiver.events(), list_bodies(receiver), strict=True)
    ]
    assert received == [
        ("issues", "opened"),
        ("pull_request", "opened"),
        ("pull_request", "ready_for_review"),
        ("pull_request", "synchronize"),
        ("pull_request", "edited"),
        ("pull_request_review", "submitted"),
        ("issue_comment", "created"),
        ("check_suite", "completed"),
        ("pull_request", "closed"),
        ("push", None),
        ("check_suite", "requested"),
        ("issues", "closed"),
    ]


def test_the_other_actions_arrive_too(webhook_scene, receiver, github):
    issue = webhook_scene.repo.open_issue("Bug")
    comment = webhook_scene.repo.comment(issue, "one")
    webhook_scene.repo.edit_comment(comment, "two")
    webhook_scene.repo.delete_comment(comment)
    webhook_scene.repo.edit_issue(issue, body="more")
    webhook_scene.repo.lock(issue)
    webhook_scene.repo.close(issue)
    webhook_scene.repo.reopen(issue)
    webhook_scene.repo.delete_issue(issue)
    pull = webhook_scene.fix("x = 1\n", fork=False).number
    webhook_scene.repo.draft(pull)
    webhook_scene.repo.close(pull)
    github.drain()
    received = [
        f"{e} {b.get('action')}"
        for e, b in zip(receiver.events(), list_bodies(receiver), strict=True)
    ]
    assert received == [
        "issues opened",
        "issue_comment created",
        "issue_comment edited",
        "issue_comment deleted",
        "issues edited",
        "issues locked",
        "issues closed",
        "issues reopened",
        "issues deleted",
        "push None",
        "check_suite requested",
        "pull_request opened",
        "pull_request converted_to_draft",
        "pull_request closed",
    ]
    assert list_bodies(receiver)[4]["changes"] == {"body": {"from": ""}}
    assert list_bodies(receiver)[-1]["pull_request"]["merged"] is False


def test_a_push_says_from_where_to_where(webhook_scene, receiver, github):
    before = webhook_scene.repo.first_sha
    after = webhook_scene.repo.commit({"a.txt": "a\n"}, message="Add a")
    pull = webhook_scene.fix("x = 1\n")
    head = webhook_scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    webhook_scene.repo.edit_pr(pull.number, base="main")
    github.drain()
    push = next(
        b for e, b in zip(receiver.events(), list_bodies(receiver), strict=True) if e == "push"
    )
    assert (push["ref"], push["before"], push["after"]) == ("refs/heads/main", before, after)
    assert [c["added"] for c in push["commits"]] == [["a.txt"]]
    synchronize = next(b for b in list_bodies(receiver) if b.get("action") == "synchronize")
    assert (synchronize["before"], synchronize["after"]) == (pull.head_sha, head)
    edited = list_bodies(receiver)[-1]
    assert edited["changes"]["base"]["ref"] == {"from": "main"}


def test_the_bot_hears_its_own_comments_and_checks(webhook_scene, receiver, github):
    pull = webhook_scene.fix("x = 1\n")
    webhook_scene.comment(pull.number)
    webhook_scene.create_check(pull.head_sha, conclusion="neutral")
    github.drain()
    _, comment, created, completed = list_bodies(receiver)
    assert comment["sender"] == comment["comment"]["user"]
    assert (comment["sender"]["login"], comment["sender"]["type"]) == (
        webhook_scene.app.bot_login,
        "Bot",
    )
    assert comment["comment"]["performed_via_github_app"]["id"] == webhook_scene.app.app_id
    assert [created["action"], completed["action"]] == ["created", "completed"]


def test_buttons_and_reruns_of_a_check_reach_the_app_that_made_it(webhook_scene, receiver, github):
    pull = webhook_scene.fix("x = 1\n")
    button = {"label": "Agree", "description": "The verdict is right", "identifier": "agree"}
    run = webhook_scene.create_check(pull.head_sha, conclusion="neutral", actions=[button]).json()[
        "id"
    ]
    assert webhook_scene.repo.check_runs(pull.number)[0].buttons == {"agree": "Agree"}
    github.drain()
    receiver.received.clear()
    webhook_scene.repo.press(run, "agree", user="ann")
    webhook_scene.repo.rerequest(run)
    webhook_scene.repo.rerequest(run, suite=True)
    with pytest.raises(StandInError, match="no button"):
        webhook_scene.repo.press(run, "buy")
    github.drain()
    pressed, again, suite = list_bodies(receiver)
    assert pressed["requested_action"] == {"identifier": "agree"}
    assert (pressed["sender"]["login"], pressed["check_run"]["id"]) == ("ann", run)
    assert [again["action"], suite["action"]] == ["rerequested", "rerequested"]
    assert receiver.events() == ["check_run", "check_run", "check_suite"]


def test_reactions_are_not_announced(webhook_scene, receiver, github):
    number = webhook_scene.repo.open_issue("Bug")
    comment = webhook_scene.repo.comment(number, "x")
    webhook_scene.repo.react(comment, "+1")
    github.drain()
    assert receiver.events() == ["issues", "issue_comment"]


def test_only_subscribed_events_of_installed_repositories_arrive(github, receiver):
    scene = make_scene(
        github, webhook_url=receiver.url, webhook_secret=SECRET, events=["pull_request"]
    )
    elsewhere = github.create_repository(f"{scene.repo.full_name}-2", {"a": "a\n"})
    scene.repo.open_issue("Bug")
    scene.fix("x = 1\n")
    elsewhere.open_pr("Fix", files={"a": "b\n"})
    github.drain()
    assert receiver.events() == ["ping", "installation", "pull_request"]
    assert "pull_request" in DEFAULT_EVENTS


def test_a_suspended_installation_hears_nothing_of_its_repositories(
    webhook_scene, receiver, github
):
    github.suspend(webhook_scene.installation)
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    assert receiver.events() == ["installation"]
