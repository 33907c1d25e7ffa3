"""A commit's tree as plain files: whole, as committed, without history, and gone afterwards."""

import io
import os
import signal
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.values.identifiers import (
    CommitSha,
)
from model.workspace import Workspace
from tests.builders.github.local_github import REPOSITORY
from tests.builders.github.pull_requests import build_pull
from tests.builders.tars import files_in, member, tar_of
from worker.git.hardened_git import GitError, GitTimeout, GitTooBig
from worker.git.tree_export import ExportLimits, TreeExporter, unpack

SECRET = "the contents of a file that is not theirs"


def test_a_tree_comes_as_it_was_committed(upstream, git, exports):
    commit = upstream.commit(
        {
            "a.py": "one\n",
            "deep/er/b.txt": "x\r\ny\r\n",
            "run": ("100755", "#!/bin/sh\n"),
            "ü b": "ü",
        },
        ref="refs/heads/main",
    )
    with exports.create_folder() as room:
        export = exports.export(git, commit, room)
        assert files_in(export.directory) == {
            "a.py": b"one\n",
            "deep/er/b.txt": b"x\r\ny\r\n",
            "run": b"#!/bin/sh\n",
            "ü b": "ü".encode(),
        }
        modes = {name: os.access(export.directory / name, os.X_OK) for name in ("run", "a.py")}
        assert (export.files, export.bytes, export.left_out) == (4, 22, ())
        assert modes == {"run": True, "a.py": False}
        with Workspace.open(export.directory) as workspace:
            assert workspace.read("ü b") == "ü".encode()


def test_the_trees_own_attributes_change_nothing(upstream, git, exports):
    """They could hide files, convert line ends, fail for want of an encoding, or print history ($Format$)."""
    attributes = (
        "hidden export-ignore\nlog export-subst\ncrlf text eol=crlf\nold crlf\n"
        "id ident\nwide text working-tree-encoding=UTF-16\nlfs filter=lfs\n"
    )
    files = {
        ".gitattributes": attributes,
        "hidden": "h\n",
        "log": "$Format:%H %an %B$\n",
        "crlf": "a\nb\n",
        "old": "a\n",
        "id": "$Id$\n",
        "wide": "w\n",
        "lfs": "l\n",
    }
    commit = upstream.commit(files, ref="refs/heads/main", message=SECRET)
    with exports.create_folder() as room:
        export = exports.export(git, commit, room)
        assert files_in(export.directory) == {name: text.encode() for name, text in files.items()}


def test_nothing_of_history_comes_along(upstream, git, exports):
    first = upstream.commit({"a": "now\n"}, ref="refs/heads/main", message="the first")
    upstream.commit({"a": SECRET}, first, ref="refs/heads/main", message=SECRET)
    upstream.git("tag", "future", "refs/heads/main")
    with exports.create_folder() as room:
        export = exports.export(git, first, room)
        assert files_in(room) == {"tree/a": b"now\n"}
        done = subprocess.run(
            ["git", "log"], cwd=export.directory, capture_output=True, check=False
        )
        assert done.returncode == 128


def test_a_base_that_was_fetched_for_its_pulls_becomes_a_tree_and_its_diff_fits(
    upstream, checkouts, exports
):
    """From a server to a patch: nothing but the exported tree is there to work on."""
    base = upstream.commit({"a.py": "one\r\ntwo\r\n", "b.py": "b = 1\n"}, ref="refs/heads/main")
    head = upstream.commit({"a.py": "theirs\n"}, base, ref="refs/pull/1/head")
    pull = build_pull(1, "open", head, base)
    checkouts.fetch_pulls(REPOSITORY, None, [pull])
    with exports.create_folder() as room:
        with checkouts.open_repository(REPOSITORY) as git:
            export = exports.export(git, CommitSha(base), room)
        with Workspace.open(export.directory) as workspace:
            workspace.write("a.py", b"one\r\n2\r\n")
            diff = workspace.diff()
    upstream.git("read-tree", base)
    upstream.git("apply", "--cached", data=diff.encode())
    assert upstream.git("show", ":a.py") == "one\r\n2"


@pytest.mark.parametrize(
    "commit", ["HEAD", "main", "-o/tmp/x", "--output=x", "0" * 39, "0" * 40, ""]
)
def test_an_invalid_commit_is_refused(upstream, git, exports, commit):
    upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    with exports.create_folder() as room, pytest.raises(GitError):
        exports.export(git, commit, room)


def test_an_export_names_what_it_left_out_and_why(tmp_path):
    tar = tar_of(
        member("x", tarfile.SYMTYPE, "y", b""),
        member("../\x1b", data=b""),
        member("big", data=b"12345"),
    )
    export = unpack(io.BytesIO(tar), tmp_path, ExportLimits(file_bytes=4))
    reasons = {one.path: one.reason for one in export.left_out}
    assert reasons["'x'"] == "it is a link"
    assert "`..`" in reasons["'../\\x1b'"]
    assert reasons["'big'"] == "it has 5 bytes, more than 4"


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(ExportLimits(bytes=10), id="bytes"),
        pytest.param(ExportLimits(files=2), id="files"),
    ],
)
def test_a_tree_beyond_a_limit_is_refused(tmp_path, limits):
    tar = tar_of(*(member(f"f{n}") for n in range(3)))
    with pytest.raises(GitTooBig):
        unpack(io.BytesIO(tar), tmp_path, limits)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 12


def test_a_size_that_is_only_claimed_costs_nothing(tmp_path):
    made, _ = member("huge")
    made.size = 2**40
    with pytest.raises(GitTooBig):
        unpack(io.BytesIO(made.tobuf()), tmp_path, ExportLimits(file_bytes=2**50))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [b"", b"not a tar", b"\xff" * 2_000, tar_of(member("x", data=b"y" * 5_000))[:2_000]],
    ids=["empty", "text", "noise", "cut off"],
)
def test_a_broken_tar_is_an_error(tmp_path, data):
    with pytest.raises(GitError, match="not a tar"):
        unpack(io.BytesIO(data), tmp_path, ExportLimits())


def test_headers_upon_headers_end_as_an_error(tmp_path):
    long, _ = member("./@LongLink", b"L", data=b"x" * 512)
    chain = (long.tobuf(tarfile.GNU_FORMAT) + b"x" * 512) * 5_000
    with pytest.raises(GitError, match="not a tar"):
        unpack(io.BytesIO(chain), tmp_path, ExportLimits())


def test_a_slow_tar_is_given_up(tmp_path):
    with pytest.raises(GitTimeout):
        unpack(io.BytesIO(tar_of(member("x"))), tmp_path, ExportLimits(seconds=-1))


def test_a_slow_git_is_given_up(upstream, git, tmp_path):
    exports = TreeExporter(tmp_path / "exports", ExportLimits(seconds=0.0001))
    commit = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    with exports.create_folder() as room, pytest.raises(GitTimeout):
        exports.export(git, commit, room)


def test_git_writes_no_longer_tar_than_it_may(upstream, git, tmp_path):
    noise = os.urandom(300_000)
    commit = upstream.commit({f"f{n}": noise for n in range(20)}, ref="refs/heads/main")
    exports = TreeExporter(tmp_path / "exports", ExportLimits(bytes=500_000, files=30))
    with exports.create_folder() as room:
        with pytest.raises(GitTooBig):
            exports.export(git, commit, room)
        assert sum(path.stat().st_size for path in room.iterdir()) <= 600_000


def test_a_tree_that_names_itself_many_times_is_refused(upstream, git, tmp_path):
    tree = upstream.tree({"f": "x" * 1_000})
    for _ in range(9):
        entries = b"".join(f"040000 tree {tree}\td{n}\0".encode() for n in range(10))
        tree = upstream.git("mktree", "-z", data=entries)
    commit = upstream.commit(tree, ref="refs/heads/main")
    exports = TreeExporter(
        tmp_path / "exports", ExportLimits(bytes=2_000_000, files=1_000, seconds=60)
    )
    with exports.create_folder() as room, pytest.raises((GitTooBig, GitTimeout)):
        exports.export(git, commit, room)
    assert list(exports.directory.glob("tree-*")) == []


def test_the_folder_is_gone_afterwards_also_after_an_error(exports):
    def fail():
        with exports.create_folder() as room:
            (room / "left").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [path.name for path in exports.directory.iterdir()] == ["lock"]


CRASHES = """
import os, sys, time
from pathlib import Path
from tests.builders.github.local_github import REPOSITORY
from tests.builders.tars import files_in, member, tar_of
from app.values.identifiers import EvaluationId
from worker.git.tree_export import TreeExporter
with TreeExporter(Path(sys.argv[1])).create_folder() as room:
    (room / "left").write_text("x")
    print(room, flush=True)
    time.sleep(600)
"""


def test_an_abandoned_folder_is_removed_and_a_used_one_stays(exports, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", CRASHES, str(exports.directory)], stdout=subprocess.PIPE, text=True
    ) as process:
        left = process.stdout.readline().strip()
        with exports.create_folder() as mine:
            assert exports.remove_abandoned() == 0
            assert {str(p) for p in exports.directory.glob("tree-*")} == {left, str(mine)}
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert exports.remove_abandoned() == 1
            assert {str(p) for p in exports.directory.glob("tree-*")} == {str(mine)}
    assert sorted(path.name for path in exports.directory.iterdir()) == ["lock"]


def test_an_export_removes_abandoned_folders_first(exports):
    exports.directory.mkdir()
    (exports.directory / "tree-left").mkdir()
    with exports.create_folder():
        assert not (exports.directory / "tree-left").exists()


def test_foreign_files_stop_no_removal_of_abandoned_folders(exports):
    exports.directory.mkdir()
    (exports.directory / "tree-file").write_text("somebody's")
    (exports.directory / "tree-link").symlink_to(exports.directory)
    with exports.create_folder() as mine:
        assert {path.name for path in exports.directory.glob("tree-*")} == {
            "tree-file",
            "tree-link",
            mine.name,
        }


def test_many_come_and_go_at_the_same_time(exports):
    def visit(_number):
        for _ in range(20):
            with exports.create_folder() as room:
                assert room.is_dir()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))
    assert [path.name for path in exports.directory.iterdir()] == ["lock"]
