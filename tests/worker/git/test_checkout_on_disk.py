"""A checkout belongs to one process at a time, survives a killed one, and can be forgotten."""

import multiprocessing

import pytest

from app.github.endpoints import build_endpoints
from tests.worker.git.test_checkout import REPOSITORY, TOKEN, open_pull
from worker.git.checkout import CheckoutBusy, Checkouts
from worker.git.hardened_git import GitError, GitLimits, GitTooBig
from worker.git.patches import FetchedPull


def _hold(path, url, ready, release):
    with Checkouts(path, build_endpoints(url)).open_repository(REPOSITORY):
        ready.set()
        release.wait(20)


def test_two_processes_take_turns_in_one_repository(server, tmp_path):
    spawn = multiprocessing.get_context("spawn")
    ready, release = spawn.Event(), spawn.Event()
    holder = spawn.Process(target=_hold, args=(tmp_path / "data", server.url, ready, release))
    holder.start()
    try:
        assert ready.wait(20)
        waiting = Checkouts(tmp_path / "data", build_endpoints(server.url), patience_seconds=0.1)
        with pytest.raises(CheckoutBusy), waiting.open_repository(REPOSITORY):
            raise AssertionError("two at once")
    finally:
        release.set()
        holder.join(20)
    with waiting.open_repository(REPOSITORY) as git:
        assert git.text("rev-parse", "--is-bare-repository") == "true"


def test_a_checkout_can_be_forgotten(upstream, checkouts, tmp_path):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    checkouts.fetch_pulls(REPOSITORY, TOKEN, [open_pull(upstream, 1, {"a": "2\n"}, base)])
    assert (tmp_path / "data" / "42.git").is_dir()
    assert checkouts.list_fetched() == (REPOSITORY.id,)
    checkouts.forget(REPOSITORY.id)
    assert not (tmp_path / "data" / "42.git").exists()
    assert checkouts.list_fetched() == ()


def test_leftovers_of_a_killed_fetch_are_in_nobodys_way(upstream, checkouts, tmp_path):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    checkouts.fetch_pulls(REPOSITORY, TOKEN, [open_pull(upstream, 1, {"a": "2\n"}, base)])
    repository = tmp_path / "data" / "42.git"
    for name in ("shallow.lock", "packed-refs.lock", "refs/r4p/pull/1.lock"):
        (repository / name).touch()
    again = open_pull(upstream, 1, {"a": "3\n"}, base)
    assert type(checkouts.fetch_pulls(REPOSITORY, TOKEN, [again])[0]) is FetchedPull


def test_a_renamed_file_is_one_file_and_a_short_patch(upstream, checkouts):
    text = "".join(f"line {n}\n" for n in range(50))
    base = upstream.commit({"old.py": text}, ref="refs/heads/main")
    pull = open_pull(upstream, 1, {"new\tname.py": text + "more\n"}, base)
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
    assert [(f.path, f.added, f.deleted) for f in found.files] == [("new\tname.py", 1, 0)]
    assert b"rename from old.py" in found.diff


def test_no_local_command_may_use_the_network(checkouts, upstream, server):
    with checkouts.open_repository(REPOSITORY) as git, pytest.raises(GitError):
        git.output("ls-remote", f"{server.url}/octo/repo.git")
    assert server.requests == []


def test_an_output_beyond_its_cap_is_not_kept(upstream, server, tmp_path):
    base = upstream.commit({"a": "x" * 5_000}, ref="refs/heads/main")
    head = open_pull(upstream, 1, {"a": "y\n"}, base)
    checkouts = Checkouts(
        tmp_path / "data", build_endpoints(server.url), GitLimits(output_bytes=1_000)
    )
    checkouts.fetch_pulls(REPOSITORY, TOKEN, [head])
    with checkouts.open_repository(REPOSITORY) as git, pytest.raises(GitTooBig):
        git.output("cat-file", "blob", f"{base}:a")
