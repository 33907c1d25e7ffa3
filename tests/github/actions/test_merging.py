"""Merging by all three methods and reverting, checked in the commits a client fetches."""

import subprocess

import pytest

from tests.github.server_thread import StandInError


def parents(scene, sha):
    return [p.sha for p in scene.bot_repo().get_commit(sha).parents]


def text(scene, ref="main"):
    return scene.bot_repo().get_contents("tool/core.py", ref=ref).decoded_content.decode()


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_merge_brings_the_change_to_the_default_branch(scene, method):
    pull = scene.fix("x = 1\n")
    second = scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    tip = scene.repo.commit({"other": "moved\n"})
    sha = scene.repo.merge(pull.number, user="ann", method=method)
    assert text(scene) == "x = 2\n"
    shown = scene.bot_repo().get_pull(pull.number)
    assert (shown.merged, shown.merge_commit_sha, shown.merged_by.login) == (True, sha, "ann")
    expected = {"merge": [tip, second], "squash": [tip]}
    if method in expected:
        assert parents(scene, sha) == expected[method]
    else:
        assert parents(scene, parents(scene, sha)[0]) == [tip]


def test_a_conflict_a_draft_and_a_closed_one_cannot_be_merged(scene):
    conflicting = scene.fix("theirs\n").number
    draft = scene.repo.open_pr("Draft", files={"a": "a\n"}, draft=True).number
    closed = scene.repo.open_pr("Closed", files={"b": "b\n"}).number
    scene.repo.close(closed)
    scene.repo.commit({"tool/core.py": "ours\n"})
    for number in (conflicting, draft, closed):
        with pytest.raises(StandInError, match="405"):
            scene.repo.merge(number)
    assert text(scene) == "ours\n"


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_revert_undoes_the_whole_pull_request(scene, method):
    before = text(scene)
    pull = scene.fix("x = 1\n")
    scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    scene.repo.merge(pull.number, method=method)
    undo = scene.repo.revert(pull.number)
    shown = scene.bot_repo().get_pull(undo.number)
    assert shown.title == 'Revert "Fix"'
    assert shown.body == f"Reverts {scene.repo.full_name}#{pull.number}"
    scene.repo.merge(undo.number)
    assert text(scene) == before


def test_only_what_is_merged_can_be_reverted(scene):
    with pytest.raises(StandInError, match="not merged"):
        scene.repo.revert(scene.fix("x = 1\n").number)


def test_a_revert_that_conflicts_is_refused(scene):
    pull = scene.fix("x = 1\n")
    scene.repo.merge(pull.number)
    scene.repo.commit({"tool/core.py": "x = 2\n"})
    with pytest.raises(StandInError, match="cleanly"):
        scene.repo.revert(pull.number)


def git(*arguments, cwd=None):
    command = ["git", "-c", "credential.helper=", *arguments]
    env = {"PATH": "/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "HOME": "/nonexistent"}
    return subprocess.run(
        command, cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=30
    )


@pytest.fixture
def fetched(tmp_path):
    assert git("init", "-q", "--bare", str(tmp_path / "bare")).returncode == 0
    return lambda url, ref: git("fetch", "-q", url, ref, cwd=tmp_path / "bare")


def remote(scene, token=None):
    host = scene.github.url.removeprefix("http://")
    login = f"x-access-token:{token}@" if token else ""
    return f"http://{login}{host}/{scene.repo.full_name}.git"


def test_git_fetches_a_pull_request_by_ref_and_by_sha(private, fetched, tmp_path):
    pull = private.fix("x = 1\n")
    url = remote(private, private.token())
    assert fetched(url, f"refs/pull/{pull.number}/head").returncode == 0
    shown = git("show", "FETCH_HEAD:tool/core.py", cwd=tmp_path / "bare")
    assert shown.stdout == "x = 1\n"
    assert fetched(url, pull.head_sha).returncode == 0


def test_git_still_fetches_what_a_force_push_left_behind(scene, fetched):
    pull = scene.fix("x = 1\n")
    scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"}, force=True)
    assert fetched(remote(scene), pull.head_sha).returncode == 0


def test_git_needs_a_token_for_a_private_repository(private, scene, fetched):
    assert fetched(remote(private), "main").returncode != 0
    assert fetched(remote(private, "ghs_wrong"), "main").returncode != 0
    assert fetched(remote(private, scene.token()), "main").returncode != 0
    assert fetched(
        remote(private, private.token(permissions={"issues": "read"})), "main"
    ).returncode
    assert fetched(remote(scene), "main").returncode == 0


def test_git_cannot_push(scene, fetched, tmp_path):
    fetched(remote(scene), "main")
    pushed = git(
        "push", remote(scene, scene.token()), "FETCH_HEAD:refs/heads/x", cwd=tmp_path / "bare"
    )
    assert pushed.returncode != 0
