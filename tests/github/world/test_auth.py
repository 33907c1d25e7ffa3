"""App JWTs and installation tokens: their form, their rights and their end."""

import re
import time

import jwt
import pytest

from tests.github.conftest import make_scene


def find_installation(scene, token):
    return scene.http(token).get(scene.path("/installation"))


def sign(scene, key=None, **claims):
    """Sign a JWT whose times are seconds from now."""
    now = int(time.time())
    payload = {"iss": str(scene.app.app_id), "iat": now - 60, "exp": now + 60}
    payload |= {name: now + offset for name, offset in claims.items()}
    return jwt.encode(payload, key or scene.app.private_key, algorithm="RS256")


def test_an_app_finds_its_installation_and_acts_as_it(scene):
    assert find_installation(scene, scene.jwt()).json()["id"] == scene.installation
    assert scene.get("").json()["default_branch"] == "main"


def test_a_token_has_the_long_form_of_2026(scene):
    token = scene.token()
    assert re.fullmatch(rf"ghs_{scene.app.app_id}_[\w-]+\.[\w-]+\.[\w-]+", token)
    assert 480 <= len(token) <= 580


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"iat": -60, "exp": 600}, 200),
        ({"iat": -60, "exp": 660}, 401),
        ({"iat": 120, "exp": 300}, 401),
        ({"iat": -900, "exp": -300}, 401),
    ],
    ids=["ten minutes", "longer than ten minutes", "issued in the future", "expired"],
)
def test_a_jwt_lives_for_ten_minutes_at_most(scene, claims, status):
    assert find_installation(scene, sign(scene, **claims)).status_code == status


def test_a_jwt_signed_with_another_key_is_refused(scene, github):
    outsider = make_scene(github, webhook_secret="other")
    assert find_installation(scene, sign(scene, outsider.app.private_key)).status_code == 401


def test_a_token_dies_after_an_hour(scene, github):
    client = scene.http(scene.token())
    assert client.get(scene.path("")).status_code == 200
    github.advance(3599)
    assert client.get(scene.path("")).status_code == 200
    github.advance(2)
    assert client.get(scene.path("")).status_code == 401


def test_a_revoked_token_is_refused(scene, github):
    client = scene.http(scene.token())
    assert github.revoke_tokens(scene.installation) == 1
    assert client.get(scene.path("")).status_code == 401


def test_a_private_repository_elsewhere_does_not_exist(scene, private):
    assert scene.http(scene.token()).get(private.path("")).status_code == 404
    assert scene.http().get(private.path("")).status_code == 404
    assert private.get("").status_code == 200


def test_a_public_repository_elsewhere_can_be_read_but_not_written(scene, github):
    outsider = make_scene(github)
    path = outsider.path(f"/issues/{outsider.repo.open_issue('Bug')}/comments")
    client = scene.http(scene.token())
    assert client.get(path).status_code == 200
    assert client.post(path, json={"body": "hi"}).status_code == 403


def test_a_refusal_names_the_permission_that_the_token_lacks(scene):
    path = scene.path(f"/issues/{scene.repo.open_issue('Bug')}/comments")
    client = scene.http(scene.token(permissions={"issues": "read"}))
    assert client.get(path).status_code == 200
    refused = client.post(path, json={"body": "hi"})
    assert refused.status_code == 403
    assert refused.json()["message"] == "Resource not accessible by integration"
    accepted = refused.headers["x-accepted-github-permissions"]
    assert accepted == "issues=write; pull_requests=write"


def test_a_token_can_be_narrowed_to_some_repositories(scene, github):
    owner = scene.repo.full_name.split("/")[0]
    second = github.create_repository(f"{owner}/second", {"a": "b\n"}, private=True)
    github.add_repositories(scene.installation, [second])
    wide = scene.http(scene.token())
    narrow = scene.http(scene.token(repository_ids=[scene.repo.id]))
    assert wide.get("/repos/" + second.full_name).status_code == 200
    assert narrow.get("/repos/" + second.full_name).status_code == 404


def test_a_token_cannot_get_more_than_the_installation_has(scene):
    client = scene.http(scene.jwt())
    path = f"/app/installations/{scene.installation}/access_tokens"
    assert client.post(path, json={"permissions": {"contents": "write"}}).status_code == 422
    assert client.post(path, json={"repository_ids": [1]}).status_code == 422


def test_a_suspended_installation_is_closed_until_woken(scene, github):
    client = scene.http(scene.token())
    github.suspend(scene.installation)
    assert client.get(scene.path("")).status_code == 403
    path = f"/app/installations/{scene.installation}/access_tokens"
    assert scene.http(scene.jwt()).post(path).status_code == 403
    github.unsuspend(scene.installation)
    assert client.get(scene.path("")).status_code == 200


def test_an_uninstalled_app_is_unknown(scene, github):
    client = scene.http(scene.token())
    github.uninstall(scene.installation)
    assert client.get(scene.path("")).status_code == 401
    assert find_installation(scene, scene.jwt()).status_code == 404


def test_accepted_permissions_count_for_new_tokens(scene, github):
    number = scene.repo.open_issue("Bug")
    github.accept_permissions(scene.installation, {"metadata": "read", "issues": "read"})
    assert scene.comment(number).status_code == 403


def test_a_repository_taken_away_is_out_of_reach(private, github):
    client = private.http(private.token())
    github.remove_repositories(private.installation, [private.repo])
    assert client.get(private.path("")).status_code == 404
