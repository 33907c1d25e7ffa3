"""What we read over REST, and as the App itself, against the stand-in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.github.api import rest_reader
from app.github.api.delivery_log import list_attempts, redeliver
from app.github.errors import Forbidden, NotFound
from app.values.identifiers import CommentId, InstallationId, IssueNumber, RepositoryId
from app.values.permission import Permission
from tests.builders.github.github_scene import open_scene
from tests.builders.github.local_github import REPOSITORY, Reply, connect


@pytest.mark.parametrize("role", ["none", "read", "triage", "write", "maintain", "admin"])
def test_each_role_is_a_right_and_rights_compare(scene, role):
    scene.repo.open_issue("x", author="alice")
    scene.standin.grant(scene.repo, "alice", role)
    assert (
        rest_reader.read_permission(scene.github, scene.repository, "alice")
        is Permission[role.upper()]
    )


def test_a_stranger_to_github_may_nothing(scene):
    assert (
        rest_reader.read_permission(scene.github, scene.repository, "nobody-here")
        is Permission.NONE
    )


def test_a_permission_in_a_public_repository_of_the_old_name_is_refused(scene):
    other = scene.standin.create_repository(f"{scene.repo.full_name}-new", {"a": "1\n"})
    scene.standin.grant(other, "alice", "admin")
    replaced = replace(scene.repository, full_name=other.full_name)
    with pytest.raises(Forbidden):
        rest_reader.read_permission(scene.github, replaced, "alice")


def test_an_unknown_person_in_a_repository_of_the_old_name_is_not_found(server, github):
    server.replies = [Reply(404), Reply(200, {"id": REPOSITORY.id + 1})]
    with pytest.raises(NotFound, match="now repository 43, not 42"):
        rest_reader.read_permission(github, REPOSITORY, "alice")


def test_a_permission_in_an_unknown_repository_is_not_found(server, github):
    server.replies = [Reply(404)] * 2
    with pytest.raises(NotFound):
        rest_reader.read_permission(github, REPOSITORY, "alice")
    server.token_refusal = Reply(404)
    with connect(server.url) as removed, pytest.raises(NotFound):
        rest_reader.read_permission(removed, REPOSITORY, "alice")


def test_an_installation_has_the_repositories_github_gives_it_a_token_for(scene):
    here, elsewhere = scene.repository.installation, RepositoryId(999_999)
    assert rest_reader.has_repository(scene.github, here, scene.repository.id)
    assert not rest_reader.has_repository(scene.github, here, elsewhere)
    assert not rest_reader.has_repository(
        scene.github, InstallationId(999_999), scene.repository.id
    )


def test_whether_a_repository_is_covered_is_asked_anew_each_time(server, github):
    assert rest_reader.has_repository(github, REPOSITORY.installation, REPOSITORY.id)
    server.token_refusal = Reply(422)
    assert not rest_reader.has_repository(github, REPOSITORY.installation, REPOSITORY.id)


def test_only_what_suspends_and_wakes_an_installation_switches_it(standin):
    app = standin.register_app(slug="sleepy", webhook_url="http://127.0.0.1:9/")
    with open_scene(standin, app) as scene:
        installation = scene.repository.installation
        standin.suspend(installation)
        standin.unsuspend(installation)
        standin.drain()
        found = list(list_attempts(scene.github, datetime.now(UTC) - timedelta(days=2)))
    assert [one.switches for one in found][:2] == [installation] * 2
    assert {one.switches for one in found[2:]} == {None}


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ({"permission": "write", "role_name": "security-team"}, Permission.WRITE),
        ({"permission": "write", "role_name": "maintain"}, Permission.MAINTAIN),
        ({"permission": "read", "role_name": "triage"}, Permission.TRIAGE),
        ({"permission": "none"}, Permission.NONE),
    ],
)
def test_an_organisations_own_role_counts_as_what_stands_beside_it(server, github, body, right):
    server.replies = [Reply(200, body)]
    assert rest_reader.read_permission(github, REPOSITORY, "a/b?c") is right
    assert server.calls == ["GET /repos/octo/repo/collaborators/a%2Fb%3Fc/permission"]


def test_comments_are_read_with_whether_they_are_ours(scene):
    issue = scene.repo.open_issue("Broken")
    theirs = scene.repo.comment(issue, "/r4p verify", "alice")
    ours = scene.comment(issue)
    both = rest_reader.list_comments(scene.github, scene.repository, IssueNumber(issue))
    assert [(c.id, c.is_ours) for c in both] == [(theirs, False), (ours, True)]
    assert both[0].body == "/r4p verify"


def test_a_person_who_acts_through_our_app_is_not_our_app(server, github):
    author = {"id": 1, "login": "alice", "type": "User"}
    via = {"id": github.app.id}
    said = {"id": 3, "body": "x", "user": author, "performed_via_github_app": via}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    server.replies = [Reply(200, [said | times])]
    (found,) = rest_reader.list_comments(github, REPOSITORY, IssueNumber(3))
    assert not found.is_ours


def test_thumbs_are_polled_and_an_unchanged_answer_is_a_304(scene):
    comment = scene.comment(scene.repo.open_issue("Broken"))
    scene.repo.react(comment, "-1", "alice")
    first = rest_reader.list_reactions(scene.github, scene.repository, CommentId(comment))
    mark = scene.standin.mark()
    assert rest_reader.list_reactions(scene.github, scene.repository, CommentId(comment)) == first
    assert [r.status for r in scene.standin.history(mark)] == [304]
    assert [(r.content, r.user, r.is_bot) for r in first] == [("-1", "alice", False)]


def test_changed_threads_are_listed_and_asking_again_is_free(scene):
    issue = scene.repo.open_issue("Broken")
    (closed, open_) = (pull.number for pull in scene.rivals(issue, 2))
    scene.repo.close(closed)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    first = rest_reader.list_changed_threads(scene.github, scene.repository, yesterday, 1)
    listed = {(thread.number, thread.is_pull, thread.is_open) for thread in first.entries}
    assert listed == {(issue, False, True), (closed, True, False), (open_, True, True)}
    mark = scene.standin.mark()
    again = rest_reader.list_changed_threads(scene.github, scene.repository, yesterday, 1)
    assert again == first
    assert [r.status for r in scene.standin.history(mark)] == [304]


def test_attempts_that_did_not_arrive_are_found_and_made_again(standin):
    app = standin.register_app(slug="missed", webhook_url="http://127.0.0.1:9/")
    with open_scene(standin, app) as scene:
        standin.drain()
        long_ago = datetime.now(UTC) - timedelta(days=2)
        first = next(list_attempts(scene.github, long_ago))
        assert not first.has_arrived
        redeliver(scene.github, first.id)
        standin.drain()
        made = [one for one in list_attempts(scene.github, long_ago) if one.guid == first.guid]
        assert [one.is_redelivery for one in made] == [True, False]
        assert list(list_attempts(scene.github, made[0].tried_at + timedelta(seconds=1))) == []


def test_pages_of_attempts_are_followed_by_their_cursor(server, github):
    attempt = {
        "id": 1,
        "guid": "g",
        "delivered_at": "2026-01-01T00:00:00Z",
        "redelivery": False,
        "status_code": 200,
        "event": "issues",
        "action": "opened",
        "installation_id": 7,
    }
    link = f'<{server.url}/api/v3/app/hook/deliveries?per_page=100&cursor=v1_2>; rel="next"'
    server.replies = [Reply(200, [attempt], {"Link": link}), Reply(200, [attempt | {"id": 2}])]
    found = list_attempts(github, datetime(2020, 1, 1, tzinfo=UTC))
    assert [d.id for d in found] == [1, 2]
    assert server.calls[1] == "GET /app/hook/deliveries?cursor=v1_2&per_page=100"
