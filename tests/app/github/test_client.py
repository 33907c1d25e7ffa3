"""What we read over REST, and as the App itself, against the stand-in."""

from datetime import UTC, datetime, timedelta

import pytest

from app.github import client
from app.github.app_client import deliveries, installations, redeliver, register, whoami
from app.github.client import CheckFacts
from app.github.errors import NotFound
from app.github.redaction import redact
from app.identifiers import CommentId, CommitSha, IssueNumber
from app.permissions import Permission
from tests.app.github.local_github import REPOSITORY, Reply
from tests.app.github.scene import opened


@pytest.mark.parametrize("role", ["none", "read", "triage", "write", "maintain", "admin"])
def test_each_role_is_a_right_and_rights_compare(scene, role):
    scene.repo.open_issue("x", author="alice")
    scene.standin.grant(scene.repo, "alice", role)
    assert client.permission_of(scene.github, scene.repository, "alice") is Permission[role.upper()]


def test_a_stranger_to_github_may_nothing(scene):
    assert client.permission_of(scene.github, scene.repository, "nobody-here") is Permission.NONE


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ({"permission": "write", "role_name": "security-team"}, Permission.WRITE),
        ({"permission": "write", "role_name": "maintain"}, Permission.MAINTAIN),
        ({"permission": "read", "role_name": "triage"}, Permission.TRIAGE),
        ({"permission": "none"}, Permission.NONE),
    ],
)
def test_an_organisations_own_role_counts_as_what_stands_beside_it(server, github, said, right):
    server.replies = [Reply(200, said)]
    assert client.permission_of(github, REPOSITORY, "a/b?c") is right
    assert server.sent == ["GET /repos/octo/repo/collaborators/a%2Fb%3Fc/permission"]


def test_a_comment_is_read_with_who_wrote_it(scene):
    issue = scene.repo.open_issue("Broken")
    theirs = scene.repo.comment(issue, "/r4p verify", "alice")
    ours = scene.comment(issue)
    found = client.comment(scene.github, scene.repository, CommentId(theirs))
    assert (found.author, found.body, found.is_ours) == ("alice", "/r4p verify", False)
    both = client.comments(scene.github, scene.repository, IssueNumber(issue))
    assert [(c.id, c.is_ours) for c in both] == [(theirs, False), (ours, True)]
    scene.repo.delete_comment(theirs)
    with pytest.raises(NotFound):
        client.comment(scene.github, scene.repository, CommentId(theirs))


def test_a_person_who_acts_through_our_app_is_not_our_app(server, github):
    author = {"id": 1, "login": "alice", "type": "User"}
    via = {"id": github.app.id}
    said = {"id": 3, "body": "x", "user": author, "performed_via_github_app": via}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    server.replies = [Reply(200, said | times)]
    assert not client.comment(github, REPOSITORY, CommentId(3)).is_ours


def test_thumbs_are_polled_and_an_unchanged_answer_is_a_304(scene):
    comment = scene.comment(scene.repo.open_issue("Broken"))
    scene.repo.react(comment, "-1", "alice")
    first = client.reactions(scene.github, scene.repository, CommentId(comment))
    mark = scene.standin.mark()
    assert client.reactions(scene.github, scene.repository, CommentId(comment)) == first
    assert [r.status for r in scene.standin.history(mark)] == [304]
    assert [(r.content, r.user, r.is_bot) for r in first] == [("-1", "alice", False)]


def test_open_pulls_are_listed_and_asking_again_is_free(scene):
    pulls = scene.rivals(scene.repo.open_issue("Broken"), 3)
    scene.repo.close(pulls[0].number)
    first = client.open_pulls(scene.github, scene.repository)
    assert {(p.number, p.head_sha) for p in first} == {(p.number, p.head_sha) for p in pulls[1:]}
    mark = scene.standin.mark()
    assert client.open_pulls(scene.github, scene.repository) == first
    assert [r.status for r in scene.standin.history(mark)] == [304]


def test_the_checks_of_others_are_read_without_our_own(scene, server, github):
    (pull,) = scene.rivals(scene.repo.open_issue("Broken"), 1)
    scene.check(pull.head_sha)
    assert client.checks(scene.github, scene.repository, CommitSha(pull.head_sha)) == ()
    run = {"id": 1, "name": "ci", "head_sha": "a" * 40, "status": "completed"}
    runs = [
        run | {"conclusion": "failure", "app": {"id": 5}},
        run | {"conclusion": "success", "app": {"id": github.app.id}},
    ]
    server.replies = [Reply(200, {"total_count": 2, "check_runs": runs})]
    found = client.checks(github, REPOSITORY, CommitSha("a" * 40))
    assert found == (CheckFacts("ci", "completed", "failure", 5),)


def test_an_installation_lists_its_repositories(scene):
    found = client.repositories(scene.github, scene.repository.installation)
    assert found == (scene.repository,)


def test_the_app_knows_itself_and_who_installed_it(scene):
    me = whoami(scene.github)
    assert (me.id, me.login) == (scene.app.app_id, scene.app.bot_login)
    assert ("checks", "write") in me.permissions
    found = {i.id: i for i in installations(scene.github)}
    assert found[scene.repository.installation].account == scene.repo.full_name.split("/")[0]
    assert not found[scene.repository.installation].is_suspended


def test_a_suspended_installation_is_known_as_such_and_every_page_is_read(server, github):
    more = {"Link": f'<{server.url}/api/v3/app/installations?page=2>; rel="next"'}
    asleep = {"id": 1, "account": None, "suspended_at": "2026-01-01T00:00:00Z"}
    awake = {"id": 2, "account": {"id": 9, "login": "octo"}, "suspended_at": None}
    server.replies = [Reply(200, [asleep], more), Reply(200, [awake])]
    found = installations(github)
    assert [(i.id, i.account, i.is_suspended) for i in found] == [
        (1, None, True),
        (2, "octo", False),
    ]


def test_deliveries_that_did_not_arrive_are_found_and_sent_again(standin):
    app = standin.register_app(slug="missed", webhook_url="http://127.0.0.1:9/")
    with opened(standin, app) as scene:
        scene.repo.open_issue("Broken")
        standin.drain()
        long_ago = datetime.now(UTC) - timedelta(days=2)
        missed = [d for d in deliveries(scene.github, long_ago) if d.event == "issues"]
        assert [(d.arrived, d.action) for d in missed] == [(False, "opened")]
        redeliver(scene.github, missed[0].id)
        standin.drain()
        again = [d for d in deliveries(scene.github, long_ago) if d.event == "issues"]
        assert [d.guid for d in again] == [missed[0].guid] * 2
        assert list(deliveries(scene.github, datetime.now(UTC) + timedelta(hours=1))) == []


def test_delivery_pages_are_followed_by_their_cursor(server, github):
    attempt = {
        "id": 1,
        "guid": "g",
        "delivered_at": "2026-01-01T00:00:00Z",
        "redelivery": False,
        "status_code": 200,
        "event": "issues",
    }
    link = f'<{server.url}/api/v3/app/hook/deliveries?per_page=100&cursor=v1_2>; rel="next"'
    server.replies = [Reply(200, [attempt], {"Link": link}), Reply(200, [attempt | {"id": 2}])]
    found = deliveries(github, datetime(2020, 1, 1, tzinfo=UTC))
    assert [d.id for d in found] == [1, 2]
    assert server.sent[1] == "GET /app/hook/deliveries?cursor=v1_2&per_page=100"


def test_a_new_app_is_taken_over_with_its_secrets_masked(server, github):
    said = {"id": 4, "slug": "new", "pem": "a private key's text", "webhook_secret": "hook-secret"}
    server.replies = [Reply(201, said | {"html_url": "https://h/apps/new"})]
    found = register(github.transport, "co/de")
    assert server.sent == ["POST /app-manifests/co%2Fde/conversions"]
    assert "Authorization" not in server.asked[0].headers
    assert (found.id, found.private_key.get_secret_value()) == (4, said["pem"])
    assert "hook-secret" not in redact(f"{said}")
