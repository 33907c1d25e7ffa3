"""The stand-in's journal, its refusal of unknown requests, and its speed."""

import json

import httpx
import pytest

from tests.github.conftest import expect_violation
from tests.github.server_thread import StandInError
from tests.github.stand_in import StandIn


def test_calls_are_counted_by_operation_and_tokens_apart(scene, github):
    number = scene.repo.open_issue("Bug")
    mark = github.mark()
    client = scene.http(scene.token())
    client.post(scene.path(f"/issues/{number}/comments"), json={"body": "x"})
    client.get(scene.path(f"/issues/{number}/comments"))
    client.get(scene.path("/issues/999/comments"))
    calls = github.calls(since=mark)
    assert calls.tokens == 1
    assert calls.operations == {
        "POST /repos/{owner}/{repo}/issues/{issue_number}/comments": 1,
        "GET /repos/{owner}/{repo}/issues/{issue_number}/comments": 2,
    }
    assert calls.total == 3
    records = [(r.status, r.installation) for r in github.history(since=mark)]
    assert records == [(201, None), *[(s, scene.installation) for s in (201, 200, 404)]]


def test_a_route_that_is_not_modelled_is_501_and_a_violation(scene):
    expect_violation("does not model GET /repos/")
    answer = scene.http(scene.token()).get(scene.path("/branches"))
    assert answer.status_code == 501
    assert "/branches" in answer.json()["message"]


def test_a_request_without_the_api_version_is_a_violation(scene):
    expect_violation("X-GitHub-Api-Version is None")
    client = scene.http(scene.token())
    del client.headers["X-GitHub-Api-Version"]
    assert client.get(scene.path("")).status_code == 200


def test_a_wrong_request_is_refused_and_a_violation(scene):
    expect_violation('"body" is a required property')
    expect_violation("not JSON")
    number = scene.repo.open_issue("Bug")
    client = scene.http(scene.token())
    path = scene.path(f"/issues/{number}/comments")
    assert client.post(path, json={"text": "x"}).status_code == 422
    headers = {"Content-Type": "application/json"}
    assert client.post(path, content=b"{", headers=headers).status_code == 400


def test_a_refused_action_raises_with_its_status(github):
    with pytest.raises(StandInError, match="404: no delivery has the GUID none"):
        github.redeliver("none")


def test_violations_are_written_to_a_file(tmp_path):
    with StandIn.start(tmp_path) as running:
        httpx.get(f"{running.url}/api/v3/nothing")
        lines = (tmp_path / "violations.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        assert [v["where"] for v in records] == [v.where for v in running.violations()] != []
