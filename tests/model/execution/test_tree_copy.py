"""A run sees the tree with its own changes, and the tree on the disk keeps its content and its modes."""

import py_compile

import pytest

from model.errors import PatchDoesNotApply
from model.execution.suite_process import run_tests
from model.execution.tree_changes import NO_CHANGES, TreeChanges, apply_diff, join_changes
from model.execution.tree_copy import copy_tree, mount_tree, share_tree
from tests.model.execution.conftest import CODE, COMMAND, write_diff

WRONG = TreeChanges({"doubling.py": CODE.replace("* 2", "* 3").encode()})
TEST = "tests/test_double.py::test_double"


def list_files(tree):
    return {
        path: (path.read_bytes(), path.stat().st_mode) for path in tree.rglob("*") if path.is_file()
    }


def test_a_copy_can_be_written_to(tree):
    before = list_files(tree)
    with copy_tree(tree, WRONG) as copy:
        assert (copy / "doubling.py").read_bytes() == WRONG.written["doubling.py"]
        (copy / "tests" / "test_zero.py").write_text("changed")
    assert list_files(tree) == before


def test_a_shared_copy_has_the_files_of_the_tree_and_keeps_changes_to_itself(tree):
    before = list_files(tree)
    with copy_tree(tree, WRONG, shares_files=True) as copy:
        test = copy / "tests" / "test_zero.py"
        assert test.stat().st_ino == (tree / "tests" / "test_zero.py").stat().st_ino
        assert (copy / "doubling.py").read_bytes() == WRONG.written["doubling.py"]
    assert list_files(tree) == before


def test_a_file_that_only_its_owner_reads_is_copied_and_opened(tree):
    (secret := tree / "doubling.py").chmod(0o700)
    with copy_tree(tree, NO_CHANGES, shares_files=True) as copy:
        assert (copy / "doubling.py").stat().st_mode & 0o777 == 0o755
    assert secret.stat().st_mode & 0o777 == 0o700


def test_runs_share_a_tree_and_each_sees_its_own_change(bubblewrap, tree):
    with share_tree(tree) as shared:
        outcomes = [run_tests(shared, changes, COMMAND).outcomes for changes in (NO_CHANGES, WRONG)]
        assert (shared.folder / "doubling.py").read_text() == CODE
    assert [run[TEST] for run in outcomes] == ["passed", "failed"]


def test_bytecode_that_python_does_not_compare_is_not_run(bubblewrap, tree):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(tree / "doubling.py"), invalidation_mode=mode)
    with share_tree(tree) as shared:
        runs = [run_tests(where, WRONG, COMMAND) for where in (shared, tree)]
    assert [run.outcomes[TEST] for run in runs] == ["failed", "failed"]


@pytest.mark.parametrize(
    "changes",
    [
        TreeChanges({"new.py": b"x = 1\n"}),
        TreeChanges({}, deleted=("doubling.py",)),
    ],
)
def test_a_new_or_deleted_file_takes_a_copy(tree, changes):
    with share_tree(tree) as shared, mount_tree(shared, changes) as mounts:
        [(folder, _)] = mounts
        assert (folder / "new.py").exists() == ("new.py" in changes.written)
        assert (folder / "doubling.py").exists() == ("doubling.py" not in changes.deleted)
        assert not (shared.folder / "new.py").exists()


def test_a_change_behind_a_link_is_refused(tree, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.py").write_text("x = 1\n")
    (tree / "link").symlink_to(tmp_path / "outside")
    changes = TreeChanges({"link/file.py": b"x = 2\n"})
    refused = pytest.raises(PatchDoesNotApply, match="behind a link")
    with share_tree(tree) as shared, refused, mount_tree(shared, changes):
        pass


def test_a_diff_is_taken_back_and_applied_over_other_changes(tree):
    forward = write_diff("doubling.py", CODE, CODE.replace("* 2", "* 3"))
    applied = apply_diff(tree, forward)
    assert apply_diff(tree, forward, applied, is_reversed=True).written == {
        "doubling.py": CODE.encode()
    }
    with pytest.raises(PatchDoesNotApply):
        apply_diff(tree, forward, is_reversed=True)


def test_joined_changes_are_those_of_both_in_order():
    first = TreeChanges({"a": b"1", "b": b"1"}, ("c",), {"a": b"0", "c": b"0"})
    second = TreeChanges({"a": b"2", "c": b"2"}, ("b",), {"a": b"1", "b": b"1"})
    joined = join_changes(first, second)
    assert (joined.written, joined.deleted) == ({"a": b"2", "c": b"2"}, ("b",))
    assert joined.before["a"] == b"0"
