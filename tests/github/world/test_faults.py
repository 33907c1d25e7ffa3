"""Faults as a client sees them: with and without the effect, and their number."""

import httpx
import pytest

from tests.github.world.faults import Fault, Faults, Kind

COMMENTS = "POST /repos/*/issues/*/comments"


def comment(scene):
    """Open an issue; return its number and a function that comments on it."""
    number = scene.repo.open_issue("Bug")
    client = scene.http(scene.token())
    path = scene.path(f"/issues/{number}/comments")
    return number, lambda **more: client.post(path, json={"body": "x"}, **more)


@pytest.mark.parametrize(
    ("kind", "status", "written"),
    [
        ("502", 502, 0),
        ("502_after_effect", 502, 1),
        ("500", 500, 0),
        ("503", 503, 0),
        ("429", 429, 0),
        ("401", 401, 0),
        ("html", 502, 0),
    ],
)
def test_an_error_comes_with_or_without_the_effect(scene, github, kind, status, written):
    number, post = comment(scene)
    github.fault(COMMENTS, kind)
    answer = post()
    assert (answer.status_code, "html" in answer.headers["content-type"]) == (
        status,
        kind == "html",
    )
    assert len(scene.repo.comments(number)) == written
    assert github.fault_hits() == [1]
    assert post().status_code == 201


@pytest.mark.parametrize(
    ("kind", "seconds", "error", "written"),
    [
        ("reset", 0, httpx.ReadError, 0),
        ("reset_after_effect", 0, httpx.ReadError, 1),
        ("timeout", 9, httpx.ReadTimeout, 0),
        ("timeout_after_effect", 9, httpx.ReadTimeout, 1),
        ("timeout", 0.05, httpx.ReadError, 0),
    ],
)
def test_an_answer_is_lost_with_or_without_the_effect(scene, github, kind, seconds, error, written):
    number, post = comment(scene)
    github.fault(COMMENTS, kind, seconds=seconds)
    with pytest.raises(error):
        post(timeout=0.2)
    assert len(scene.repo.comments(number)) == written


def test_half_an_answer_is_no_json(scene, github):
    number, post = comment(scene)
    github.fault(COMMENTS, "garbled")
    with pytest.raises((ValueError, httpx.RemoteProtocolError)):
        post().json()
    assert len(scene.repo.comments(number)) == 1


def test_a_secondary_limit_blocks_everything_for_72_simulated_seconds(scene, github):
    _, post = comment(scene)
    client = scene.http(scene.token())
    github.fault(COMMENTS, "403_secondary")
    refused = post()
    assert (refused.status_code, refused.headers.get("retry-after")) == (403, None)
    assert "secondary rate limit" in refused.json()["message"]
    assert client.get(scene.path("")).status_code == 403
    github.advance(73)
    assert client.get(scene.path("")).status_code == 200
    meter = github.meters()[f"installation:{scene.installation}"]
    assert meter.requests_while_blocked == 1


def test_a_primary_limit_lasts_to_the_end_of_the_hour(scene, github):
    client = scene.http(scene.token())
    github.fault("GET /repos/*", "403_primary")
    refused = client.get(scene.path(""))
    assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert client.get(scene.path("")).status_code == 403


def test_graphql_can_fail(scene, github):
    github.fault("POST /graphql", "502")
    body = {"query": "{__typename}"}
    client = scene.http(scene.token())
    assert client.post(f"{github.url}/api/graphql", json=body).status_code == 502
    assert client.post(f"{github.url}/api/graphql", json=body).status_code == 200


def test_a_fetch_can_fail(scene, github):
    github.fault(f"GET /{scene.repo.full_name}.git/*", "503")
    url = f"{github.url}/{scene.repo.full_name}.git/info/refs?service=git-upload-pack"
    assert [httpx.get(url).status_code for _ in range(2)] == [503, 200]


def test_a_new_comment_is_listed_late(scene, github):
    github.set_listing_lag(5)
    number, post = comment(scene)
    post()
    path = f"/issues/{number}/comments"
    assert scene.get(path).json() == []
    github.advance(6)
    assert len(scene.get(path).json()) == 1
    github.set_listing_lag(0)


def test_some_pass_then_some_fail():
    faults = Faults()
    faults.rules.append(Fault("GET /x*", Kind.BAD_GATEWAY, times=2, skip=1))
    taken = [
        faults.take(op) is not None for op in ("GET /x", "GET /y", "GET /x1", "GET /x", "GET /x")
    ]
    assert taken == [False, False, True, True, False]


def test_an_unknown_fault_is_refused(github):
    with pytest.raises(ValueError, match="nonsense"):
        github.fault("GET /", "nonsense")
