"""What became of a merged patch, for each way of merging, and who says that he takes it back."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.builders.github.local_github import REPOSITORY
from tests.builders.github.merged_pulls import build_merged
from worker.git.hardened_git import GitError
from worker.outcomes.survival import Survival, find_reverts, measure_survival

OLD = "def old():\n    return 1\n"
ADDED = [
    "def freshly_added_function():\n",
    "    value_of_the_first_line = 1\n",
    "    value_of_the_second_line = 2\n",
    "    return value_of_the_first_line\n",
]
NEW = OLD + "".join(ADDED)


def merge_pull(upstream, how):
    """A pull request of two commits that adds four lines, merged that way."""
    base = upstream.commit({"a.py": OLD}, ref="refs/heads/main")
    half = {"a.py": OLD + "".join(ADDED[:2])}
    head = upstream.commit(
        {"a.py": NEW}, upstream.commit(half, base, ref="refs/heads/half"), ref="refs/pull/5/head"
    )
    other = {"other.py": "unrelated\n"}
    base = upstream.commit({"a.py": OLD} | other, base, ref="refs/heads/main")
    if how == "merge":
        merge = upstream.commit({"a.py": NEW} | other, base, head, ref="refs/heads/main")
    elif how == "squash":
        merge = upstream.commit({"a.py": NEW} | other, base, ref="refs/heads/main")
    else:
        first = upstream.commit(half | other, base, ref="refs/heads/main")
        merge = upstream.commit({"a.py": NEW} | other, first, ref="refs/heads/main")
    return build_merged(head, base, merge)


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
def test_all_lines_survive_at_first_and_the_deleted_ones_later_not(upstream, checkouts, how):
    pull = merge_pull(upstream, how)
    assert measure_survival(checkouts, REPOSITORY, None, pull) == Survival(4, 4)
    rest = OLD + ADDED[0] + ADDED[3].replace("first", "other")
    upstream.commit({"a.py": rest}, pull.merge, ref="refs/heads/main")
    assert measure_survival(checkouts, REPOSITORY, None, pull) == Survival(4, 1)


@pytest.mark.parametrize(
    ("files", "surviving"),
    [
        pytest.param({"a.py": OLD}, 0, id="reverted"),
        pytest.param({}, 0, id="the file is gone"),
        pytest.param({"b/renamed.py": NEW}, 4, id="the file is renamed"),
        pytest.param(
            {"a.py": "".join(ADDED[:1] + ADDED[2:] + ADDED[1:2]) + OLD}, 4, id="moved inside"
        ),
        pytest.param({"a.py": OLD, "c.py": "".join(ADDED)}, 4, id="moved to another file"),
        pytest.param({"a.py": NEW.replace("    ", "\t\t")}, 4, id="indented anew"),
        pytest.param({"a.py": "# header\n" * 50 + NEW}, 4, id="pushed down"),
        pytest.param({"a.py": NEW.replace("_line = 2", "_line = 3")}, 3, id="one line changed"),
    ],
)
def test_lines_are_followed_where_they_went(upstream, checkouts, files, surviving):
    pull = merge_pull(upstream, "squash")
    upstream.commit(files, pull.merge, ref="refs/heads/main")
    assert measure_survival(checkouts, REPOSITORY, None, pull) == Survival(4, surviving)


def merge_file(upstream, before, after):
    """Merge a pull request that changes the file `a`."""
    base = upstream.commit({"a": before}, ref="refs/heads/main")
    head = upstream.commit({"a": after}, base, ref="refs/pull/5/head")
    merge = upstream.commit({"a": after}, base, ref="refs/heads/main")
    return build_merged(head, base, merge)


def test_short_lines_are_too_common_to_be_known_again(upstream, checkouts):
    pull = merge_file(upstream, "1\n", "1\n}\n")
    upstream.commit({"a": "1\n", "b": "}\n"}, pull.merge, ref="refs/heads/main")
    assert measure_survival(checkouts, REPOSITORY, None, pull) == Survival(1, 0)


def test_a_patch_that_only_deletes_has_no_share(upstream, checkouts):
    pull = merge_file(upstream, "1\n2\n", "1\n")
    survival = measure_survival(checkouts, REPOSITORY, None, pull)
    assert (survival, survival.share) == (Survival(0, 0), None)
    assert Survival(4, 3).share == 0.75


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_base_that_already_holds_the_patch_does_not_make_it_empty(upstream, checkouts, how):
    """After a merge GitHub may name the branch's new commit as the base."""
    pull = merge_pull(upstream, how)
    late = replace(pull, base=pull.merge)
    assert measure_survival(checkouts, REPOSITORY, None, late) == Survival(4, 4)


def test_lines_that_look_like_a_diff_are_counted_as_lines(upstream, checkouts):
    nasty = "-- a/a\n++ b/a\n@@ -1 +1 @@\n"
    pull = merge_file(upstream, "1\n", "1\n" + nasty)
    upstream.commit({"a": "1\n-- a/a\n"}, pull.merge, ref="refs/heads/main")
    assert measure_survival(checkouts, REPOSITORY, None, pull) == Survival(3, 1)


def test_names_that_are_none_are_refused(checkouts):
    pull = build_merged("x", "HEAD:y", "z")
    with pytest.raises(GitError, match="full commit id"):
        measure_survival(checkouts, REPOSITORY, None, pull)
    with pytest.raises(GitError, match="branch name"):
        measure_survival(checkouts, REPOSITORY, None, replace(pull, branch="a..b"))
    with pytest.raises(GitError, match="branch name"):
        find_reverts(checkouts, REPOSITORY, None, "--all\n", datetime.now(UTC))


def test_reverts_name_commits_and_pull_requests(upstream, checkouts):
    first = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    since = datetime.fromtimestamp(upstream.clock + 60, UTC)
    said = {
        "by git": f'Revert "x"\n\nThis reverts commit {first}.\n',
        "by GitHub": 'Revert "x" (#6)\n\nReverts octo/repo#5\n',
        "elsewhere": "Revert\n\nReverts other/place#5\n",
        "in passing": "we should not revert commit 1234567\n",
        "by title": 'Revert "x (#7)" (#8)\n',
        "taken back again": 'Revert "Revert "x (#7)"" (#9)\n',
        "two": f"This reverts commit {first[:9]}.\nThis reverts commit {'b' * 40}.\n",
    }
    tip, made = first, {}
    for name, message in said.items():
        tip = made[name] = upstream.commit({"a": name}, tip, ref="refs/heads/main", message=message)
    found = find_reverts(checkouts, REPOSITORY, None, "main", since)
    assert [(r.commit, r.commits, r.pulls) for r in found] == [
        (made["two"], (first[:9], "b" * 40), ()),
        (made["by title"], (), (7,)),
        (made["by GitHub"], (), (5,)),
        (made["by git"], (first,), ()),
    ]
    assert found[0].committed_at == datetime.fromtimestamp(upstream.clock, UTC)


def test_reverts_before_the_time_are_not_asked_for(upstream, checkouts):
    message = f"This reverts commit {'a' * 40}."
    first = upstream.commit({"a": "1\n"}, ref="refs/heads/main", message=message)
    upstream.commit({"a": "2\n"}, first, ref="refs/heads/main")
    since = datetime.fromtimestamp(upstream.clock - 60, UTC)
    assert find_reverts(checkouts, REPOSITORY, None, "main", since) == ()


def test_history_is_fetched_as_far_back_as_was_asked(upstream, checkouts):
    tip = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    since = datetime.fromtimestamp(upstream.clock + 1, UTC)
    message = f"This reverts commit {tip}."
    old = tip = upstream.commit({"a": "2\n"}, tip, ref="refs/heads/main", message=message)
    tree = upstream.tree({"a": "2\n"})
    for _ in range(120):
        tip = upstream.commit(tree, tip, ref="refs/heads/main")
    assert [r.commit for r in find_reverts(checkouts, REPOSITORY, None, "main", since)] == [old]
