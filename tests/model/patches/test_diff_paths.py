"""The header of a file in a diff names its new path, quoted or ambiguous as git may write it."""

import subprocess

import pytest

from model.patches.diff_paths import read_new_path

NAMES = ["y.py", "ä.py", 'say "x".py', "a b.py", "x b/y.py", "tab\there.py", "a/b/c d/é b/f.py"]


def run_git(folder, *arguments):
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def read_paths(diff):
    """The path of each file of a diff."""
    files = ("\n" + diff).split("\ndiff --git ")[1:]
    return sorted(
        read_new_path(f"diff --git {file}".partition("\n@@")[0].split("\n")) for file in files
    )


@pytest.fixture
def repository(tmp_path):
    run_git(tmp_path, "init", "--quiet")
    for name in NAMES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n" * 20)
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "--quiet", "-m", "x")
    return tmp_path


def test_new_and_deleted_files_have_their_names(repository):
    empty = run_git(repository, "hash-object", "-t", "tree", "/dev/null").strip()
    assert read_paths(run_git(repository, "diff", empty, "HEAD")) == sorted(NAMES)
    assert read_paths(run_git(repository, "diff", "HEAD", empty)) == sorted(NAMES)


def test_a_new_mode_has_no_line_but_the_first(repository):
    for name in NAMES:
        (repository / name).chmod(0o755)
    assert read_paths(run_git(repository, "diff")) == sorted(NAMES)


def test_renamed_files_have_their_new_names(repository):
    new = [f"new b/{name}" for name in NAMES]
    (repository / "new b").mkdir()
    for old, name in zip(NAMES, new, strict=True):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        run_git(repository, "mv", old, name)
    assert read_paths(run_git(repository, "diff", "-M", "HEAD")) == sorted(new)


def test_a_header_without_a_path_is_empty():
    assert read_new_path([]) == ""
    assert read_new_path(["diff --git "]) == ""
    assert read_new_path(["index 1..2"]) == ""
