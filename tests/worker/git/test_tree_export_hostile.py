"""Trees and tars made to write outside the folder they are unpacked to: none does, and what is left is plain."""

import io
import os
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.github.git_server import Upstream
from tests.builders.tars import files_in, member, tar_of, world
from worker.git.hardened_git import GitError
from worker.git.tree_export import ExportLimits, unpack

SECRET = "the contents of a file that is not theirs"

HOSTILE_TREES = {
    "link to a file": {"x": ("120000", "/etc/passwd")},
    "link upwards": {"x": ("120000", "../../outside/secret")},
    "link to a folder, and a file below it": {"x": ("120000", "../../outside"), "y": "x/secret"},
    "link with a long target": {"x": ("120000", "../" * 2_000 + "etc/passwd")},
    "link to git": {"x": ("120000", ".git")},
    "dot dot": {"../secret": "theirs"},
    "dot dot below": {"a/../../outside/new": "theirs"},
    "dot": {"./x": "theirs"},
    "git": {".git/hooks/post-checkout": "theirs"},
    "GIT": {".GIT/config": "theirs"},
    "git~1": {"git~1/config": "theirs"},
    "git with an unseen letter": {".g\u200cit/config": "theirs"},
    "git of a submodule": {"sub/.git/config": "theirs"},
    "submodule": {"sub": ("160000", "1" * 40)},
    "control characters": {"a\x1b[2Jb": "theirs", "a\nb": "theirs", "a\rb": "theirs"},
    "backslashes": {"..\\..\\outside\\secret": "theirs"},
    "drive": {"C:\\x": "theirs"},
    "a long path": {"folder/" * 150 + "x": "theirs"},
}


@pytest.mark.parametrize("name", HOSTILE_TREES)
def test_a_hostile_tree_leaves_plain_files_inside(upstream, git, exports, tmp_path, name):
    files = HOSTILE_TREES[name]
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    commit = commit_files(upstream, files)
    with exports.create_folder() as room:
        before = world(outside)
        export = try_export(exports, git, commit, room)
        assert world(outside) == before
        if isinstance(export, GitError):  # git itself doesn't take some names: no tree at all then
            assert "invalid path" in str(export)
            assert not (room / "tree").exists()
            return
        found = files_in(room)
        assert set(found) - {"tree/y"} == {"tree/fine.py"}
        assert not [p for p in room.rglob("*") if p.is_symlink()]
        expected = 0 if name == "submodule" else len(files) - ("y" in files)
        assert export.left_out_count == expected
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "served", "exports"}


def try_export(exports, git, commit, room):
    try:
        return exports.export(git, commit, room)
    except GitError as error:
        return error


def commit_files(upstream: Upstream, files) -> str:
    return upstream.commit({"fine.py": "fine = 1\n", **files}, ref="refs/heads/main")


HOSTILE_MEMBERS = {
    "absolute": [member("/tmp/r4p-escaped")],
    "two slashes": [member("//tmp/r4p-escaped")],
    "dot dot": [member("../escaped")],
    "dot dot below": [member("a/../../escaped")],
    "dot dot in the end": [member("a/..")],
    "many dot dots": [member("../" * 40 + "tmp/r4p-escaped")],
    "a long dot dot": [member("a/" * 60 + "../" * 80 + "escaped")],
    "symbolic link": [member("x", tarfile.SYMTYPE, "/etc/passwd", b"")],
    "through a symbolic link": [
        member("x", tarfile.SYMTYPE, "../../outside", b""),
        member("x/escaped"),
    ],
    "over a symbolic link": [
        member("x", tarfile.SYMTYPE, "../../outside/secret", b""),
        member("x"),
    ],
    "hard link": [member("x", tarfile.LNKTYPE, "/etc/passwd", b"")],
    "hard link upwards": [member("x", tarfile.LNKTYPE, "../../outside/secret", b""), member("x")],
    "character device": [member("x", tarfile.CHRTYPE, data=b"", devmajor=1, devminor=5)],
    "block device": [member("x", tarfile.BLKTYPE, data=b"", devmajor=8, devminor=0)],
    "pipe": [member("x", tarfile.FIFOTYPE, data=b"")],
    "contiguous file": [member("x", tarfile.CONTTYPE)],
    "an unknown kind": [member("x", b"Z")],
    "git": [member(".git/config"), member("a/.git/config"), member(".GIT"), member("GIT~1/x")],
    "control characters": [member("a\x1bb"), member("a\nb"), member("a\u202eb")],
    "a name that is no text": [member("a\udcff")],
    "a long name": [member("n" * 300)],
    "a long path": [member("d/" * 600 + "x")],
    "an empty name": [member("")],
    "backslashes": [member("..\\escaped")],
    "a header that renames": [member("fine", pax_headers={"path": "../escaped"})],
    "a header that makes it absolute": [member("fine", pax_headers={"path": "/tmp/r4p-escaped"})],
    "set-uid": [member("x", mode=0o6755, uid=0)],
    "twice": [member("x", data=b"first"), member("x", data=b"second")],
    "a file, then a folder": [member("x", data=b"first"), member("x/escaped")],
    "a folder, then a file": [member("x/y", data=b"first"), member("x")],
    "a folder as a link": [
        member("x", tarfile.DIRTYPE, "../outside", b""),
        member("x/y", data=b"first"),
    ],
    "a folder upwards": [
        member("../made", tarfile.DIRTYPE, data=b""),
        member("/made", tarfile.DIRTYPE, data=b""),
    ],
}
KEPT = {
    "set-uid": {"x": b"theirs"},
    "twice": {"x": b"first"},
    "a file, then a folder": {"x": b"first"},
    "a folder, then a file": {"x/y": b"first"},
    "a folder as a link": {"x/y": b"first"},
    "over a symbolic link": {"x": b"theirs"},
    "through a symbolic link": {"x/escaped": b"theirs"},
    "hard link upwards": {"x": b"theirs"},
}
"""What is left of them is plain, and inside."""


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["pax", "gnu"])
@pytest.mark.parametrize("name", HOSTILE_MEMBERS)
def test_a_hostile_tar_leaves_plain_files_inside(tmp_path, name, kind):
    tree, outside = tmp_path / "room" / "tree", tmp_path / "outside"
    tree.mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    before = world(outside)
    tar = tar_of(*HOSTILE_MEMBERS[name], member("last", data=b"fine"), kind=kind)
    export = unpack(io.BytesIO(tar), tree, ExportLimits())
    kept = KEPT.get(
        name, {"fine": b"theirs"} if "header" in name and kind != tarfile.PAX_FORMAT else {}
    )
    assert files_in(tree) == {"last": b"fine", **kept}
    assert export.files == len(kept) + 1
    assert world(outside) == before
    assert not os.path.lexists("/tmp/r4p-escaped")
    assert [path.name for path in (tmp_path / "room").iterdir()] == ["tree"]
    for path in tree.rglob("*"):
        about = path.lstat()
        assert about.st_mode & 0o7000 == 0
        assert path.is_dir() or (path.is_file() and not path.is_symlink() and about.st_nlink == 1)


PARTS = st.sampled_from(["..", ".", "", "a", "b", ".git", "tmp", "link", "outside", "secret"])
MEMBERS = st.lists(
    st.builds(
        member,
        st.lists(PARTS, min_size=1, max_size=4).map("/".join),
        st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE]),
        st.lists(PARTS, min_size=1, max_size=3).map("/".join),
        st.just(b""),
    ),
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(members=MEMBERS)
def test_no_mixture_of_members_leaves_the_folder(tmp_path_factory, members):
    top = tmp_path_factory.mktemp("mixed")
    tree, outside = top / "room" / "tree", top / "outside"
    for folder in (tree, outside):
        folder.mkdir(parents=True)
    (outside / "secret").write_text(SECRET)
    before = world(outside)
    export = unpack(io.BytesIO(tar_of(*members)), tree, ExportLimits())
    assert world(outside) == before
    beside = {path.name for path in top.rglob("*") if not path.is_relative_to(tree)}
    assert beside == {"room", "outside", "secret"}
    assert len(files_in(tree)) == export.files
    assert all(not path.is_symlink() and path.name != ".git" for path in tree.rglob("*"))
