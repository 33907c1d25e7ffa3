"""Repositories made to harm whoever reads them: nothing runs, nothing leaks, nothing leaves its place.

Each stands beside a harmless rival in the same fetch, whose patch must come through.
"""

from pathlib import Path

import pytest

from app.github.endpoints import build_endpoints
from tests.builders.github.git_server import GitServer, Upstream
from tests.builders.github.local_github import REPOSITORY
from tests.builders.github.pull_requests import build_pull
from worker.git.checkout import Checkouts
from worker.git.hardened_git import Git, GitError, GitLimits, Remote
from worker.git.patches import FetchedPull, Refusal, RefusedPull

SECRET = "the contents of a file that is not theirs"


def gitmodules(name="m", path="m", url="https://example.invalid/m"):
    return f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n'


def submodule(upstream, canary):
    return {".gitmodules": gitmodules(url=f"ext::sh -c touch% {canary}"), "m": ("160000", "1" * 40)}


def submodule_option(upstream, canary):
    return {".gitmodules": gitmodules(url=f"--upload-pack=touch {canary}")}


def submodule_that_plays_an_outage(upstream, canary):
    """Git quotes a refused address, line breaks and all: no rival may wait for that."""
    said = "-early eof\\nfatal: unable to access 'x': the remote end hung up unexpectedly"
    return {".gitmodules": gitmodules(url=f'"{said}"')}


def submodule_name(upstream, canary):
    return {".gitmodules": gitmodules(name="../../hooks"), "m": ("160000", "1" * 40)}


def submodule_carriage_return(upstream, canary):
    return {".gitmodules": gitmodules(path='"m\\r"'), "m": ("160000", "1" * 40)}


def gitmodules_link(upstream, canary):
    return {".gitmodules": ("120000", "../../config")}


def symlink(upstream, canary):
    return {"link": ("120000", str(canary.parent / "secret"))}


def link_folder(upstream, canary):
    return {"A/modules/x": ("100755", f"touch {canary}"), "a": ("120000", ".git")}


def drivers(upstream, canary):
    config = f'[diff "evil"]\n\ttextconv = touch {canary}\n\tcommand = touch {canary}\n'
    config += f'[filter "evil"]\n\tsmudge = touch {canary}\n\tclean = touch {canary}\n'
    return {
        ".gitattributes": "* diff=evil filter=evil merge=evil\n",
        ".gitconfig": config,
        "config": config,
        "code.py": "changed\n",
    }


def hidden_by_attributes(upstream, canary):
    return {".gitattributes": "*.py -diff -text binary\n", "code.py": "changed\n"}


def hooks_in_the_tree(upstream, canary):
    script = ("100755", f"#!/bin/sh\ntouch {canary}\n")
    return {
        ".git/hooks/post-checkout": script,
        ".git/config": f"[core]\n\tfsmonitor = touch {canary}",
    }


def other_spellings_of_git(upstream, canary):
    script = ("100755", f"#!/bin/sh\ntouch {canary}\n")
    return {".GIT/hooks/x": script, "git~1/hooks/x": script, ".g\u200cit/hooks/x": script}


def upwards(upstream, canary):
    return {"../canary": "x", "..": "x"}


def absolute(upstream, canary):
    return {f"a/{canary}".replace("/", "\\"): "x"}


def bare_inside(upstream, canary):
    config = f"[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = touch {canary}\n"
    names = ("post-checkout", "reference-transaction", "pre-auto-gc")
    hooks = {f"b/hooks/{n}": ("100755", f"#!/bin/sh\ntouch {canary}\n") for n in names}
    return {
        "b/HEAD": "ref: refs/heads/main\n",
        "b/config": config,
        "b/objects/x": "",
        "b/refs/x": "",
    } | hooks


def options_as_names(upstream, canary):
    names = (
        "-rf",
        f"--output={canary.name}",
        "--upload-pack=x",
        f"$(touch {canary})",
        "`id`",
        "--",
    )
    return dict.fromkeys(names, "x\n")


def control_characters(upstream, canary):
    return {"line\nbreak": "x\n", "tab\there": "x\n", "\x1b[31mred": "x\n", 'quo"te': "x\n"}


def forge_header(upstream, canary):
    return {"a\n--- a/code.py\n+++ b/code.py\n@@ -0,0 +1 @@\n+forged": "x\n"}


def deep(upstream, canary):
    return {"/".join(["d"] * 300): "x\n"}


def lfs(upstream, canary):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "1" * 64 + "\nsize 9\n"
    config = f'[lfs]\n\turl = file:///etc\n[lfs "customtransfer.x"]\n\tpath = touch {canary}\n'
    return {".lfsconfig": config, ".gitattributes": "* filter=lfs\n", "big.bin": pointer}


def twice_the_same_name(upstream, canary):
    blob = upstream.blob("x\n")
    lines = f"100644 blob {blob}\ta\0040000 tree {upstream.tree({'x': 'y'})}\ta\0".encode()
    return upstream.git("mktree", "-z", "--missing", data=lines.replace(b"\0040000", b"\x00040000"))


def huge_file(upstream, canary):
    return {"huge": b"x" * (17 * 1024 * 1024)}


HOSTILE = [
    submodule,
    submodule_option,
    submodule_that_plays_an_outage,
    submodule_name,
    submodule_carriage_return,
    gitmodules_link,
    symlink,
    link_folder,
    drivers,
    hidden_by_attributes,
    hooks_in_the_tree,
    other_spellings_of_git,
    upwards,
    absolute,
    bare_inside,
    options_as_names,
    control_characters,
    forge_header,
    deep,
    lfs,
    twice_the_same_name,
    huge_file,
]


@pytest.fixture
def upstream(tmp_path):
    upstream = Upstream(tmp_path / "served" / "octo" / "repo.git")
    for name in ("post-checkout", "post-upload-pack", "reference-transaction", "pre-receive"):
        hook = upstream.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'canary'}\n")
    upstream.git("config", "core.fsmonitor", f"touch {tmp_path / 'canary'}")
    return upstream


@pytest.fixture
def fetch(tmp_path, upstream):
    """Fetches a hostile pull request beside a harmless one; says what came of the first."""
    (tmp_path / "secret").write_text(SECRET)
    with GitServer(tmp_path / "served").running() as server:

        def fetch(build) -> FetchedPull | RefusedPull:
            base = upstream.commit({"code.py": "one\n"}, ref="refs/heads/main")
            content = build(upstream, tmp_path / "canary")
            hostile = upstream.commit(content, base, ref="refs/pull/1/head")
            harmless = upstream.commit({"code.py": "two\n"}, base, ref="refs/pull/2/head")
            for hook in (upstream.path / "hooks").iterdir():
                hook.chmod(0o755)
            before = outside(tmp_path)
            pulls = [build_pull(n, "open", head, base) for n, head in ((1, hostile), (2, harmless))]
            checkouts = Checkouts(tmp_path / "data", build_endpoints(server.url))
            first, second = checkouts.fetch_pulls(REPOSITORY, None, pulls)
            assert outside(tmp_path) == before
            assert {path.name for path in (tmp_path / "data").iterdir()} == {"42.git", "42.lock"}
            assert b"-one\n+two\n" in second.diff
            return first

        yield fetch


def outside(directory: Path) -> set[str]:
    """Every path that is not inside our own data directory."""
    here = {str(path.relative_to(directory)) for path in directory.rglob("*")}
    return {path for path in here if not path.startswith("data")}


@pytest.mark.parametrize("build", HOSTILE, ids=lambda build: build.__name__)
def test_nothing_runs_nothing_leaks_and_the_rival_is_read(fetch, build, tmp_path):
    found = fetch(build)
    assert not (tmp_path / "canary").exists()
    if isinstance(found, FetchedPull):
        assert SECRET.encode() not in found.diff
    else:
        assert found.reason is Refusal.UNFETCHABLE
    assert (tmp_path / "secret").read_text() == SECRET


def test_a_link_is_read_as_the_text_it_is(fetch, tmp_path):
    found = fetch(symlink)
    assert "new file mode 120000" in found.diff.decode()
    assert f"+{tmp_path / 'secret'}\n" in found.diff.decode()


def test_attributes_cannot_hide_a_change(fetch):
    assert b"-one\n+changed\n" in fetch(hidden_by_attributes).diff


def test_a_name_cannot_forge_another_files_change(fetch):
    diff = fetch(forge_header).diff.decode()
    assert diff.count("\n--- a/code.py\n") == 1  # its own deletion, as the tree lacks the file
    assert "\n+forged" not in diff


def test_a_submodule_is_one_line_and_never_followed(fetch):
    assert b"+Subproject commit " + b"1" * 40 in fetch(submodule).diff


def test_a_huge_file_is_named_and_not_spelled_out(fetch):
    found = fetch(huge_file)
    assert [(f.path, f.added) for f in found.files] == [("code.py", 0), ("huge", None)]
    assert len(found.diff) < 2_000
    assert b"Binary files" in found.diff


def test_a_bomb_of_many_names_is_refused(fetch):
    """26 folders that are all the same tree, three levels deep: 17,576 files from four trees."""

    def bomb(upstream, canary):
        tree = upstream.tree({"x": "x\n"})
        for _ in range(3):
            lines = b"".join(f"040000 tree {tree}\t{chr(97 + n)}\0".encode() for n in range(26))
            tree = upstream.git("mktree", "-z", data=lines)
        return tree

    assert fetch(bomb).reason is Refusal.TOO_BIG


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {canary}", "file://{served}", "{served}", "ssh://h/x"]
)
def test_only_http_is_ever_spoken(tmp_path, upstream, url):
    canary = tmp_path / "canary"
    git = Git(tmp_path / "data" / "1.git", GitLimits())
    git.create()
    remote = Remote(url.format(canary=canary, served=upstream.path), None)
    with pytest.raises(GitError, match="not allowed"):
        git.fetch(remote, ["+refs/heads/main:refs/r4p/x"], 1)
    assert not canary.exists()
