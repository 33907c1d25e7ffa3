"""The stand-in's journal, its refusal of unknown requests, and its start and seeds."""

import json
import time

import httpx
import pytest

from tests.github.conftest import VERSION, expect_violation
from tests.github.graphql.test_api import WHOLE_ISSUE, names
from tests.github.server_thread import StandInError
from tests.github.stand_in import StandIn


def test_calls_are_counted_by_operation_and_tokens_apart(scene, github):
    number = scene.repo.open_issue("Bug")
    mark = github.mark()
    client = scene.http(scene.token())
    client.post(scene.path(f"/issues/{number}/comments"), json={"body": "x"})
    client.get(scene.path(f"/issues/{number}"))
    client.get(scene.path("/issues/999"))
    calls = github.calls(since=mark)
    assert calls.tokens == 1
    assert calls.operations == {
        "POST /repos/{owner}/{repo}/issues/{issue_number}/comments": 1,
        "GET /repos/{owner}/{repo}/issues/{issue_number}": 2,
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


def test_a_manifest_becomes_an_app_by_a_code_that_works_once(github):
    manifest = {
        "name": "R4P Demo",
        "url": "http://127.0.0.1/",
        "redirect_url": "http://127.0.0.1/setup/done",
        "hook_attributes": {"url": "http://127.0.0.1:9/hook"},
        "default_permissions": {"issues": "write"},
        "default_events": ["issues"],
    }
    form = {"manifest": json.dumps(manifest)}
    sent = httpx.post(f"{github.url}/settings/apps/new?state=abc", data=form)
    assert sent.status_code == 302
    target = httpx.URL(sent.headers["location"])
    assert (target.path, target.params["state"]) == ("/setup/done", "abc")
    url = f"{github.url}/api/v3/app-manifests/{target.params['code']}/conversions"
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
    answer = httpx.post(url, headers=headers)
    assert answer.status_code == 201
    assert answer.json()["slug"] == "r4p-demo"
    assert answer.json()["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert httpx.post(url, headers=headers).status_code == 404


def test_the_same_seed_gives_the_same_ids(tmp_path):
    def ids(folder, seed):
        with StandIn.start(tmp_path / folder, seed=seed) as running:
            repo = running.create_repository("acme/tool", {"a": "a\n"})
            number = repo.open_issue("Bug")
            return repo.id, repo.comment(number, "x")

    first = ids("a", 7)
    assert ids("b", 7) == first
    assert ids("c", 8) != first


def test_violations_are_written_to_a_file(tmp_path):
    with StandIn.start(tmp_path) as running:
        httpx.get(f"{running.url}/api/v3/nothing")
        lines = (tmp_path / "violations.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        assert [v["where"] for v in records] == [v.where for v in running.violations()] != []


def test_it_is_quick_enough_not_to_be_what_is_measured(scene):
    number = scene.repo.open_issue("Bug")
    for n in range(4):
        scene.fix(f"x = {n}\n", body=f"Fixes #{number}")
    client = scene.http(scene.token())
    body = {"query": WHOLE_ISSUE, "variables": names(scene) | {"i": number}}
    path = scene.path(f"/issues/{number}/comments")

    def fastest(post):
        times = []
        for _ in range(10):
            started = time.perf_counter()
            post()
            times.append(time.perf_counter() - started)
        return min(times)

    url = f"{scene.github.url}/api/graphql"
    assert fastest(lambda: client.post(url, json=body)) < 0.040
    assert fastest(lambda: client.post(path, json={"body": "x"})) < 0.010
