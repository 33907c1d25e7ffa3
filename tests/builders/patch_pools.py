"""Pools and patches for tests of curation."""

from training.curation.pools import Pool, PoolPatch

TEXT = (
    "Saving a form twice loses the second change\n\n"
    "When a form is saved two times in a row, only the first change is kept. I expect both changes to be kept."
)


def build_diff(line="return 2", path="a.py", before="return 1"):
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,2 +1,2 @@\n def f():\n-    {before}\n+    {line}\n"
    )


def build_patch(number=0, target=1.0, **more):
    return PoolPatch(**{"diff": build_diff(f"return {number + 10}"), "target": target, **more})


def build_pool(issue="o/r#1", targets=(1.0,), **more):
    """No two issues share a patch."""
    patches = tuple(
        PoolPatch(build_diff(f"return {issue!r}, {number}"), target)
        for number, target in enumerate(targets)
    )
    known = {"repo": issue.partition("#")[0], "statement": TEXT, "patches": patches}
    return Pool(issue, **{**known, **more})
