"""Parsed diffs agree with git."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadDiff
from model.patches import diff
from model.patches.diff import FilePatch
from tests.model.builders import build_diff

A = build_diff("new")


def run_git(tree, *arguments):
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments], cwd=tree, check=True, capture_output=True
    )
    return done.stdout


@pytest.fixture
def tree(tmp_path):
    """A repository with one file of each awkward kind, committed."""
    run_git(tmp_path, "init", "-q")
    (tmp_path / "plain.py").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "dos.py").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "open end.py").write_bytes(b"one\ntwo")
    (tmp_path / 'f\u00f6o\t"x".py').write_bytes(b"one\n")
    (tmp_path / "moved b").mkdir()
    (tmp_path / "moved b" / "long.py").write_bytes(b"".join(b"%d\n" % n for n in range(50)))
    (tmp_path / "gone.py").write_bytes(b"one\ntwo\n")
    (tmp_path / "script.sh").write_bytes(b"echo\n")
    (tmp_path / "image.bin").write_bytes(b"\0\1\2" * 20)
    run_git(tmp_path, "add", "-A")
    return tmp_path


def edit_tree(tree):
    (tree / "plain.py").write_bytes(b"one\n2\nthree\n-- \n++ four\n")
    (tree / "dos.py").write_bytes(b"one\r\nTWO\r\n")
    (tree / "open end.py").write_bytes(b"one\ntwo\nthree")
    (tree / 'f\u00f6o\t"x".py').write_bytes(b"two\n")
    (tree / "moved b" / "long.py").rename(tree / "to.py")
    (tree / "gone.py").unlink()
    (tree / "script.sh").chmod(0o755)
    (tree / "image.bin").write_bytes(b"\0\3\4" * 20)
    (tree / "fresh.py").write_bytes(b"hello\n")
    (tree / "nothing.py").write_bytes(b"")
    run_git(tree, "add", "-A")


@pytest.mark.parametrize("binary", [[], ["--binary"]], ids=["named", "whole"])
def test_counts_and_paths_equal_gits(tree, binary):
    before = run_git(tree, "write-tree").decode().strip()
    edit_tree(tree)
    text = run_git(tree, "diff", "--cached", "-M", *binary, before).decode()
    fields = (
        run_git(tree, "diff", "--cached", "-M", "--numstat", "-z", before).decode().split("\0")[:-1]
    )
    expected = {}
    while fields:
        added, removed, path = fields.pop(0).split("\t", 2)
        if not path:  # a rename: old and new path follow
            _, path = fields.pop(0), fields.pop(0)
        expected[path] = (0, 0, True) if added == "-" else (int(added), int(removed), False)

    files = diff.parse(text)

    assert {f.path: (f.added, f.removed, f.is_binary) for f in files} == expected
    by_path = {f.path: f for f in files}
    assert by_path["to.py"].old_path == "moved b/long.py"
    assert by_path["fresh.py"].is_new
    assert by_path["fresh.py"].old_path is None
    assert by_path["gone.py"].is_deleted
    assert not by_path["script.sh"].is_textual
    assert not by_path["image.bin"].is_textual
    assert by_path['f\u00f6o\t"x".py'].is_textual
    assert "moved b/long.py" in diff.list_touched_files(text)
    assert diff.count_edited_lines(text) == sum(a + r for a, r, _ in expected.values())


def test_diff_without_git_headers_is_parsed():
    text = "--- a/x.py\t2026-01-01\n+++ b/x.py\t2026-01-02\n@@ -1 +1,2 @@\n one\n+two"
    assert diff.parse(text) == (FilePatch("x.py", "x.py", added=1, removed=0),)


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("diff --git a/b b/x b/b b/x\nnew file mode 100644\n", "b b/x"),
        (
            "diff --git a/b b/x b/b b/x\nnew file mode 100644\n--- /dev/null\n+++ b/b b/x\t\n@@ -0,0 +1 @@\n+y\n",
            "b b/x",
        ),
        (
            'diff --git "a/b b/\\303\\244" "b/b b/\\303\\244"\nold mode 100644\nnew mode 100755\n',
            "b b/ä",
        ),
        ("diff --git a/b b/x b/y\nsimilarity index 100%\nrename from b b/x\nrename to y\n", "y"),
        (
            (
                "diff --git a/y b/b b/x\nold mode 100644\nnew mode 100755\nsimilarity index 54%\n"
                "rename from y\nrename to b b/x\n--- a/y\n+++ b/b b/x\t\n@@ -0,0 +1 @@\n+y\n"
            ),
            "b b/x",
        ),
        (
            (
                'diff --git a/b b/x "b/b b/\\303\\244"\nsimilarity index 54%\ncopy from b b/x\n'
                'copy to "b b/\\303\\244"\n--- a/b b/x\t\n+++ "b/b b/\\303\\244"\t\n@@ -0,0 +1 @@\n+y\n'
            ),
            "b b/ä",
        ),
    ],
    ids=["empty", "with text", "quoted", "renamed", "renamed with text", "copied with text"],
)
def test_folder_named_like_a_prefix_is_part_of_the_path(header, path):
    assert [file.path for file in diff.parse(header)] == [path]


@pytest.mark.parametrize("blank", ["", "\n", "  \n\t\n"])
def test_an_empty_diff_touches_nothing(blank):
    assert diff.parse(blank) == ()
    assert diff.count_edited_lines(blank) == 0


def test_diff_with_dos_line_ends_is_parsed_alike():
    assert diff.parse(A.replace("\n", "\r\n")) == diff.parse(A)


def test_line_end_inside_a_line_changes_the_fingerprint():
    assert diff.fingerprint(build_diff("new\r")) != diff.fingerprint(build_diff("new"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("just prose\nmore\n", "line 1"),
        (build_diff("new").replace("+new\n", "new\n"), "line 6"),
        (build_diff("new").replace("-1 +1 @@", "-1,9 +1,9 @@"), "line 6"),
        ("--- a/x\n@@ -1 +1 @@\n-a\n+b\n", "line 2"),
        (build_diff("new").replace("-1 +1", f"-1 +{'9' * 5000}"), "line 4"),
    ],
    ids=["prose", "mangled", "cut off", "no target", "absurd number"],
)
def test_error_names_the_line_and_the_fix(text, line):
    with pytest.raises(BadDiff, match=f"{line}.*git diff"):
        diff.parse(text)


def test_combined_diff_of_a_merge_is_refused():
    text = "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n"
    with pytest.raises(BadDiff, match="line 1 belongs to a combined diff"):
        diff.parse(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("diff --cc i.png\nindex 1a,2b..3c\nBinary files differ\n", 1),
        ("diff --combined i.png\nindex 1a,2b..3c\nBinary files differ\n", 1),
        ("--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n", 2),
    ],
)
def test_combined_diff_is_recognised_by_its_headers(text, line):
    with pytest.raises(BadDiff, match=f"line {line} belongs to a combined diff of a merge"):
        diff.parse(text)


@pytest.mark.parametrize("text", ["@@@ -1 is where it broke", "diff --cc shows it"])
def test_text_about_merges_is_no_combined_diff(text):
    (file,) = diff.parse(f"Subject: a fix\n\n{text}\n---\n\n{build_diff('better')}")
    assert file.is_textual


def test_long_bad_line_is_cut_in_the_error():
    with pytest.raises(BadDiff) as failure:
        diff.parse("x" * 5000)
    assert len(str(failure.value)) < 300


def test_diff_above_the_size_limit_is_refused(monkeypatch):
    monkeypatch.setattr(diff, "MAX_CHARACTERS", 10)
    with pytest.raises(BadDiff, match="more than the limit of 10"):
        diff.parse(build_diff("new"))


@pytest.mark.parametrize(
    "same",
    [
        A.replace("@@ -1 +1 @@", "@@ -70 +81 @@ def outer():"),
        A.replace("--- a/", "index 1234567..89abcde 100644\n--- a/", 1),
        A.rstrip("\n"),
        A + "\n\n",
        A.replace("\n", "\r\n"),
    ],
    ids=["place", "index line", "no last newline", "blank lines", "dos line ends"],
)
def test_fingerprint_ignores_place_and_surroundings(same):
    assert diff.fingerprint(same) == diff.fingerprint(A)


def test_fingerprint_ignores_the_order_of_files():
    other = build_diff("new", path="b.py")
    assert diff.fingerprint(A + other) == diff.fingerprint(other + A)


@pytest.mark.parametrize(
    "patch",
    [
        build_diff("new "),
        build_diff("new", path="b.py"),
        build_diff("new", removed="older"),
        build_diff("new").replace("--- a/a.py", "old mode 100644\nnew mode 100755\n--- a/a.py"),
        build_diff("new") + "\\ No newline at end of file\n",
    ],
    ids=["space", "path", "removed line", "mode", "final newline"],
)
def test_fingerprint_differs_for_different_edits(patch):
    assert diff.fingerprint(patch) != diff.fingerprint(build_diff("new"))


def test_binary_edits_differ_by_their_blob_ids():
    text = "diff --git a/x b/x\nindex {}..2222222 100644\nBinary files a/x and b/x differ\n"
    assert diff.fingerprint(text.format("1" * 7)) != diff.fingerprint(text.format("3" * 7))


def test_empty_context_line_may_lack_its_space():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n{}\n-a\n+b\n"
    assert diff.fingerprint(text.format("")) == diff.fingerprint(text.format(" "))


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(build_diff("n").splitlines(keepends=True))).map("".join)
)
def test_any_text_is_parsed_or_raises_bad_diff(text):
    try:
        files = diff.parse(text)
    except BadDiff:
        return
    assert diff.count_edited_lines(text) == sum(file.added + file.removed for file in files)
    assert len(diff.fingerprint(text)) == 64


@given(
    st.lists(st.text(st.characters(exclude_characters="\n"), max_size=9), min_size=1, max_size=9)
)
def test_numbers_of_added_lines_survive_any_content(lines):
    body = "".join(f"+{line}\n" for line in lines)
    text = f"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,{len(lines)} @@\n{body}"
    assert [(f.added, f.removed, f.is_new) for f in diff.parse(text)] == [(len(lines), 0, True)]
