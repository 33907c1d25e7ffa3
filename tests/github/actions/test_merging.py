"""Merging by all three methods and reverting, checked in the commits a client fetches."""

import subprocess

import pytest

from tests.github.server_thread import StandInError


def list_parents(scene, sha):
    commit = scene.http(scene.token()).get(scene.path(f"/git/commits/{sha}")).json()
    return [parent["sha"] for parent in commit["parents"]]


def read_file(scene):
    """Return `tool/core.py` on the default branch."""
    return scene.ask('object(expression:"HEAD:tool/core.py"){... on Blob{text}}')["object"]["text"]


def describe(scene, number):
    return scene.ask("pullRequest(number:$i){title body mergeCommit{oid}}", i=number)["pullRequest"]


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_merge_brings_the_change_to_the_default_branch(scene, method):
    pull = scene.fix("x = 1\n")
    second = scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    tip = scene.repo.commit({"other": "moved\n"})
    sha = scene.repo.merge(pull.number, method=method)
    assert read_file(scene) == "x = 2\n"
    assert scene.repo.pull(pull.number).merged
    assert describe(scene, pull.number)["mergeCommit"] == {"oid": sha}
    expected = {"merge": [tip, second], "squash": [tip]}
    if method in expected:
        assert list_parents(scene, sha) == expected[method]
    else:
        assert list_parents(scene, list_parents(scene, sha)[0]) == [tip]


def test_a_conflict_a_draft_and_a_closed_one_cannot_be_merged(scene):
    conflicting = scene.fix("theirs\n").number
    draft = scene.repo.open_pr("Draft", files={"a": "a\n"}, draft=True).number
    closed = scene.repo.open_pr("Closed", files={"b": "b\n"}).number
    scene.repo.close(closed)
    scene.repo.commit({"tool/core.py": "ours\n"})
    for number in (conflicting, draft, closed):
        with pytest.raises(StandInError, match="405"):
            scene.repo.merge(number)
    assert read_file(scene) == "ours\n"


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_revert_undoes_the_whole_pull_request(scene, method):
    before = read_file(scene)
    pull = scene.fix("x = 1\n")
    scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    scene.repo.merge(pull.number, method=method)
    undo = scene.repo.revert(pull.number).number
    body = f"Reverts {scene.repo.full_name}#{pull.number}"
    assert describe(scene, undo) == {"title": 'Revert "Fix"', "body": body, "mergeCommit": None}
    scene.repo.merge(undo)
    assert read_file(scene) == before


def test_only_what_is_merged_can_be_reverted(scene):
    with pytest.raises(StandInError, match="not merged"):
        scene.repo.revert(scene.fix("x = 1\n").number)


def test_a_revert_that_conflicts_is_refused(scene):
    pull = scene.fix("x = 1\n")
    scene.repo.merge(pull.number)
    scene.repo.commit({"tool/core.py": "x = 2\n"})
    with pytest.raises(StandInError, match="cleanly"):
        scene.repo.revert(pull.number)


def run_git(*arguments, cwd=None):
    command = ["git", "-c", "credential.helper=", *arguments]
    env = {"PATH": "/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "HOME": "/nonexistent"}
    return subprocess.run(
        command, cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=30
    )


@pytest.fixture
def fetch(tmp_path):
    assert run_git("init", "-q", "--bare", str(tmp_path / "bare")).returncode == 0
    return lambda url, ref: run_git("fetch", "-q", url, ref, cwd=tmp_path / "bare")


def build_remote(scene, token=None):
    host = scene.github.url.removeprefix("http://")
    login = f"x-access-token:{token}@" if token else ""
    return f"http://{login}{host}/{scene.repo.full_name}.git"


def test_git_fetches_a_pull_request_by_ref_and_by_sha(private, fetch, tmp_path):
    pull = private.fix("x = 1\n")
    url = build_remote(private, private.token())
    assert fetch(url, f"refs/pull/{pull.number}/head").returncode == 0
    shown = run_git("show", "FETCH_HEAD:tool/core.py", cwd=tmp_path / "bare")
    assert shown.stdout == "x = 1\n"
    assert fetch(url, pull.head_sha).returncode == 0


def test_git_still_fetches_what_a_force_push_left_behind(scene, fetch):
    pull = scene.fix("x = 1\n")
    scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"}, force=True)
    assert fetch(build_remote(scene), pull.head_sha).returncode == 0


def test_git_needs_a_token_for_a_private_repository(private, scene, fetch):
    assert fetch(build_remote(private), "main").returncode != 0
    assert fetch(build_remote(private, "ghs_wrong"), "main").returncode != 0
    assert fetch(build_remote(private, scene.token()), "main").returncode != 0
    assert fetch(
        build_remote(private, private.token(permissions={"issues": "read"})), "main"
    ).returncode
    assert fetch(build_remote(scene), "main").returncode == 0


def test_git_cannot_push(scene, fetch, tmp_path):
    fetch(build_remote(scene), "main")
    push = run_git(
        "push", build_remote(scene, scene.token()), "FETCH_HEAD:refs/heads/x", cwd=tmp_path / "bare"
    )
    assert push.returncode != 0
