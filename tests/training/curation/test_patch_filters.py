from dataclasses import replace

import pytest

from tests.builders.patch_pools import build_diff, build_patch, build_pool
from training.curation.patch_filters import (
    MAX_RAW_CHARACTERS,
    ChangeLimits,
    drop_rewrites,
    find_rejection,
)

POOL = build_pool()
BINARY = "diff --git a/a.bin b/a.bin\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/a.bin differ\n"


def find_reason(text, author=None, **limits):
    return find_rejection(replace(build_patch(), diff=text, author=author), ChangeLimits(**limits))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (build_diff(), None),
        ("", "changes nothing"),
        (BINARY, "changes nothing that can be read"),
        ("".join(build_diff(path=f"{name}.py") for name in "abcde"), None),
        ("".join(build_diff(path=f"{name}.py") for name in "abcdef"), "more than 5 files"),
        (build_diff("x" * 60_000), "more than 60,000 characters"),
        (build_diff(path="web/yarn.lock") + build_diff(path="Cargo.lock"), "only lock files"),
        (build_diff(path="web/yarn.lock") + build_diff(path="a.py"), None),
        (build_diff(path="README.md") + build_diff(path="docs/a.rst"), "only prose"),
        (build_diff(path="docs/ref/a.txt"), "only prose"),
        (build_diff(path="CMakeLists.txt"), None),
        (build_diff("six==1.2.4", "requirements-dev.txt", "six==1.2.3"), "only versions"),
        (build_diff('"six": "^1.2.4"', "web/package.json", '"six": "^1.2.3"'), "only versions"),
        (build_diff('"six": "^1.2.4-rc1"', "package.json", '"six": "1.2.3"'), "only versions"),
        (build_diff('"six": "1.2.3"', "package.json", '"seven": "1.2.3"'), None),
        (
            build_diff("uses: a/b@v1.2", ".github/workflows/c.yml", "uses: a/b@v1.1"),
            "only versions",
        ),
        (build_diff('__version__ = "1.2.4"', "a.py", '__version__ = "1.2.3"'), "only versions"),
        (build_diff("timeout = 1.5", "a.py", "timeout = 1.2"), None),
    ],
)
def test_patch_that_cannot_be_a_fix_is_rejected(text, expected):
    assert find_reason(text) == expected


def test_added_dependency_is_not_a_version_bump():
    text = '--- a/package.json\n+++ b/package.json\n@@ -1 +1,2 @@\n {\n+ "six": "1.2.3"\n'
    assert find_reason(text) is None


def test_patch_above_the_line_limit_is_rejected():
    lines = "".join(f"+{number}\n" for number in range(1_001))
    text = f"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,1001 @@\n{lines}"
    assert find_reason(text) == "more than 1,000 lines"
    assert find_reason(text, lines=2_000) is None


def test_patch_of_other_suffixes_is_rejected():
    text = build_diff() + build_diff(path="a.js")
    assert find_reason(text) is None
    assert find_reason(text, suffix=".py") == "touches other files than .py"


@pytest.mark.parametrize(
    ("author", "is_kept"),
    [("dependabot[bot]", False), ("renovate", False), ("copilot[bot]", True), (None, True)],
)
def test_bots_that_write_code_are_kept(author, is_kept):
    assert (find_reason(build_diff(), author) is None) is is_kept


def test_text_around_the_diff_is_dropped():
    letter = "From: A Person <a@example.org>\nDate: Mon, 1 Jan 2026\n\nFixes #12, approved by B\n"
    talk = replace(build_patch(0), diff=letter + build_diff("return 10"))
    broken = replace(build_patch(1), diff="no diff at all")
    one = replace(POOL, patches=(talk, broken))
    kept, reasons = drop_rewrites([one, replace(POOL, patches=(broken,))])
    assert [pool.patches for pool in kept] == [(build_patch(0),)]
    assert reasons == ["no unified diff"] * 2


def test_huge_patch_is_dropped_before_parsing():
    # 50 MB are above what a diff may have at all: parsed, it would be told as no diff
    huge = replace(build_patch(1), diff=build_diff("x" * 50_000_000))
    long = replace(
        build_patch(2), diff="A word.\n" * (MAX_RAW_CHARACTERS // 10) + build_diff("return 2")
    )
    kept, reasons = drop_rewrites([replace(POOL, patches=(build_patch(0), huge, long))])
    assert [pool.patches for pool in kept] == [
        (build_patch(0), replace(long, diff=build_diff("return 2")))
    ]
    assert reasons == ["more than 600,000 characters as handed in"]
