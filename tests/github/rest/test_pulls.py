"""Pull requests of people as the API shows them: counts, files, reviews, states."""

import pytest

from tests.github.server_thread import StandInError

DIFF = """--- a/tool/core.py
+++ b/tool/core.py
@@ -1,2 +1,2 @@
 def size(items):
-    return len(items) + 1
+    return len(items)"""
LINK = f"""diff --git a/README.md b/README.md
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
{DIFF}
"""
FIELDS = """pullRequest(number:$i){title body isDraft state baseRefOid headRefOid additions deletions
 changedFiles files(first:100){nodes{path}}}"""


def describe(scene, number):
    shown = scene.ask(FIELDS, i=number)["pullRequest"]
    return shown | {"files": [node["path"] for node in shown["files"]["nodes"]]}


@pytest.mark.parametrize(
    ("change", "files", "counts"),
    [
        ({"diff": DIFF}, ["tool/core.py"], (1, 1)),
        ({"diff": LINK}, ["README.md", "tool/core.py"], (2, 2)),
        ({"files": {"new.txt": "a\nb\n", "README.md": None}}, ["README.md", "new.txt"], (2, 1)),
        ({"files": {"README.md": None, "moved.md": "# Tool\n"}}, ["moved.md"], (0, 0)),
        ({"files": {"image.bin": "\0\1\2"}}, ["image.bin"], (0, 0)),
    ],
    ids=["a diff", "a file becomes a link", "added and removed", "renamed", "binary"],
)
def test_a_pull_request_shows_the_files_and_counts_of_its_change(scene, change, files, counts):
    shown = describe(scene, scene.repo.open_pr("Change", **change).number)
    assert (shown["files"], shown["changedFiles"]) == (files, len(files))
    assert (shown["additions"], shown["deletions"]) == counts


def test_a_diff_that_does_not_apply_is_refused(scene):
    with pytest.raises(StandInError, match="does not apply"):
        scene.repo.open_pr("Wrong", diff=DIFF.replace("len(items) + 1", "len(things)"))


def test_a_push_adds_to_the_counts_and_a_force_push_replaces_them(scene):
    pull = scene.fix("one\ntwo\nthree\n", body="why")
    head = scene.repo.push(pull.number, files={"b.txt": "b\n"})
    shown = describe(scene, pull.number)
    assert (shown["body"], shown["headRefOid"], shown["additions"]) == ("why", head, 4)
    scene.repo.commit({"other": "moved on\n"})
    scene.repo.push(pull.number, files={"tool/core.py": "x = 3\n"}, force=True)
    forced = describe(scene, pull.number)
    assert (forced["files"], forced["additions"]) == (["tool/core.py"], 1)
    assert forced["baseRefOid"] != shown["baseRefOid"]


def test_a_list_of_pull_requests_can_be_narrowed_and_ordered(scene):
    first, second = (scene.fix(f"x = {n}\n").number for n in range(2))
    scene.repo.close(first)

    def list_numbers(**query):
        return [pull["number"] for pull in scene.get("/pulls", **query).json()]

    assert list_numbers() == [second]
    assert list_numbers(state="all", sort="updated") == [first, second]
    head = f"contributor:{scene.repo.pull(second).head_ref}"
    assert list_numbers(state="all", head=head) == [second]
    assert list_numbers(base="dev") == []


def test_line_comments_are_listed_by_review(scene):
    pull = scene.fix("x = 1\n").number
    review = scene.repo.review(pull, "COMMENTED", comments=[("tool/core.py", 1, "why?")])
    (comment,) = scene.get(f"/pulls/{pull}/reviews/{review}/comments").json()
    assert (comment["path"], comment["body"]) == ("tool/core.py", "why?")
    assert scene.get(f"/pulls/{pull}/reviews/1/comments").status_code == 404


def test_drafts_close_and_reopen(scene):
    number = scene.fix("x = 1\n", draft=True).number

    def show():
        return scene.repo.pull(number).state, scene.repo.pull(number).draft

    assert show() == ("open", True)
    scene.repo.ready(number)
    scene.repo.close(number)
    assert show() == ("closed", False)
    scene.repo.reopen(number)
    scene.repo.draft(number)
    assert show() == ("open", True)


def test_an_unknown_pull_request_is_404_and_an_unknown_commit_422(scene):
    assert scene.get("/pulls/77/reviews/1/comments").status_code == 404
    assert scene.get("/commits/nowhere/check-runs").status_code == 422


def get_diff(scene, number):
    client = scene.http(scene.token())
    accept = {"Accept": "application/vnd.github.diff"}
    return client.get(scene.path(f"/pulls/{number}"), headers=accept)


def test_a_pull_request_as_a_diff_holds_its_own_change_only(scene):
    pull = scene.repo.open_pr("Change", diff=DIFF)
    scene.repo.commit({"later.txt": "x\n"})
    answer = get_diff(scene, pull.number)
    assert answer.headers["content-type"] == "application/vnd.github.diff; charset=utf-8"
    assert answer.text.startswith("diff --git a/tool/core.py b/tool/core.py\n")
    assert "later.txt" not in answer.text
    assert scene.get(f"/pulls/{pull.number}").json()["changed_files"] == 1


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"long.txt": "x\n" * 20_001}, "lines (20000)"),
        ({f"{n}.txt": "x\n" for n in range(301)}, "files (300)"),
    ],
    ids=["lines", "files"],
)
def test_a_diff_beyond_the_limits_is_refused(scene, files, limit):
    answer = get_diff(scene, scene.repo.open_pr("Big", files=files).number)
    assert answer.status_code == 406
    assert answer.json()["message"] == f"Sorry, the diff exceeded the maximum number of {limit}."
