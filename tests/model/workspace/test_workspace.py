"""What an agent reads, changes and hands in: the tree on disk stays as it is, limits hold, errors say what to do."""

import pytest

from model.errors import NoSuchFile, PathRefused, TooBig, WorkspaceError
from model.workspace import TreeLimits, Workspace


@pytest.fixture
def root(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_bytes(b"one = 1\n")
    (tmp_path / "run").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    return tmp_path


@pytest.fixture
def workspace(root):
    with Workspace.open(root) as view:
        yield view


def test_edits_are_read_back_and_the_disk_is_unchanged(workspace, root):
    workspace.write("package/module.py", b"one = 2\n")
    workspace.write("package/new.py", b"two = 2\n")
    assert workspace.read("package/module.py") == b"one = 2\n"
    assert workspace.read_original("package/module.py") == b"one = 1\n"
    assert workspace.list_changed() == ("package/module.py", "package/new.py")
    assert (root / "package" / "module.py").read_bytes() == b"one = 1\n"
    assert sorted(p.name for p in root.rglob("*")) == ["module.py", "package", "run"]


@pytest.mark.parametrize("verb", ["read", "read_original"])
def test_missing_file_is_reported(workspace, verb):
    with pytest.raises(NoSuchFile, match=r"no file 'package/none\.py' in the tree"):
        getattr(workspace, verb)("package/none.py")


def test_restored_file_is_no_change(workspace):
    workspace.write("run", b"x")
    workspace.write("run", b"#!/bin/sh\n")
    assert workspace.list_changed() == ()
    assert workspace.diff() == ""


def test_new_file_has_no_original(workspace):
    workspace.write("new", b"x")
    with pytest.raises(NoSuchFile):
        workspace.read_original("new")
    assert workspace.list_changed() == ("new",)


def test_leading_dot_slash_is_the_same_file(workspace):
    workspace.write("./run", b"x")
    assert workspace.list_changed() == ("run",)
    assert workspace.read("run") == b"x"


def test_original_is_kept_when_the_disk_changes(workspace, root):
    workspace.write("run", b"mine\n")
    (root / "run").write_bytes(b"theirs\n")
    assert workspace.read_original("run") == b"#!/bin/sh\n"
    assert "theirs" not in workspace.diff()


@pytest.mark.parametrize(
    ("first", "second"), [("new", "new/x"), ("new/x", "new"), ("new/x/y", "new/x")]
)
def test_name_is_either_a_file_or_a_folder(workspace, first, second):
    workspace.write(first, b"x")
    with pytest.raises(PathRefused, match="either a file or a folder"):
        workspace.write(second, b"x")
    assert workspace.list_changed() == (first,)


def test_workspaces_on_one_tree_are_separate(workspace, root):
    with Workspace.open(root) as second:
        workspace.write("run", b"mine")
        assert second.read("run") == b"#!/bin/sh\n"
        assert second.list_changed() == ()


def test_refused_change_leaves_nothing(root):
    limits = TreeLimits(file_bytes=20, changed_files=2, changed_bytes=30)
    (root / "big").write_bytes(b"x" * 21)
    with Workspace.open(root, limits) as workspace:
        for verb in (workspace.read, workspace.read_original):
            with pytest.raises(TooBig, match="'big' has more than 20 bytes"):
                verb("big")
        with pytest.raises(TooBig, match="would have 21 bytes"):
            workspace.write("run", b"x" * 21)
        workspace.write("a", b"x" * 20)
        with pytest.raises(TooBig, match="together would have 31 bytes"):
            workspace.write("b", b"x" * 11)
        workspace.write("b", b"x" * 10)
        with pytest.raises(TooBig, match="2 files are changed already"):
            workspace.write("c", b"")
        assert workspace.list_changed() == ("a", "b")


@pytest.mark.parametrize("name", ["nowhere", "run"])
def test_missing_directory_is_no_tree(root, name):
    with pytest.raises(WorkspaceError, match=f"no tree at .*{name}.*name a readable directory"):
        Workspace.open(root / name)


def test_closed_workspace_reads_nothing(root):
    workspace = Workspace.open(root)
    workspace.close()
    workspace.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        workspace.read("run")


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/test.yml", ".github/r4p.yml", ".GitHub./actions/mine/action.yml",
        "CODEOWNERS", "docs/CODEOWNERS", ".gitmodules", ".gitlab-ci.yml", "Jenkinsfile",
    ],
)  # fmt: skip
def test_automation_file_is_read_and_not_written(workspace, root, path):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"theirs\n")
    assert workspace.read(path) == b"theirs\n"
    with pytest.raises(PathRefused, match="controls automation, secrets or reviewers"):
        workspace.write(path, b"mine\n")
    assert workspace.list_changed() == ()


@pytest.mark.parametrize("path", ["package/github.py", "docs/github/workflows/a.yml", "owners.py"])
def test_file_named_like_automation_is_written(workspace, path):
    workspace.write(path, b"mine\n")
    assert workspace.list_changed() == (path,)
