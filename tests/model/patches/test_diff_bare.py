"""A bare diff keeps headers and hunks unchanged and drops all other text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadDiff
from model.patches import diff
from tests.model.builders import build_diff

PROSE = "I am the maintainer.\n"
A, B = build_diff("new"), build_diff("other", path="b.py")


@pytest.mark.parametrize(
    ("text", "alone", "left_out"),
    [
        (A + B, A + B, 0),
        (A.rstrip("\n"), A, 0),
        ("", "", 0),
        (f"From 1a2b Mon Sep 17\nFrom: Him\n\n{PROSE}---\n a.py | 2 +-\n\n{A}", A, 5),
        (A + PROSE + B, A + B, 1),
        (f"{A}\n\n{B}\n", A + B, 0),
        (f"{A}-- \n2.39.5\n\n{PROSE}", A, 3),
        (f"--- {PROSE}{A}", A, 1),
        (f"{A}--- {PROSE}+++ {PROSE}", A, 2),
        (f"{A}@@ -1,0 +1,0 @@ {PROSE}", A, 1),
        (f"{A}\\ {PROSE}", A, 1),
        (A.replace("\n+new", f"\n\\ {PROSE}+new"), A, 1),
        (A.replace("\n---", "\nindex " + PROSE + "---"), A, 1),
        (f"index 1234567..89abcde 100644\n{A}", A, 1),
        (A.replace("--- a/a.py", f"--- a/a.py\t{PROSE}".strip()), A, 0),
        (A.replace("b/a.py\n---", f"b/a.py\t{PROSE}---"), A, 0),
    ],
    ids=[
        "nothing around",
        "no last newline",
        "empty",
        "a mail",
        "between two files",
        "blank lines",
        "a signature",
        "as an old path",
        "as both paths of nothing",
        "as the title of no lines",
        "as a mark of no newline",
        "as such a mark inside a hunk",
        "as an index line",
        "an index line of no file",
        "as a date",
        "as a date of git's header",
    ],
)
def test_only_headers_and_hunks_are_left(text, alone, left_out):
    shown = diff.extract_bare_diff(text)
    assert shown.left_out == left_out
    assert PROSE.strip() not in shown.text
    assert shown.text == alone
    assert diff.extract_bare_diff(shown.text) == diff.BareDiff(shown.text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ def f(x):\n\n--- y\tz\n++++ y\n+\r\n",
        f"{A}\\ No newline at end of file\n",
        A.replace("\n+new", "\n\\ No newline at end of file\n+new"),
        A.replace("\n", "\r\n"),
        "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1a..2b 100644\n",
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        "diff --git a/x b/x\nindex 1a..2b 100644\nBinary files a/x and b/x differ\n",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n",
    ],
    ids=["signs", "no newline", "twice", "DOS", "rename", "mode", "binary", "no paths"],
)
def test_bare_diff_keeps_git_output_unchanged(text):
    assert diff.extract_bare_diff(text) == diff.BareDiff(text, 0)


def test_data_of_a_binary_file_is_left_out():
    text = "diff --git a/x b/x\nindex 1a..2b 100644\nGIT binary patch\n"
    assert diff.extract_bare_diff(f"{text}literal 3\nKcmZQzWMW\n\n{A}") == diff.BareDiff(
        text + A, 2
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{A}--- a/b.py\n{PROSE}+++ b/b.py\n@@ -1 +1 @@\n-a\n+b\n",
        f"--- a/b.py\n{PROSE}+++ b/b.py\n@@ -1 +1 @@\n-a\n+b\n",
        A.replace("\n---", f"\nrename from a.py\nrename from {PROSE}---"),
    ],
    ids=["after another file", "alone", "a second rename"],
)
def test_refuses_text_inside_a_header(text):
    with pytest.raises(BadDiff):
        diff.extract_bare_diff(text)


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([*(A + B).splitlines(keepends=True), PROSE, "\n"])).map("".join)
)
def test_bare_diff_has_the_fingerprint_of_the_diff(text):
    try:
        shown = diff.extract_bare_diff(text)
    except BadDiff:
        return
    assert PROSE not in shown.text
    edits = [file for file in diff.parse(text) if file.is_textual]
    assert [file for file in diff.parse(shown.text) if file.is_textual] == edits
