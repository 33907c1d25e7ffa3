"""Check runs: creation, updates, GitHub's limits, and their order in a list."""

import pytest

from tests.github.conftest import expect_violation, make_scene


def test_the_bot_makes_and_finishes_a_check_run(scene):
    pull = scene.fix("x = 1\n")
    run = scene.create_check(pull.head_sha, status="in_progress").json()
    done = {"status": "completed", "conclusion": "neutral"}
    output = {"title": "t", "summary": "s"}
    path = f"/check-runs/{run['id']}"
    assert scene.request("PATCH", path, json=done | {"output": output}).status_code == 200
    (shown,) = scene.repo.check_runs(pull.number)
    assert (shown.status, shown.conclusion, shown.summary) == ("completed", "neutral", "s")
    assert (shown.app, run["app"]["id"]) == (scene.app.slug, scene.app.app_id)


def test_a_list_shows_the_latest_run_of_each_name(scene):
    head = scene.fix("x = 1\n").head_sha
    older, newer = (scene.create_check(head).json()["id"] for _ in range(2))

    def list_ids(**query):
        runs = scene.get(f"/commits/{head}/check-runs", **query).json()["check_runs"]
        return [run["id"] for run in runs]

    assert list_ids(check_name="r4p") == [newer]
    assert list_ids(filter="all") == [newer, older]
    assert list_ids(check_name="other") == list_ids(app_id=1) == []


def test_a_run_on_a_commit_nobody_pushed_is_refused(scene):
    assert scene.create_check("f" * 40).status_code == 422


@pytest.mark.parametrize("field", ["summary", "text"])
def test_texts_end_at_65535_characters(scene, field):
    head = scene.fix("x = 1\n").head_sha
    expect_violation(f"/output/{field}: ")
    for length, status in ((65_535, 201), (65_536, 422)):
        output = {"title": "t", "summary": "s"} | {field: "x" * length}
        assert scene.create_check(head, output=output).status_code == status


def test_only_its_own_app_may_change_a_run(scene, github):
    outsider = make_scene(github, webhook_secret="other")
    github.add_repositories(outsider.installation, [scene.repo])
    run = scene.create_check(scene.fix("x = 1\n").head_sha).json()["id"]
    client = outsider.http(outsider.token())
    refused = client.patch(scene.path(f"/check-runs/{run}"), json={"name": "mine"})
    assert refused.status_code == 403


def test_a_conclusion_completes_a_run_and_a_reopened_run_loses_it(scene):
    pull = scene.fix("x = 1\n")
    run = scene.create_check(pull.head_sha, conclusion="success").json()["id"]
    assert scene.repo.check_runs(pull.number)[0].status == "completed"
    scene.request("PATCH", f"/check-runs/{run}", json={"status": "in_progress"})
    shown = scene.repo.check_runs(pull.number)[0]
    assert (shown.status, shown.conclusion) == ("in_progress", None)


@pytest.mark.parametrize(("fork", "expected"), [(True, []), (False, [1])])
def test_a_run_names_the_pull_request_unless_it_comes_from_a_fork(scene, fork, expected):
    run = scene.create_check(scene.fix("x = 1\n", fork=fork).head_sha).json()
    assert [pull["number"] for pull in run["pull_requests"]] == expected
