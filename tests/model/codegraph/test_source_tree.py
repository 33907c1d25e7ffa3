"""Trees: directories as they are, commits as git has them, and what is strange in either."""

import os
import subprocess

import pytest

from model.codegraph import source_tree
from model.codegraph.definition_reader import FILE_BYTES
from model.codegraph.entities import Skipped
from model.codegraph.reader_pool import UnreadableFile
from model.codegraph.source_tree import hash_blob, read_commit, read_directory, survey
from model.errors import NoTree
from tests.model.codegraph.builders import commit_all, run_git, write_files

FILES = {"a.py": "x = 1\n", "sub/b.py": "y = 2\n", "sub/notes.txt": "text\n"}


def test_a_directory_and_its_commit_are_the_same_tree(tmp_path):
    write_files(tmp_path, FILES)
    before = survey(tmp_path)
    commit_all(tmp_path)
    after = survey(tmp_path)
    assert {
        path for path, blob in after.blobs.items() if before.blobs[path] not in {blob, ""}
    } == set()
    assert before.blobs["sub/notes.txt"] == ""
    assert [after.read(path) for path in FILES] == [text.encode() for text in FILES.values()]
    assert hash_blob(b"x = 1\n") == run_git(tmp_path, "rev-parse", "HEAD:a.py")


def test_repository_is_read_at_its_commit_not_its_work_tree(tmp_path):
    commit_all(write_files(tmp_path, FILES))
    (tmp_path / "a.py").write_text("changed = 1\n")
    before = survey(tmp_path)
    assert before.read("a.py") == b"x = 1\n"
    commit_all(tmp_path)
    assert survey(tmp_path).read("a.py") == b"changed = 1\n"
    assert read_commit(tmp_path, "HEAD~1").blobs == before.blobs


def test_bare_repository_and_linked_work_tree_are_trees(tmp_path):
    commit_all(write_files(tmp_path / "full", FILES))
    run_git(tmp_path, "clone", "-q", "--bare", tmp_path / "full", tmp_path / "bare")
    run_git(tmp_path / "full", "worktree", "add", "-q", tmp_path / "linked")
    for name in ("bare", "linked"):
        assert survey(tmp_path / name).read("sub/b.py") == b"y = 2\n"


@pytest.mark.parametrize("fake", [".git/keep", "HEAD", ".git"])
def test_broken_repository_never_stands_for_the_one_above_it(tmp_path, fake):
    commit_all(write_files(tmp_path, {"secret.py": "def topsecret(): pass\n"}))
    below = tmp_path / "below"
    write_files(below, {fake: "nothing\n", "objects/keep": "", "own.py": "x = 1\n"})
    with pytest.raises(NoTree, match="below"):
        survey(below)


def test_files_like_a_bare_repository_are_files_where_bare_is_not_allowed(tmp_path):
    decoy = write_files(tmp_path / "decoy", {"decoy.py": "x = 1\n"})
    commit_all(decoy)
    tree = tmp_path / "tree"
    run_git(tmp_path, "clone", "-q", "--bare", decoy, tree)
    write_files(tree, {"real.py": "y = 2\n"})
    assert "real.py" not in survey(tree).blobs
    assert "real.py" in survey(tree, may_be_bare=False).blobs


def test_links_and_special_files_are_skipped(tmp_path):
    write_files(tmp_path, {"a.py": "x = 1\n", "sub/b.py": ""})
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "sub/up.py").symlink_to("../a.py")
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / "secret.py").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.py")
    tree = read_directory(tmp_path)
    assert set(tree.blobs) == {"a.py", "sub/b.py"}
    link = "a symbolic link, not followed"
    assert set(tree.skipped) == {
        Skipped("loop", link),
        Skipped("sub/up.py", link),
        Skipped("gone.py", link),
        Skipped("secret.py", link),
        Skipped("pipe.py", "not a regular file"),
    }


def test_file_that_becomes_a_link_or_pipe_is_not_read(tmp_path):
    write_files(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    tree = read_directory(tmp_path)
    (tmp_path / "a.py").unlink()
    (tmp_path / "a.py").symlink_to("/etc/passwd")
    (tmp_path / "b.py").unlink()
    os.mkfifo(tmp_path / "b.py")
    with pytest.raises(OSError, match="symbolic links"):
        tree.read("a.py")
    with pytest.raises(UnreadableFile, match="not a regular file"):
        tree.read("b.py")


def test_links_submodules_and_odd_names_of_a_commit_are_reported(tmp_path):
    commit_all(write_files(tmp_path / "inner", FILES))
    outer = write_files(tmp_path / "outer", {"a.py": "x = 1\n"})
    (outer / "link.py").symlink_to("a.py")
    (outer / os.fsdecode(b"caf\xe9.py")).write_text("x = 1\n")
    run_git(outer, "init", "-q")
    allow = ("-c", "protocol.file.allow=always")
    run_git(outer, *allow, "submodule", "add", "-q", tmp_path / "inner", "sub")
    commit_all(outer)
    tree = survey(outer)
    assert set(tree.blobs) == {"a.py", ".gitmodules"}
    assert set(tree.skipped) == {
        Skipped("link.py", "a symbolic link, not followed"),
        Skipped("sub", "a submodule: its files are in another repository, left out"),
        Skipped("caf\\xe9.py", "its name is not UTF-8"),
    }
    (outer / ".git").rename(tmp_path / "elsewhere")
    assert Skipped("caf\\xe9.py", "its name is not UTF-8") in survey(outer).skipped


def test_huge_file_is_skipped_and_the_next_is_read(tmp_path):
    size = 40 * 1024 * 1024
    write_files(tmp_path, {"a.py": "x = 1\n", "huge.py": b"#" * size})
    reason = f"{size:,} bytes, more than {FILE_BYTES:,}"
    assert read_directory(tmp_path).skipped == (Skipped("huge.py", reason),)
    commit_all(tmp_path)
    tree = survey(tmp_path)
    with pytest.raises(UnreadableFile, match=reason):
        tree.read("huge.py")
    assert tree.read("a.py") == b"x = 1\n"


def test_missing_submodules_of_an_export_are_reported(tmp_path):
    modules = '[submodule "a"]\n\tpath = lib/a b\n\turl = x\n[submodule "b"]\n\tpath = there\n'
    write_files(tmp_path, {".gitmodules": modules, "there/b.py": "x = 1\n"})
    (tmp_path / "lib/a b").mkdir(parents=True)
    reason = "a submodule: its files are in another repository, left out"
    assert survey(tmp_path).skipped == (Skipped("lib/a b", reason),)
    (tmp_path / ".gitmodules").unlink()
    assert survey(tmp_path).skipped == ()


def test_links_and_directories_count_as_entries(tmp_path, monkeypatch):
    monkeypatch.setattr(source_tree, "_ENTRIES", 9)
    for number in range(30):
        (tmp_path / f"{number:02}").symlink_to("nowhere")
    skipped = read_directory(tmp_path).skipped
    assert len(skipped) == 10
    assert skipped[-1] == Skipped(
        ".", "more than 9 entries, or names too long: the rest is left out"
    )
    inner = tmp_path / "inner"
    write_files(inner, {f"{n}/a.py": "" for n in range(30)})
    assert len(read_directory(inner).skipped) == 1


def test_commit_listing_ends_at_its_limit(tmp_path, monkeypatch):
    commit_all(write_files(tmp_path, {f"{n}.py": "" for n in range(30)}))
    monkeypatch.setattr(source_tree, "_LISTING_BYTES", 300)
    tree = survey(tmp_path)
    assert 1 <= len(tree.blobs) < 30
    assert [one.path for one in tree.skipped] == ["."]
    assert tree.read(next(iter(tree.blobs))) == b""


def test_self_repeating_tree_is_listed_to_the_limit(tmp_path, monkeypatch):
    """A few objects, and more files than anybody can list."""
    commit_all(write_files(tmp_path, {"a.py": "x = 1\n"}))
    inner = run_git(tmp_path, "rev-parse", "HEAD^{tree}")
    for _ in range(12):
        entries = "".join(f"040000 tree {inner}\td{n}\n" for n in range(10))
        made = subprocess.run(
            ["git", "-C", tmp_path, "mktree"],
            input=entries,
            text=True,
            capture_output=True,
            check=True,
        )
        inner = made.stdout.strip()
    monkeypatch.setattr(source_tree, "_ENTRIES", 1000)
    tree = read_commit(tmp_path, inner)
    assert len(tree.blobs) == 1000
    assert [one.path for one in tree.skipped] == ["."]


@pytest.fixture
def replace_git(tmp_path, monkeypatch):
    """Put a shell script in git's place."""

    def replace(script):
        folder = write_files(tmp_path / "bin", {"git": f"#!/bin/sh\n{script}\n"})
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    return replace


def test_silent_git_is_stopped(tmp_path, monkeypatch, replace_git):
    commit_all(write_files(tmp_path, FILES))
    monkeypatch.setattr(source_tree, "_GIT_SECONDS", 0.5)
    tree = survey(tmp_path)
    replace_git("exec sleep 60")
    for path in FILES:
        with pytest.raises(UnreadableFile, match="git gives no contents: timed out"):
            tree.read(path)
    with pytest.raises(NoTree, match=r"can't list HEAD of .* stopped after 0.5 s without output"):
        survey(tmp_path)


def test_file_is_unreadable_when_git_dies_within_it(tmp_path, replace_git):
    commit_all(write_files(tmp_path, FILES))
    tree = survey(tmp_path)
    replace_git("read line\necho $line blob 90\necho half")
    with pytest.raises(UnreadableFile, match="git gives no contents: it has ended within a file"):
        tree.read("a.py")


def test_missing_object_is_refused_not_fetched(tmp_path):
    commit_all(write_files(tmp_path, FILES))
    tree = survey(tmp_path)
    blob = tree.blobs["a.py"]
    (tmp_path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(UnreadableFile, match=f"git has no content for {blob}: {blob} missing"):
        tree.read("a.py")
    assert tree.read("sub/b.py") == b"y = 2\n"


def test_repository_configuration_runs_nothing(tmp_path):
    commit_all(write_files(tmp_path, FILES))
    witness = tmp_path / "witness"
    script = write_files(tmp_path, {"evil.sh": f"#!/bin/sh\ntouch {witness}\n"}) / "evil.sh"
    script.chmod(0o755)
    core = [f"core.{name}" for name in ("fsmonitor", "pager", "sshCommand", "gitProxy")]
    for key in (*core, "diff.external"):
        run_git(tmp_path, "config", key, str(script))
    run_git(tmp_path, "config", "alias.ls-tree", f"!{script}")
    tree = survey(tmp_path)
    assert tree.read("a.py") == b"x = 1\n"
    assert not witness.exists()


def test_missing_tree_is_named_in_the_error(tmp_path):
    with pytest.raises(NoTree, match="missing is not a directory; name one with source files"):
        survey(tmp_path / "missing")
    run_git(tmp_path, "init", "-q")
    with pytest.raises(NoTree, match="git can't list HEAD of"):
        survey(tmp_path)
    with pytest.raises(NoTree, match="git can't list --output=x of"):
        read_commit(tmp_path, "--output=x")
