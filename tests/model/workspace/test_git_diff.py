"""Whatever is changed, `git apply` makes of the original what the workspace holds, and our own reader reads the diff."""

import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.errors import WorkspaceError
from model.patches import diff
from model.workspace import TreeLimits, Workspace, git_diff

LINES = st.sampled_from(
    [
        b"plain",
        b"    indented",
        b"",
        b"-- looks like a header",
        b"++ b/looks like one, too",
        b"@@ -1 +1 @@",
        b"diff --git a/x b/x",
        b"GIT binary patch",
        b"\\ No newline at end of file",
        b"data 5",
        b"\xff\xfe no UTF-8 \x80",
        "ünï \u2028 \u0085 \x0b \x0c".encode(),
        b"bare \r return",
        b"ends in one\r",
        b"\0",
        b"x" * 9_000 + b"\0",
    ]
)
NAMES = st.sampled_from(
    [
        "a.py", "b/deep er/c.js", "b b/x y.ts", "naïve.rs", 'qu"ote.go', "a -> b.rb", "-rf",
        ":(top)x", "*",
    ]
)  # fmt: skip


@st.composite
def draw_content(draw):
    ending = draw(st.sampled_from([b"\n", b"\r\n"]))
    return ending.join(draw(st.lists(LINES, max_size=8))) + draw(st.sampled_from([b"", ending]))


FILES = st.dictionaries(NAMES, draw_content(), max_size=4)


def apply_with_git(root, text):
    git = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    environment = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
    }
    subprocess.run(
        git, cwd=root, check=True, capture_output=True, input=text.encode(), env=environment
    )


def read_tree(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def write_files(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=FILES, after=FILES)
def test_applied_diff_gives_the_workspace(tmp_path_factory, before, after):
    root = tmp_path_factory.mktemp("tree")
    write_files(root, before)
    with Workspace.open(root) as workspace:
        after = before | after  # nothing of an agent's deletes a file
        for name, content in after.items():
            workspace.write(name, content)
        text = workspace.diff()
        changed = workspace.list_changed()
    assert text.encode().decode() == text
    assert "\0" not in text
    files = diff.parse(text)
    assert tuple(sorted(file.path for file in files)) == changed
    assert {file.path for file in files if file.is_new} == set(after) - set(before)
    assert {file.path for file in files if file.is_deleted} == set(before) - set(after)
    if text:
        assert len(diff.fingerprint(text)) == 64
        apply_with_git(root, text)
    assert read_tree(root) == after


def edit_and_apply(root, name, before, after):
    (root / name).write_bytes(before)
    with Workspace.open(root) as workspace:
        workspace.write(name, after)
        text = workspace.diff()
    apply_with_git(root, text)
    assert (root / name).read_bytes() == after
    return text


def test_diff_keeps_line_ends_and_a_missing_last_one(tmp_path):
    text = edit_and_apply(tmp_path, "a.txt", b"one\r\ntwo", b"one\r\nthree\r\n")
    assert text.endswith(
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\n\\ No newline at end of file\n+three\r\n"
    )


def test_binary_file_is_a_binary_patch(tmp_path):
    for before, after in (
        (b"\0\1", b"\0\2"),
        (b"caf\xe9\n", b"caf\xe8\n"),
        (b"a" * 9_000 + b"\0", b"\n"),
    ):
        text = edit_and_apply(tmp_path, "bin", before, after)
        assert "GIT binary patch" in text
        assert text.isascii()
        assert diff.parse(text)[0].is_binary


def test_edit_far_from_binary_bytes_is_readable(tmp_path):
    before = b"caf\xe9\n" + b"".join(b"%d\n" % n for n in range(40))
    text = edit_and_apply(tmp_path, "a.py", before, before + b"more\n")
    assert "+more" in text


def test_executable_mode_is_kept(tmp_path):
    (tmp_path / "run").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    text = edit_and_apply(tmp_path, "run", b"#!/bin/sh\n", b"#!/bin/bash\n")
    assert "100755" in text
    assert "mode" not in text
    assert (tmp_path / "run").stat().st_mode & 0o111


def test_foreign_git_settings_are_ignored(tmp_path, monkeypatch):
    canary = tmp_path / "canary"
    config = tmp_path / "home" / ".gitconfig"
    config.parent.mkdir()
    config.write_text(
        f"[diff]\n\texternal = touch {canary}\n\tnoprefix = true\n[core]\n\tpager = touch {canary}\n"
    )
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".gitattributes").write_text("* diff=evil -text binary\n")
    monkeypatch.setenv("HOME", str(config.parent))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {canary}")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.mnemonicPrefix")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    text = edit_and_apply(tree, "a", b"one\n", b"two\n")
    assert "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n" in text
    assert not canary.exists()


def test_no_temporary_file_is_left(tmp_path, monkeypatch):
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    edit_and_apply(tmp_path, "a", b"1\n", b"2\n")
    assert list(room.iterdir()) == []


def test_missing_git_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with Workspace.open(tmp_path) as workspace:
        workspace.write("a", b"x")
        with pytest.raises(WorkspaceError, match="git was not found; install it"):
            workspace.diff()


def test_slow_git_is_stopped(tmp_path):
    with Workspace.open(tmp_path, TreeLimits(diff_seconds=0.00001)) as workspace:
        workspace.write("a", b"x")
        with pytest.raises(WorkspaceError, match="git was stopped after 1e-05 s"):
            workspace.diff()


def test_gits_refusal_is_reported(tmp_path):
    """Our own rules don't let such a path come here."""
    with pytest.raises(WorkspaceError, match=r"git ended with exit \d+: .*[Ee]mpty path"):
        git_diff.build_diff([git_diff.FileChange("a//b", None, b"x")], 10)
