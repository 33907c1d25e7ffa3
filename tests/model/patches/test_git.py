"""Git runs without foreign settings and with limits of time and output."""

import pytest

from model.errors import GitFailed
from model.patches import git
from tests.model.codegraph.builders import commit_all, run_git, write_files


@pytest.fixture
def repository(tmp_path):
    commit_all(write_files(tmp_path, {f"{n}.txt": "text\n" for n in range(20)}))
    return tmp_path / ".git"


def test_reads_output_up_to_the_limit(repository):
    def names(most):
        command = ["ls-tree", "--name-only", "HEAD"]
        return git.read_beginning(repository, *command, max_bytes=most, seconds=20)

    assert names(7) == b"0.txt\n1"
    assert names(1000).count(b"\n") == 20


def test_error_holds_git_complaint(repository):
    for asked in (
        lambda: git.read_beginning(repository, "ls-tree", "nowhere", max_bytes=99, seconds=20),
        lambda: git.run(repository, "ls-tree", "nowhere", seconds=20),
    ):
        with pytest.raises(GitFailed, match=r"git ended with exit 128: fatal: .*nowhere"):
            asked()


def test_silent_git_is_stopped(repository):
    with pytest.raises(GitFailed, match=r"stopped after 0\.2 s without output"):
        git.read_beginning(repository, "cat-file", "--batch", max_bytes=99, seconds=0.2)


def test_missing_git_is_reported(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitFailed, match="git was not found; install it"):
        git.read_beginning(repository, "ls-tree", "HEAD", max_bytes=99, seconds=20)


def test_foreign_settings_are_ignored(repository, monkeypatch, tmp_path):
    (tmp_path / "theirs").write_text("[core]\n\tquotePath = true\n[user]\n\tname = Somebody\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "theirs"))
    assert run_git(tmp_path, "config", "--global", "user.name") == "Somebody"
    seen = git.run(repository, "config", "--list", seconds=20).decode().splitlines()
    assert "user.name=Somebody" not in seen
    assert "core.quotepath=false" in seen
