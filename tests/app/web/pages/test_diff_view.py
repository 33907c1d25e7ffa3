"""A diff becomes the lines of a page, with the paths and the counts of its files."""

import re
from html import unescape

import pytest

from app.web.pages.patch_view import ChangedFile, build_diff_view

HUNK = "@@ -1,2 +1,2 @@\n same\n-old\n+new\n"


def read_lines(view):
    """The kind, the number and the text of each line of the view."""
    lines = re.findall(
        r'<div class="(\w+)"><span class="no">(\d*)</span><code>(.*)</code></div>', view.html
    )
    return [(kind, number, unescape(re.sub("<[^>]+>", "", words))) for kind, number, words in lines]


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("diff --git a/x/y.py b/x/y.py\n", "x/y.py"),
        ('diff --git "a/\\303\\244.py" "b/\\303\\244.py"\n', "ä.py"),
        ('diff --git "a/a\\tb.py" "b/a\\tb.py"\n', "a\tb.py"),
        ("diff --git a/x b/y.py b/x b/y.py\n", "x b/y.py"),
        ("diff --git a/x y.py b/x y.py\n--- a/x y.py\t\n+++ b/x y.py\t\n", "x y.py"),
        ("diff --git a/x b/y b/z.py b/n b/m.py\nrename from x b/y b/z.py\nrename to n b/m.py\n",
         "n b/m.py"),
        ('diff --git a/x.py "b/\\303\\244.py"\nrename from x.py\nrename to "\\303\\244.py"\n', "ä.py"),
        ('diff --git a/x.py "b/\\303\\244.py"\n--- a/x.py\n+++ "b/\\303\\244.py"\n', "ä.py"),
        ("diff --git a/y.py b/y.py\ndeleted file mode 100644\n--- a/y.py\n+++ /dev/null\n", "y.py"),
        ("diff --git a/y.py b/y.py\nnew file mode 100644\n--- /dev/null\n+++ b/y.py\n", "y.py"),
        ("--- a/y.py\n+++ b/y.py\n", "y.py"),
        ("--- y.py\t2026-01-01\n+++ y.py\t2026-01-02\n", "y.py"),
        ("--- /dev/null\n+++ b/y.py\n", "y.py"),
        ("--- a/y.py\n+++ /dev/null\n", "y.py"),
    ],
)  # fmt: skip
def test_each_file_has_its_path_and_its_counts(header, path):
    view = build_diff_view(header + HUNK + header + HUNK)
    (first, second) = view.files
    assert first == second
    assert (first.added, first.deleted) == (1, 1)
    assert first.path == path
    one = [("file", "", path), ("hunk", "", "@@ -1,2 +1,2 @@"), ("same", "1", " same")]
    one += [("del", "2", "-old"), ("add", "2", "+new")]
    assert read_lines(view) == one * 2


def test_a_deleted_line_that_looks_like_a_header_is_a_line():
    lines = "@@ -1,3 +1,1 @@\n--- a/comment\n-x\n+++ b/comment\n same\n"
    view = build_diff_view(f"--- a/y.sql\n+++ b/y.sql\n{lines}")
    assert view.files == (ChangedFile("y.sql", 1, 2),)
    assert [kind for kind, *_ in read_lines(view)] == ["file", "hunk", "del", "del", "add", "same"]


def test_lines_that_a_hunk_does_not_count_are_shown_all_the_same():
    view = build_diff_view("diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n+hidden\n")
    assert view.files == (ChangedFile("y", 2, 1),)
    assert read_lines(view)[-1] == ("add", "2", "+hidden")


@pytest.mark.parametrize("header", ["@@ -1 +1 @@", "@@ -1,0 +1 @@ def f():"])
def test_a_hunk_without_a_file_is_shown_and_counted_nowhere(header):
    view = build_diff_view(f"{header}\n+new")
    assert view.files == ()
    assert read_lines(view) == [("hunk", "", header), ("add", "1", "+new")]


@pytest.mark.parametrize(("lines", "is_cut"), [(248, False), (249, True)])
def test_a_page_says_that_it_leaves_lines_out(lines, is_cut):
    added = "".join(f"+{number}\n" for number in range(lines))
    view = build_diff_view(
        f"diff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1,{lines} @@\n{added}"
    )
    assert view.is_cut is is_cut
    assert len(read_lines(view)) == 250
    assert view.files == (ChangedFile("y", lines, 0),)


@pytest.mark.parametrize("text", ["", "\n", "no diff", "diff --git ", "--- ", "+++ ", "@@ ", "\\"])
def test_a_text_that_is_no_diff_has_no_lines(text):
    view = build_diff_view(text)
    assert not view.is_cut
    assert [line for line in read_lines(view) if line[0] != "file"] == []
