"""A history whose commits have a known fate becomes a gym with the same bytes each time. Every run is behind the wall."""

import json
import os

import pytest

from model.errors import BadGym
from model.execution.suite_run import Outcome, SuiteRun
from model.gyms.gym_folder import open_trees, read_gym
from tests.training.gym.gym_builds import build_gym
from tests.training.gym.history import (
    FATES,
    RIGHT,
    TESTS,
    WRONG,
    build_repository,
    commit_all,
)
from training.gym.build import UNREADABLE
from training.gym.commits.commit_limits import PAPER_LIMITS
from training.gym.commits.history import locate_repository, read_commits
from training.gym.leak_check import find_leaks
from training.gym.validation import compare_runs, merge_verdicts


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """The git directory of the history."""
    return locate_repository(build_repository(tmp_path_factory.mktemp("history") / "doubling"))


def test_a_fix_with_its_test_becomes_a_task(bubblewrap, repository, tmp_path):
    folder, built = build_gym(repository, tmp_path, ["Fix doubling"])
    (task,) = read_gym(folder).tasks
    assert task.fail_to_pass == ("tests/test_three.py::test_three",)
    assert task.pass_to_pass == ()
    assert task.provenance["subject"] == "Fix doubling"
    assert (task.licence, task.repository) == ("MIT", "a/doubling")
    assert "CHANGELOG" not in task.patch
    assert find_leaks(task.statement, task.patch, task.test_patch) == ()
    assert "6" in task.statement
    with open_trees(read_gym(folder)) as trees:
        trees.check_out(task.id, tmp_path / "tree")
    assert (tmp_path / "tree" / "doubling.py").read_text() == WRONG
    assert RIGHT not in (tmp_path / "tree" / "doubling.py").read_text()
    assert built.refusals == {}


@pytest.mark.proof
def test_every_commit_has_its_fate_and_bytes_are_the_same(bubblewrap, repository, tmp_path):
    folders = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        folder, built = build_gym(
            repository, tmp_path / name, runs=2, has_suite=True, has_candidates=True
        )
        folders.append(folder)
    assert dict(built.refusals) == FATES
    first, second = ({file.name: file.read_bytes() for file in f.iterdir()} for f in folders)
    assert first == second
    tasks = {task.provenance["subject"]: task for task in read_gym(folder).tasks}
    assert tasks.keys() == {"Fix doubling", "Add halves"}
    halves = tasks["Add halves"]
    assert halves.fail_to_pass == (
        "tests/test_three.py::test_half",
        "tests/test_three.py::test_three",
    )
    assert (
        len(halves.minimal_patch) < len(halves.candidates[0].patch)
        or "twice" not in halves.minimal_patch
    )
    assert "Return twice" not in halves.minimal_patch
    for task in tasks.values():
        right = [candidate for candidate in task.candidates if candidate.resolved]
        assert [candidate.source for candidate in right] == ["true"]
        assert len(task.candidates) > 1
        assert len({candidate.patch for candidate in task.candidates}) == len(task.candidates)


def test_a_hostile_commit_ends_no_build(bubblewrap, tmp_path):
    """Each commit of this history once ended a build or was counted as two."""
    folder = build_repository(tmp_path / "doubling")
    for subject, name, text in (
        ("Grow a line", b"bundle.js", "x" * 5_000_000),
        ("Name it oddly", b"caf\xe9.py", "x = 1\n"),
        ("Break a line", b"a\nb.py", "x = 1\n"),
        ("\x01Split", b"README.md", "x\n"),
    ):
        (folder / os.fsdecode(name)).write_text(text)
        (folder / "doubling.py").write_text(f"# {subject}\n")
        (folder / "tests" / "test_three.py").write_text(f"# {subject}\n")
        commit_all(folder, subject)
    commits = read_commits(locate_repository(folder), "main", None, None)
    assert [commit.subject for commit in commits][:1] == ["\x01Split"]
    hostile = [commit.subject for commit in commits[:4]]
    _, built = build_gym(locate_repository(folder), tmp_path, hostile, limits=PAPER_LIMITS)
    assert built.refusals.total() == len(hostile)
    assert built.refusals[UNREADABLE] == 1


@pytest.mark.proof
def test_a_flaky_test_of_another_module_is_no_pass_to_pass_test(bubblewrap, tmp_path):
    folder = build_repository(tmp_path / "doubling")
    # Some test passes all six runs in 1 of 20,000 builds, and a first pair of runs in 6 of 7.
    luck = """
import random

import pytest


@pytest.mark.parametrize("number", range(400))
def test_luck(number):
    assert random.random() < 0.07


def test_sure():
    pass
"""
    (folder / "tests" / "test_luck.py").write_text(luck)
    (folder / "doubling.py").write_text(WRONG)
    commit_all(folder, "Try your luck")
    (folder / "doubling.py").write_text(RIGHT)
    (folder / "tests" / "test_three.py").write_text(TESTS)
    commit_all(folder, "Fix it again")
    gym, _ = build_gym(
        locate_repository(folder), tmp_path, ["Fix it again"], runs=3, has_suite=True
    )
    (task,) = read_gym(gym).tasks
    assert task.pass_to_pass == ("tests/test_luck.py::test_sure",)


def test_a_folder_that_is_no_repository_and_a_missing_branch_are_named(repository, tmp_path):
    with pytest.raises(BadGym, match="no git repository"):
        locate_repository(tmp_path)
    with pytest.raises(BadGym, match="--revision"):
        read_commits(repository, "gone", None, None)


def test_dates_limit_the_history(repository):
    commits = read_commits(repository, "main", "2026-01-03", "2026-01-05")
    assert {commit.subject for commit in commits} >= {"Rename"}
    assert not {commit.subject for commit in commits} & {"Describe", "Grow"}


PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


def test_a_test_that_changes_from_run_to_run_is_flaky():
    before = [
        SuiteRun({"f2p": FAILED, "p2p": PASSED, "skip": SKIPPED, "flaky": FAILED, "late": FAILED})
    ] * 2
    after = [
        SuiteRun(
            {
                "f2p": PASSED,
                "p2p": PASSED,
                "skip": PASSED,
                "flaky": PASSED,
                "new": PASSED,
                "late": FAILED,
            }
        ),
        SuiteRun(
            {
                "f2p": PASSED,
                "p2p": PASSED,
                "skip": PASSED,
                "flaky": FAILED,
                "new": PASSED,
                "late": FAILED,
            }
        ),
    ]
    found = compare_runs(before, after)
    assert (found.fail_to_pass, found.pass_to_pass, found.flaky) == (
        ("f2p", "new"),
        ("p2p",),
        ("flaky",),
    )


def test_the_suite_adds_tests_of_other_modules_only():
    modules = compare_runs([SuiteRun({"a.py::x": FAILED})], [SuiteRun({"a.py::x": PASSED})])
    outcomes = {"a.py::y": PASSED, "b.py::z": PASSED, "c.py::w": FAILED}
    suite = compare_runs([SuiteRun(outcomes)], [SuiteRun(dict.fromkeys(outcomes, PASSED))])
    merged = merge_verdicts(modules, suite)
    assert (merged.fail_to_pass, merged.pass_to_pass) == (("a.py::x",), ("b.py::z",))


def test_a_manifest_counts_refusals(bubblewrap, repository, tmp_path):
    folder, _ = build_gym(repository, tmp_path, ["Describe", "Grow", "Rename"])
    manifest = json.loads((folder / "gym.json").read_text())
    assert manifest["tasks"] == 0
    assert sum(manifest["refusals"].values()) == 3
