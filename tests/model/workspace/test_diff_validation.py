"""What an agent may hand in: what our own git writes, and nothing that is smuggled into it."""

import pytest

from model.errors import BadDiff
from model.workspace import diff_validation, git_diff
from model.workspace.git_diff import FileChange

EDIT = (
    "diff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n--- a/x.py\n+++ b/x.py\n"
    "@@ -1,2 +1,2 @@ def f\n a\n-b\n+c\n"
)


@pytest.mark.parametrize(
    "change",
    [
        FileChange("x.py", b"a\nb\n", b"a\nc\n"),
        FileChange("x y.py", b"a", b"b"),
        FileChange('q"t.py', b"a\n", b"b\n", is_executable=True),
        FileChange("ä/b b/x.py", None, b"new\n"),
        FileChange("empty", None, b""),
        FileChange("gone.py", b"a\n", None),
        FileChange("picture", b"\0\1\2" * 99, b"\0\3" * 999),
        FileChange("dos", b"a\r\nb\r\n", b"a\r\nc\n"),
        FileChange("long", b"".join(b"%d\n" % n for n in range(99)), b"".join(b"%d\n" % (n % 50) for n in range(99))),
    ],
    ids=lambda change: change.path,
)  # fmt: skip
def test_diff_of_our_git_passes(change):
    diff = git_diff.build_diff([change, FileChange("and/more", b"1\n", b"2\n")], 30)
    diff_validation.validate_diff(diff)
    assert diff.count("diff --git ") == 2


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        ("", "empty"),
        (EDIT.replace("+c", "+\0"), "no text"),
        (EDIT.replace("+c", "+\ud800"), "no text"),
        ("anything", "line 1 of the patch is not a file header"),
        (f"From: somebody\n{EDIT}", "line 1 of the patch is not a file header"),
        (f"{EDIT}-- \n2.47\n", "line 9 of the patch is not a file header"),
        (EDIT.replace("x.py", ".github/workflows/ci.yml"), "secrets"),
        (EDIT.replace("x.py", "docs/CODEOWNERS"), "reviewers"),
        (EDIT.replace("x.py", "../x.py"), r"`\.\.`"),
        (EDIT.replace("x.py", ".git/config"), "git's own"),
        (EDIT.replace("x.py", "/etc/passwd"), "absolute"),
        (EDIT.replace("100644", "120000"), "not a file header"),
        (EDIT.replace("index", "new file mode 120000\nindex"), "not a file header"),
        (EDIT.replace("index", "old mode 100644\nnew mode 100755\nindex"), "not a file header"),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", "not a file header"),
        ("diff --git a/x b/x\nrename from x\nrename to CODEOWNERS\n", "not a file header"),
        (EDIT.replace("+++ b/x.py", "+++ b/CODEOWNERS"), "differ"),
        (EDIT.replace("--- a/x.py", "--- a/CODEOWNERS"), "differ"),
        (EDIT.replace("diff --git a/x.py b/x.py", r'diff --git "a/\056git" "b/\056git"'), "not a file head"),
        (EDIT.removesuffix("+c\n"), "the hunk is incomplete"),
        (EDIT.removesuffix("\n"), "the hunk is incomplete"),
        (EDIT.replace("-1,2 +1,2", "-1,1 +1,2"), "longer than it says"),
        (EDIT + "--- a/CODEOWNERS\n+++ b/CODEOWNERS\n@@ -1 +1 @@\n-a\n+b\n", "line 9 .* not a file header"),
    ],
)  # fmt: skip
def test_any_other_diff_is_refused(diff, why):
    with pytest.raises(BadDiff, match=why):
        diff_validation.validate_diff(diff)
