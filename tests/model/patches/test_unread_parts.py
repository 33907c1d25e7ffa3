"""A verdict claims something only about a patch that was read whole, lock files and documentation apart."""

import pytest

from model.coverage import Coverage, UnreadPart, UnreadReason
from model.patches.diff import parse
from model.patches.unread_parts import (
    LOCK_FILES,
    describe_unread,
    measure_compared,
    measure_coverage,
)

EDIT = "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-a\n+b\n"
COMMIT = "Subproject commit 1111111111111111111111111111111111111111"
UNREAD = {
    "binary": (
        "binary",
        "x.so",
        "diff --git a/x.so b/x.so\nindex 1111111..2222222 100644\nBinary files a/x.so and b/x.so differ\n",
    ),
    "binary data": (
        "binary",
        "x.png",
        "diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 10\nRcmZ?wbhEHbWMp7tXkcUjg8%>k\n\n",
    ),
    "binary without git": ("binary", "new/x.so", "Binary files old/x.so and new/x.so differ\n"),
    "submodule": (
        "submodule",
        "vendor/x",
        f"diff --git a/vendor/x b/vendor/x\nindex 1111111..2222222 160000\n--- a/vendor/x\n+++ b/vendor/x\n@@ -1 +1 @@\n-{COMMIT}\n+{COMMIT}\n",
    ),
    "new submodule": (
        "submodule",
        "vendor/x",
        f"diff --git a/vendor/x b/vendor/x\nnew file mode 160000\nindex 0000000..2222222\n--- /dev/null\n+++ b/vendor/x\n@@ -0,0 +1 @@\n+{COMMIT}\n",
    ),
    "submodule's log": (
        "not_in_diff",
        "vendor/x",
        "Submodule vendor/x 1234567..89abcde:\n  > fix\n",
    ),
    "mode": (
        "file_mode",
        "run.sh",
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n",
    ),
    "mode with an edit": (
        "file_mode",
        "run.sh",
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\nindex 1111111..2222222\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n",
    ),
    "latin-1 in the bot": (
        "encoding",
        "g.py",
        EDIT.replace("f.py", "g.py").replace("+b", "+\ufffd"),
    ),
    "latin-1 in the CLI": (
        "encoding",
        "g.py",
        EDIT.replace("f.py", "g.py").replace("-a", "-\udce9"),
    ),
    "only in one folder": ("not_in_diff", "new/lib/x.py", "Only in new/lib: x.py\n"),
}


def cover(text):
    return measure_coverage(text, parse(text))


def compare(text):
    return measure_compared(cover(text), parse(text))


@pytest.mark.parametrize("case", UNREAD)
def test_no_claim_rests_on_a_file_that_was_not_read_whole(case):
    reason, path, diff = UNREAD[case]
    coverage = cover(EDIT + diff)
    assert coverage == Coverage(2, 1, (UnreadPart(path, UnreadReason(reason)),))
    assert not coverage.is_whole
    assert not compare(EDIT + diff).is_whole


@pytest.mark.parametrize(
    "diff",
    [
        EDIT,
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\nindex 0000000..2222222\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/__init__.py b/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n",
        "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n",
        EDIT.replace("+b", "+Submodule vendor/x 1234567..89abcde:"),
        EDIT.replace("@@ -1 +1 @@\n", "@@ -1,2 +1,2 @@\n \ufffd\n"),
    ],
    ids=["edit", "new executable", "empty file", "symbolic link", "text", "context"],
)
def test_text_is_read_whole(diff):
    size = len(parse(diff))
    assert cover(diff) == Coverage(size, size)
    assert compare(diff).is_whole


@pytest.mark.parametrize("name", LOCK_FILES)
def test_lock_files_beside_code_are_not_read_and_permit_a_claim(name):
    coverage = cover(EDIT + EDIT.replace("f.py", f"web/{name}"))
    assert coverage == Coverage(2, 1, (UnreadPart(f"web/{name}", UnreadReason.LOCK_FILE),))
    assert coverage.is_whole


def test_patch_of_lock_files_alone_is_read():
    assert cover(EDIT.replace("f.py", "uv.lock")) == Coverage(1, 1)


def test_name_that_only_ends_like_a_lock_file_is_read():
    assert cover(EDIT + EDIT.replace("f.py", "my-yarn.lock")) == Coverage(2, 2)


def test_consensus_compares_neither_moves_nor_documentation():
    moved = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
    assert cover(EDIT + moved) == Coverage(2, 2)
    assert compare(EDIT + moved) == Coverage(2, 1, (UnreadPart("b.py", UnreadReason.RENAME),))
    assert not compare(EDIT + moved).is_whole
    prose = EDIT.replace("f.py", "docs/f.rst")
    assert compare(EDIT + prose) == Coverage(
        2, 1, (UnreadPart("docs/f.rst", UnreadReason.DOCUMENTATION),)
    )
    assert compare(EDIT + prose).is_whole
    assert compare(prose) == Coverage(1, 1)


def test_description_names_what_forbids_a_claim_first():
    lock, binary = UnreadReason.LOCK_FILE, UnreadReason.BINARY
    parts = [UnreadPart("uv.lock", lock), *(UnreadPart(f"{n}\n.so", binary) for n in range(3))]
    assert (
        describe_unread(Coverage(5, 1, tuple(parts)))
        == "not read: 0 .so (binary), 1 .so (binary), 2 .so (binary) and 1 more"
    )
    long = Coverage(1, 0, (UnreadPart("a" * 99 + "/x.so", binary),))
    assert describe_unread(long) == f"not read: …{'a' * 54}/x.so (binary)"
    assert describe_unread(Coverage(3, 1)) == "not read: 2 of 3 files"
