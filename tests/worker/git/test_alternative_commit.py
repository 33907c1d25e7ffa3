"""A diff on top of a branch, by git's own hand: what it makes, and what it refuses."""

import hashlib

import pytest

from app.github.api.draft_publisher import FileChange
from worker.git.alternative_commit import DoesNotApply, build_alternative_commit
from worker.git.hardened_git import GitError, GitUnreachable, Remote

FILES = {"a.py": "one\ntwo\n", "b.py": "b\n", "run.sh": ("100755", "exit 0\n")}
EDIT = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
NEW = (
    "diff --git a/c.py b/c.py\nnew file mode 100644\n--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+c\n"
)
GONE = "diff --git a/b.py b/b.py\ndeleted file mode 100644\n--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
MODE = "diff --git a/run.sh b/run.sh\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-exit 0\n+exit 1\n"


@pytest.fixture
def remote(server):
    return Remote(f"{server.url}/octo/repo.git", None)


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_edits_new_files_and_deleted_ones_are_one_commit_on_the_branch_as_it_is(upstream, remote):
    first = upstream.commit(FILES, ref="refs/heads/main")
    tip = upstream.commit(FILES | {"d.py": "later\n"}, first, ref="refs/heads/main")
    made = build_alternative_commit(remote, "main", EDIT + NEW + GONE + MODE, "Why\n")
    assert (made.parent, made.message) == (tip, "Why\n")
    assert made.changes == (
        FileChange("a.py", "100644", b"one\nthree\n"),
        FileChange("b.py", "100644", None),
        FileChange("c.py", "100644", b"c\n"),
        FileChange("run.sh", "100755", b"exit 1\n"),
    )
    wanted = {
        "a.py": "one\nthree\n",
        "c.py": "c\n",
        "d.py": "later\n",
        "run.sh": ("100755", "exit 1\n"),
    }
    assert made.tree == upstream.tree(wanted)


def test_a_diff_of_other_code_does_not_apply(upstream, remote):
    upstream.commit({"a.py": "one\n2\n"}, ref="refs/heads/main")
    with pytest.raises(DoesNotApply, match=r"a\.py: patch does not apply"):
        build_alternative_commit(remote, "main", EDIT, "Why\n")


def test_a_link_is_no_plain_file(upstream, remote):
    upstream.commit({"a.py": ("120000", "one\ntwo\n")}, ref="refs/heads/main")
    with pytest.raises(DoesNotApply):
        build_alternative_commit(remote, "main", EDIT, "Why\n")


@pytest.mark.parametrize("branch", ["gone", "--upload-pack=touch", "a..b"])
def test_a_branch_that_is_not_there_is_no_outage(upstream, remote, branch):
    upstream.commit(FILES, ref="refs/heads/main")
    with pytest.raises(GitError) as caught:
        build_alternative_commit(remote, branch, EDIT, "Why\n")
    assert not isinstance(caught.value, GitUnreachable)


def test_the_attributes_of_a_repository_are_not_obeyed(upstream, remote):
    files = FILES | {".gitattributes": "* text eol=crlf ident filter=evil\n"}
    upstream.commit(files, ref="refs/heads/main")
    made = build_alternative_commit(remote, "main", EDIT, "Why\n")
    assert made.changes == (FileChange("a.py", "100644", b"one\nthree\n"),)
