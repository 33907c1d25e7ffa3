"""Check runs: creation, updates, GitHub's limits, and the combined state of a commit."""

import pytest
from github import GithubException

from tests.github.conftest import expect_violation, make_scene

ROLLUP = """query($o:String!,$n:String!,$k:Int!){repository(owner:$o,name:$n){pullRequest(number:$k){
 commits(last:1){nodes{commit{oid statusCheckRollup{state}}}}}}}"""


def rollup(scene, number):
    owner, name = scene.repo.full_name.split("/")
    answer = scene.graphql(ROLLUP, o=owner, n=name, k=number)["data"]["repository"]["pullRequest"]
    return answer["commits"]["nodes"][0]["commit"]["statusCheckRollup"]


def test_the_bot_makes_and_finishes_a_check_run(scene):
    pull = scene.fix("x = 1\n")
    run = scene.bot_repo().create_check_run("r4p", pull.head_sha, status="in_progress")
    run.edit(status="completed", conclusion="neutral", output={"title": "t", "summary": "s"})
    (shown,) = scene.repo.check_runs(pull.number)
    assert (shown.status, shown.conclusion, shown.summary) == ("completed", "neutral", "s")
    assert shown.app == scene.app.slug
    assert scene.bot_repo().get_check_run(run.id).app.id == scene.app.app_id


def test_a_list_shows_the_latest_run_of_each_name(scene):
    pull = scene.fix("x = 1\n")
    repo = scene.bot_repo()
    repo.create_check_run("r4p", pull.head_sha)
    newer = repo.create_check_run("r4p", pull.head_sha)
    commit = repo.get_commit(pull.head_sha)
    assert [r.id for r in commit.get_check_runs(check_name="r4p")] == [newer.id]
    assert commit.get_check_runs(filter="all").totalCount == 2
    assert commit.get_check_runs(check_name="other").totalCount == 0


def test_a_run_on_a_commit_nobody_pushed_is_refused(scene):
    with pytest.raises(GithubException) as refused:
        scene.bot_repo().create_check_run("r4p", "f" * 40)
    assert refused.value.status == 422


@pytest.mark.parametrize(("field", "length"), [("summary", 65_535), ("text", 65_535)])
def test_texts_end_at_65535_characters(scene, field, length):
    pull = scene.fix("x = 1\n")
    output = {"title": "t", "summary": "s"}
    scene.bot_repo().create_check_run("r4p", pull.head_sha, output=output | {field: "x" * length})
    expect_violation(f"/output/{field}: ")
    with pytest.raises(GithubException) as refused:
        scene.bot_repo().create_check_run(
            "r4p", pull.head_sha, output=output | {field: "x" * (length + 1)}
        )
    assert refused.value.status == 422


def test_fifty_annotations_go_with_one_call(scene):
    pull = scene.fix("x = 1\n")
    note = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice"}
    note["message"] = "m"
    output = {"title": "t", "summary": "s", "annotations": [note] * 50}
    run = scene.bot_repo().create_check_run("r4p", pull.head_sha, output=output)
    assert run.output.annotations_count == 50
    expect_violation("/output/annotations")
    with pytest.raises(GithubException) as refused:
        run.edit(output=output | {"annotations": [note] * 51})
    assert refused.value.status == 422


def test_only_its_own_app_may_change_a_run(scene, github):
    outsider = make_scene(github, webhook_secret="other")
    github.add_repositories(outsider.installation, [scene.repo])
    pull = scene.fix("x = 1\n")
    run = scene.bot_repo().create_check_run("r4p", pull.head_sha)
    client = outsider.http(outsider.token())
    refused = client.patch(scene.path(f"/check-runs/{run.id}"), json={"name": "mine"})
    assert refused.status_code == 403


def test_a_completed_run_needs_a_conclusion_and_a_reopened_one_loses_it(scene):
    pull = scene.fix("x = 1\n")
    repo = scene.bot_repo()
    run = repo.create_check_run("r4p", pull.head_sha, conclusion="success")
    assert scene.repo.check_runs(pull.number)[0].status == "completed"
    run.edit(status="in_progress")
    shown = scene.repo.check_runs(pull.number)[0]
    assert (shown.status, shown.conclusion) == ("in_progress", None)


def test_the_rollup_follows_ci_and_our_runs(scene):
    pull = scene.fix("x = 1\n")
    assert rollup(scene, pull.number) is None
    scene.repo.check_suite(pull.head_sha, "success")
    assert rollup(scene, pull.number) == {"state": "SUCCESS"}
    run = scene.bot_repo().create_check_run("r4p", pull.head_sha)
    assert rollup(scene, pull.number) == {"state": "PENDING"}
    run.edit(status="completed", conclusion="failure")
    assert rollup(scene, pull.number) == {"state": "FAILURE"}


def test_suites_are_listed_by_commit(scene):
    pull = scene.fix("x = 1\n", fork=False)
    scene.repo.check_suite(pull.head_sha, "failure", app="ci")
    suites = scene.bot_repo().get_commit(pull.head_sha).get_check_suites()
    shown = {s.app.slug: (s.status, s.conclusion) for s in suites}
    assert shown == {scene.app.slug: ("queued", None), "ci": ("completed", "failure")}


def test_a_run_names_the_pull_request_unless_it_comes_from_a_fork(scene):
    for fork, expected in ((True, []), (False, [3])):
        pull = scene.fix(f"fork = {fork}\n", fork=fork)
        run = scene.bot_repo().create_check_run("r4p", pull.head_sha)
        scene.repo.open_issue("filler")
        assert [p.number for p in run.pull_requests] == expected
