"""Pull requests as the API shows them: files, commits, diffs, reviews, states, big ones."""

import pytest

from tests.github.server_thread import StandInError

DIFF = """--- a/tool/core.py
+++ b/tool/core.py
@@ -1,2 +1,2 @@
 def size(items):
-    return len(items) + 1
+    return len(items)"""


def test_a_diff_becomes_the_pull_request_it_describes(scene):
    pull = scene.repo.open_pr("Count right", diff=DIFF)
    (changed,) = scene.bot_repo().get_pull(pull.number).get_files()
    assert (changed.filename, changed.status) == ("tool/core.py", "modified")
    assert (changed.additions, changed.deletions) == (1, 1)
    assert changed.patch == "\n".join(DIFF.splitlines()[2:])


def test_a_diff_that_does_not_apply_is_refused(scene):
    with pytest.raises(StandInError, match="does not apply"):
        scene.repo.open_pr("Wrong", diff=DIFF.replace("len(items) + 1", "len(things)"))


def test_added_removed_renamed_and_binary_files_are_told_apart(scene):
    scene.repo.commit({"long.txt": "".join(f"line {n}\n" for n in range(40))})
    files = {
        "new.txt": "hi\n",
        "README.md": None,
        "long.txt": None,
        "moved.txt": "".join(f"line {n}\n" for n in range(40)),
        "image.bin": "\0\1\2",
    }
    pull = scene.repo.open_pr("Shuffle", files=files)
    shown = scene.bot_repo().get_pull(pull.number).get_files()
    kinds = {f.filename: (f.status, f.previous_filename, f.patch is not None) for f in shown}
    assert kinds == {
        "new.txt": ("added", None, True),
        "README.md": ("removed", None, True),
        "moved.txt": ("renamed", "long.txt", False),
        "image.bin": ("added", None, False),
    }


LINK = """diff --git a/README.md b/README.md
deleted file mode 100644
--- a/README.md
+++ /dev/null
@@ -1 +0,0 @@
-# Tool
diff --git a/README.md b/README.md
new file mode 120000
--- /dev/null
+++ b/README.md
@@ -0,0 +1 @@
+/etc/passwd
\\ No newline at end of file
--- a/tool/core.py
+++ b/tool/core.py
@@ -1,2 +1,2 @@
 def size(items):
-    return len(items) + 1
+    return len(items)
"""


def test_a_file_may_become_a_link(scene):
    pull = scene.repo.open_pr("Link", diff=LINK)
    shown = scene.bot_repo().get_pull(pull.number).get_files()
    assert [(f.filename, f.status) for f in shown] == [
        ("README.md", "changed"),
        ("tool/core.py", "modified"),
    ]


def test_the_pull_request_itself_has_the_counts(scene):
    pull = scene.fix("one\ntwo\nthree\n", body="why")
    scene.repo.push(pull.number, files={"b.txt": "b\n"})
    shown = scene.bot_repo().get_pull(pull.number)
    assert (shown.additions, shown.deletions, shown.changed_files, shown.commits) == (4, 2, 2, 2)
    assert (shown.body, shown.mergeable, shown.draft, shown.merged) == ("why", True, False, False)
    assert [c.sha for c in shown.get_commits()][-1] == scene.repo.head(pull.number)


def test_a_conflict_shows_as_not_mergeable(scene):
    pull = scene.fix("theirs\n")
    scene.repo.commit({"tool/core.py": "ours\n"})
    assert scene.bot_repo().get_pull(pull.number).mergeable is False


@pytest.mark.parametrize("form", ["diff", "patch"])
def test_the_text_forms_are_real(scene, form):
    pull = scene.fix("x = 1\n")
    accept = {"Accept": f"application/vnd.github.v3.{form}"}
    answer = scene.http(scene.token()).get(scene.path(f"/pulls/{pull.number}"), headers=accept)
    assert "+x = 1" in answer.text
    assert answer.text.startswith("diff --git" if form == "diff" else "From ")


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({f"f{n}.txt": "x\n" for n in range(300)}, 200),
        ({f"f{n}.txt": "x\n" for n in range(301)}, 406),
        ({"long.txt": "x\n" * 20_000}, 406),
    ],
    ids=["300 files", "301 files", "over 20,000 lines"],
)
def test_a_diff_over_the_limits_is_406_but_its_files_are_listed(scene, files, status):
    pull = scene.repo.open_pr("Big", files=files)
    client = scene.http(scene.token())
    accept = {"Accept": "application/vnd.github.v3.diff"}
    answer = client.get(scene.path(f"/pulls/{pull.number}"), headers=accept)
    assert answer.status_code == status
    if status == 406:
        assert answer.json()["errors"][0]["code"] == "too_large"
    listed = client.get(scene.path(f"/pulls/{pull.number}/files"), params={"per_page": 100})
    assert len(listed.json()) == min(len(files), 100)


def test_a_deleted_fork_shows_as_null(scene):
    pull = scene.fix("x = 1\n")
    scene.repo.delete_fork(pull.number)
    body = scene.http(scene.token()).get(scene.path(f"/pulls/{pull.number}")).json()
    assert body["head"]["repo"] is None
    assert body["head"]["sha"] == pull.head_sha


def test_lists_can_be_narrowed(scene):
    scene.repo.commit({"a": "a\n"}, branch="dev")
    first = scene.fix("x = 1\n").number
    second = scene.fix("x = 2\n", base="dev").number
    scene.repo.close(first)
    repo = scene.bot_repo()
    assert [p.number for p in repo.get_pulls()] == [second]
    assert [p.number for p in repo.get_pulls(state="all", direction="asc")] == [first, second]
    assert [p.number for p in repo.get_pulls(state="all", base="dev")] == [second]


def test_reviews_are_listed_with_the_commit_they_judged(scene):
    pull = scene.fix("x = 1\n")
    scene.repo.review(pull.number, "CHANGES_REQUESTED", author="ann", body="no")
    scene.repo.push(pull.number, files={"tool/core.py": "x = 2\n"})
    scene.repo.review(pull.number, "APPROVED", author="ann")
    shown = scene.bot_repo().get_pull(pull.number).get_reviews()
    judged = [(r.state, r.user.login, r.commit_id) for r in shown]
    newest = scene.repo.head(pull.number)
    assert judged == [("CHANGES_REQUESTED", "ann", pull.head_sha), ("APPROVED", "ann", newest)]


def test_a_force_push_replaces_the_commits(scene):
    pull = scene.fix("x = 1\n")
    scene.repo.commit({"other": "moved on\n"})
    scene.repo.push(pull.number, files={"tool/core.py": "x = 3\n"}, force=True)
    shown = scene.bot_repo().get_pull(pull.number)
    assert shown.commits == 1
    assert shown.base.sha != pull.base_sha


def test_drafts_close_and_reopen(scene):
    pull = scene.fix("x = 1\n", draft=True)
    assert scene.repo.pull(pull.number).draft
    scene.repo.ready(pull.number)
    scene.repo.close(pull.number)
    assert (scene.repo.pull(pull.number).state, scene.repo.pull(pull.number).draft) == (
        "closed",
        False,
    )
    scene.repo.reopen(pull.number)
    scene.repo.draft(pull.number)
    assert (scene.repo.pull(pull.number).state, scene.repo.pull(pull.number).draft) == (
        "open",
        True,
    )


def test_commits_contents_and_comparisons_agree(scene):
    pull = scene.fix("x = 1\n")
    repo = scene.bot_repo()
    assert repo.get_contents("tool/core.py", ref=pull.head_sha).decoded_content == b"x = 1\n"
    assert {c.name for c in repo.get_contents("tool")} == {"core.py"}
    compared = repo.compare(pull.base_sha, pull.head_sha)
    assert (compared.status, compared.ahead_by, compared.behind_by) == ("ahead", 1, 0)
    commit = repo.get_commit(pull.head_sha)
    assert [f.filename for f in commit.files] == [f.filename for f in compared.files]
    assert [c.sha for c in repo.get_commits(sha=pull.head_sha)] == [pull.head_sha, pull.base_sha]
    assert [c.sha for c in repo.get_commits(path="tool/core.py")] == [pull.base_sha]


def test_what_is_not_there_is_404_and_an_unknown_commit_422(scene):
    client = scene.http(scene.token())
    assert client.get(scene.path("/contents/nothing.txt")).status_code == 404
    assert client.get(scene.path("/contents/README.md?ref=nowhere")).status_code == 404
    assert client.get(scene.path("/commits/nowhere")).status_code == 422
    assert client.get(scene.path("/pulls/77")).status_code == 404
    assert client.get(scene.path("/compare/main...nowhere")).status_code == 404
