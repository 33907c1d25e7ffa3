"""Patches that change nothing but comments or tests, one by one and in labelled groups."""

import pytest

from model.domain import Issue, Patch, PatchId
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch, read_groups
from model.evaluation.trivial_patches import LeftOut, is_trivial, leave_out_trivial


def build_file(path, old, new):
    return f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n keep = 1\n-{old}\n+{new}\n"


CODE = build_file("src/app.py", "x = 1", "x = 2")
COMMENT = build_file("src/app.py", "# one", "# two")
TEST = build_file("tests/test_app.py", "assert x == 1", "assert x == 2")
RENAMED = (
    "diff --git a/one.py b/two.py\nsimilarity index 90%\nrename from one.py\nrename to two.py\n"
)


@pytest.mark.parametrize(
    ("diff", "trivial"),
    [
        ("", True),
        (" \n", True),
        (COMMENT, True),
        (TEST, True),
        (COMMENT + TEST, True),
        (CODE, False),
        (CODE + TEST, False),
        (CODE + COMMENT, False),
        (build_file("src/app.py", "x = 1  # one", "x = 2  # one"), False),
        (build_file("src/test/java/AppIT.java", "int x;", "int y;"), True),
        (build_file("pkg/app_test.go", "x := 1", "x := 2"), True),
        (build_file("web/app.spec.ts", "let x", "let y"), True),
        (build_file("django/test/client.py", "x = 1", "x = 2"), False),
        (build_file("src/contest.py", "x = 1", "x = 2"), False),
        (RENAMED, False),
        (RENAMED + COMMENT, False),
        ("no diff at all", False),
    ],
)
def test_trivial_patch(diff, trivial):
    assert is_trivial(diff) is trivial


def build_group(*diffs):
    patches = tuple(
        LabelledPatch(Patch(PatchId(f"candidate-{place}"), diff), False, None)
        for place, diff in enumerate(diffs, 1)
    )
    return LabelledGroup("octo__app-1", "octo/app", Issue("It breaks", ""), patches)


def test_left_out_patches_and_groups_are_counted():
    plain = build_group(CODE, CODE + TEST)
    groups, left_out = leave_out_trivial(
        [plain, build_group(COMMENT, CODE, TEST), build_group("", TEST)]
    )
    assert groups[0] == plain
    assert [[patch.patch.id for patch in group.patches] for group in groups] == [
        ["candidate-1", "candidate-2"],
        ["candidate-2"],
    ]
    assert left_out == LeftOut(patches=4, groups=1)


@pytest.mark.parametrize("name", ["distinct_eval_groups", "r4p_style_eval_groups"])
def test_published_groups_hold_no_trivial_patch(large_data, name):
    """The figures of docs/evaluation.md are the same with and without `--skip-trivial`."""
    groups = list(read_groups(large_data / f"{name}.jsonl.gz"))
    assert leave_out_trivial(groups) == (groups, LeftOut(0, 0))
