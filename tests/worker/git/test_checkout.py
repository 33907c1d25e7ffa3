"""Diffs of pull requests: right, in one exchange, within caps, and with the token nowhere on disk."""

import base64
import shutil
import subprocess

import pytest

from app.github.endpoints import build_endpoints
from app.values.identifiers import (
    InstallationId,
    RepositoryId,
    RepositoryRef,
)
from tests.builders.github.git_server import GitServer
from tests.builders.github.local_github import REPOSITORY
from tests.builders.github.pull_requests import build_pull
from worker.git.checkout import Checkouts, is_valid_branch
from worker.git.hardened_git import GitError, GitLimits, GitUnreachable
from worker.git.patches import FetchedPull, Refusal, RefusedPull

TOKEN = "ghs_7_" + "secret" * 10


def build_wanted_pull(number, head, base, ref="main"):
    return build_pull(number, "open", head, base, ref)


@pytest.fixture
def pull(upstream):
    """A pull request that changes one line."""
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    return open_pull(upstream, 1, {"a": "2\n"}, base)


def open_pull(upstream, number, files, base):
    """A pull request of one commit on that base."""
    return build_wanted_pull(
        number, upstream.commit(files, base, ref=f"refs/pull/{number}/head"), base
    )


def test_several_pulls_and_their_base_come_in_one_exchange(upstream, server, checkouts):
    base = upstream.commit({"a.py": "one\ntwo\n"}, ref="refs/heads/main")
    pulls = [open_pull(upstream, n, {"a.py": f"one\n{n}\n"}, base) for n in (1, 2, 3, 4)]
    found = checkouts.fetch_pulls(REPOSITORY, TOKEN, pulls)
    assert [pull.number for pull in found] == [1, 2, 3, 4]
    assert server.fetches == 1
    assert found[1].merge_base == base
    assert found[1].diff.endswith(b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    assert [(f.path, f.added, f.deleted) for f in found[1].files] == [("a.py", 1, 1)]


def test_the_patch_starts_where_the_pull_began_not_where_the_branch_is(upstream, checkouts):
    began = upstream.commit({"a": "1\n", "b": "1\n"}, ref="refs/heads/main")
    pull = open_pull(upstream, 1, {"a": "2\n", "b": "1\n"}, began)
    tip = upstream.commit({"a": "1\n", "b": "9\n"}, began, ref="refs/heads/main")
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [build_wanted_pull(1, pull.head_sha, tip)])
    assert (found.merge_base, [f.path for f in found.files]) == (began, ["a"])


def test_a_moved_head_is_refused_and_the_others_are_not(upstream, checkouts):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    first, second = (open_pull(upstream, n, {"a": f"{n}{n}\n"}, base) for n in (1, 2))
    open_pull(upstream, 1, {"a": "pushed again\n"}, base)
    found = checkouts.fetch_pulls(REPOSITORY, TOKEN, [first, second])
    assert (type(found[0]), found[0].reason) == (RefusedPull, Refusal.MOVED)
    assert type(found[1]) is FetchedPull


def test_a_pull_that_is_gone_refuses_only_itself(upstream, checkouts):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    gone = build_wanted_pull(9, "9" * 40, base)
    found = checkouts.fetch_pulls(
        REPOSITORY, TOKEN, [gone, open_pull(upstream, 1, {"a": "2\n"}, base)]
    )
    assert found[0].reason is Refusal.UNFETCHABLE
    assert type(found[1]) is FetchedPull


def test_a_pull_without_common_history_says_so(upstream, checkouts):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    alien = upstream.commit({"a": "2\n"}, ref="refs/pull/1/head")
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [build_wanted_pull(1, alien, base)])
    assert found.reason is Refusal.UNRELATED


@pytest.mark.parametrize(
    "pull",
    [
        build_wanted_pull(1, "HEAD", "0" * 40),
        build_wanted_pull(1, "0" * 40, "--upload-pack=x"),
        build_wanted_pull(1, "0" * 40, "0" * 40, "main:refs/heads/x"),
        build_wanted_pull(1, "0" * 40, "0" * 40, "-main\n"),
        build_wanted_pull(-1, "0" * 40, "0" * 40),
    ],
    ids=["head", "base", "branch with a colon", "branch with a line break", "number"],
)
def test_an_invalid_name_never_reaches_git(checkouts, server, pull):
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
    assert found.reason is Refusal.UNFETCHABLE
    assert server.requests == []


@pytest.mark.parametrize(
    "name", ["octo", "octo/../x", "octo/..", "-o/r", "o/r?x", "o/r\n", "ext::sh/x"]
)
def test_an_invalid_repository_name_is_refused(checkouts, name):
    with pytest.raises(GitError, match="owner/name"):
        checkouts.build_remote(RepositoryRef(InstallationId(1), RepositoryId(1), name), TOKEN)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("main", True),
        ("release/1.2", True),
        ("-dash", True),
        ("ü", True),
        ("", False),
        ("@", False),
        ("a..b", False),
        ("a.lock", False),
        ("a.lock/b", False),
        (".a", False),
        ("a/.b", False),
        ("a//b", False),
        ("/a", False),
        ("a.", False),
        ("a b", False),
        ("a*", False),
        ("a@{0}", False),
    ],
)
def test_branch_names_follow_gits_rules(upstream, name, valid):
    assert is_valid_branch(name) is valid
    try:
        upstream.git("check-ref-format", f"refs/heads/{name}")
        by_git = True
    except subprocess.CalledProcessError:
        by_git = False
    assert by_git is valid or name == "@"


def test_the_token_is_sent_and_left_nowhere(pull, server, checkouts, tmp_path, monkeypatch):
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    log = tmp_path / "arguments"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:/usr/bin:/bin")
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
    assert type(found) is FetchedPull
    basic = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    assert {header for _, header in server.requests} == {f"Basic {basic}"}
    kept = b"".join(f.read_bytes() for f in (tmp_path / "data").rglob("*") if f.is_file())
    for secret in (TOKEN, basic):
        assert secret not in log.read_text()
        assert secret.encode() not in kept
    assert "fetch" in log.read_text()


def test_a_redirect_is_not_followed_with_our_token(pull, server, checkouts, tmp_path):
    with GitServer(tmp_path / "served").running() as elsewhere:
        server.redirect = elsewhere.url
        with pytest.raises(GitError):
            checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
        assert elsewhere.requests == []


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_a_refusing_server_is_an_outage_and_no_fault_of_the_pull(pull, server, checkouts, status):
    server.refuse = status
    with pytest.raises(GitUnreachable) as raised:
        checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
    assert TOKEN not in str(raised.value)
    server.refuse = None
    assert type(checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])[0]) is FetchedPull


def test_a_server_that_is_not_there_is_unreachable(checkouts, tmp_path):
    nobody = Checkouts(tmp_path / "other", build_endpoints("http://127.0.0.1:9"))
    with pytest.raises(GitUnreachable):
        nobody.fetch_pulls(REPOSITORY, TOKEN, [build_wanted_pull(1, "1" * 40, "2" * 40)])


def test_history_is_fetched_as_deep_as_needed_and_no_deeper(upstream, server, checkouts):
    parents = []
    for n in range(140):
        parents = [upstream.commit({"a": f"{n}\n"}, *parents, ref="refs/heads/main")]
        if n == 10:
            early = parents[0]
    near = open_pull(upstream, 1, {"a": "near\n"}, parents[0])
    far = upstream.commit({"a": "far\n"}, early, ref="refs/pull/2/head")
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [near])
    assert found.merge_base == parents[0]
    assert server.fetches == 1
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [build_wanted_pull(2, far, parents[0])])
    assert (found.merge_base, server.fetches) == (early, 3)
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [near])
    assert (found.merge_base, server.fetches) == (parents[0], 4)


def test_a_cut_history_never_shows_an_older_meeting_point(upstream, checkouts):
    """A shortcut through a merge keeps an old common commit in sight while the true one is cut."""
    root = upstream.commit({"a": "root\n"}, ref="refs/heads/main")
    newer = upstream.commit({"a": "newer\n"}, root, ref="refs/heads/side")
    main = newer
    for n in range(120):
        main = upstream.commit({"a": "newer\n", "n": f"{n}\n"}, main, ref="refs/heads/main")
    main = upstream.commit({"a": "newer\n", "n": "m\n"}, main, root, ref="refs/heads/main")
    head = upstream.commit({"a": "mine\n"}, newer, ref="refs/pull/1/head")
    (found,) = checkouts.fetch_pulls(REPOSITORY, TOKEN, [build_wanted_pull(1, head, main)])
    assert found.merge_base == newer


@pytest.mark.parametrize(
    "caps",
    [GitLimits(output_bytes=2_000), GitLimits(files=2), GitLimits(pack_bytes=20_000)],
    ids=["a long diff", "many files", "a big pack"],
)
def test_a_pull_beyond_a_cap_is_refused_and_its_rival_is_not(upstream, server, tmp_path, caps):
    base = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    noise = "".join(f"{n * 7919 % 10_007} {n * n}\n" for n in range(20_000))
    big = open_pull(upstream, 1, {f"f{n}": noise for n in range(3)}, base)
    small = open_pull(upstream, 2, {"a": "2\n"}, base)
    checkouts = Checkouts(tmp_path / "data", build_endpoints(server.url), caps)
    found = checkouts.fetch_pulls(REPOSITORY, TOKEN, [big, small])
    assert found[0].reason is Refusal.TOO_BIG
    assert type(found[1]) is FetchedPull


def test_a_slow_command_is_ended(pull, server, tmp_path):
    checkouts = Checkouts(tmp_path / "data", build_endpoints(server.url), GitLimits(seconds=0.0001))
    with pytest.raises(GitError, match="ended after"):
        checkouts.fetch_pulls(REPOSITORY, TOKEN, [pull])
