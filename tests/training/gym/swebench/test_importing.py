"""Issues of a benchmark become tasks: bases of releases, tests that run, labels compared."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from model.environments.recipe import EnvironmentRecipe
from model.errors import BadGroups, BadGym
from model.gyms.gym_folder import open_trees, read_gym
from tests.training.gym.swebench.conftest import (
    GOLD,
    ISSUE,
    LATER_TESTS,
    NEW_TESTS,
    OLD,
    OLD_TESTS,
)
from training.gym.swebench import importing
from training.gym.swebench.base_choice import choose_base
from training.gym.swebench.benchmark_issue import read_issues
from training.gym.swebench.import_report import build_report
from training.gym.swebench.importing import ImportPlan, measure_issues
from training.gym.swebench.issue_record import IssueRecord, compute_key
from training.gym.swebench.measurement import DOES_NOT_APPLY, REACHES_FOR_RUNNER
from training.gym.swebench.release import unpack_releases
from training.gym.swebench.task_writer import ENVIRONMENT, save_gym

DOUBLE, HALF = (
    f"arithmetic.test_doubling.DoublingTests.test_{name}" for name in ("double", "half")
)
RECIPE = EnvironmentRecipe("3.11", ("sqlparse==0.6.1",))


@pytest.fixture
def releases(sources, tmp_path):
    return tuple(unpack_releases(sources, tmp_path / "releases"))


@pytest.fixture
def issue(benchmark):
    [issue] = read_issues(*benchmark, "maker/doubling")
    return issue


@pytest.fixture
def plan(releases, tmp_path):
    return ImportPlan(releases, Path(sys.executable), tmp_path / "progress", parallel=2)


def get_test_file(base):
    return base.changes.written["tests/arithmetic/test_doubling.py"].decode()


def test_releases_are_unpacked_in_order_without_their_documentation(releases):
    assert [release.version for release in releases] == ["1.0", "2.0", "3.0"]
    assert not (releases[0].folder / "docs").exists()
    assert (releases[0].folder / "tests" / "runtests.py").is_file()


def test_a_folder_without_releases_is_refused(tmp_path):
    with pytest.raises(BadGym, match="holds no source distribution"):
        unpack_releases(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("versions", "name"),
    [(("1.0",), "forward 1.0"), (("2.0", "3.0"), "reverse 2.0"), (("1.0", "2.0"), "reverse 2.0")],
)
def test_the_nearest_base_is_chosen(issue, releases, versions, name):
    chosen = choose_base(issue, [item for item in releases if item.version in versions])
    assert chosen.name == name


def test_a_reverse_base_lacks_the_true_patch_and_the_tests(issue, releases):
    base = choose_base(issue, releases[1:2])
    assert base.changes.written["doubling.py"].decode() == OLD
    assert get_test_file(base) == OLD_TESTS


def test_tests_that_changed_since_are_cut_out_of_a_later_release(issue, releases):
    base = choose_base(issue, releases[2:])
    text = get_test_file(base)
    assert "test_half" not in text
    assert "test_double" in text
    tests = base.apply(base.test_patch)
    assert tests.written["tests/arithmetic/test_doubling.py"].decode() == LATER_TESTS


def test_an_issue_without_a_base_is_refused(issue, plan):
    lost = replace(issue, true_patch=GOLD.replace("return number", "return other"))
    [record] = measure_issues([lost], plan)
    assert record.refusal == "the true patch and its tests apply to no release"


def test_the_labels_are_reproduced_and_every_refusal_has_a_reason(bubblewrap, issue, plan):
    [record] = measure_issues([issue], replace(plan, repeats=2))
    assert (record.fail_to_pass, record.pass_to_pass) == ((HALF,), (DOUBLE,))
    assert record.regression == (DOUBLE,)
    first = [item.runs[0] if item.runs else item.refusal for item in record.candidates]
    right, wrong, breaking, unreadable, strange, lost = first
    assert (right.resolves, wrong.failed, breaking.broken) == (True, (HALF,), (DOUBLE,))
    assert unreadable.resolves is False
    assert (strange, lost) == (REACHES_FOR_RUNNER, DOES_NOT_APPLY)
    report = build_report([record])
    assert report["labels_reproduced"]["count"] == report["labels_reproduced"]["of"] == 4
    assert report["repeats_that_agree"]["count"] == 4
    assert report["patches"]["refusals"] == {DOES_NOT_APPLY: 1, REACHES_FOR_RUNNER: 1}
    assert report["wrong_that_break_a_test"]["count"] == 2


def test_a_killed_import_goes_on_where_it_stopped(bubblewrap, issue, plan, monkeypatch):
    first = measure_issues([issue], plan)
    monkeypatch.setattr(importing, "choose_base", None)  # a second look for a base would fail
    assert measure_issues([issue], plan) == first
    assert measure_issues([issue], replace(plan, repeats=2))[0].count_repeats() == 2


def test_a_record_of_other_releases_is_measured_again(issue, plan, releases):
    assert compute_key(issue, releases) != compute_key(issue, releases[:2])
    (plan.progress).mkdir()
    (plan.progress / f"{ISSUE}.json").write_text("{half written")
    assert list(importing.read_records([issue], plan)) == []


def test_the_gym_holds_base_tests_and_candidates(bubblewrap, issue, plan, tmp_path):
    records = measure_issues([issue], plan)
    manifest = save_gym(tmp_path / "gym", [issue], records, plan.releases, RECIPE)
    gym = read_gym(tmp_path / "gym")
    [task] = gym.tasks
    assert (manifest.tasks, task.environment) == (1, ENVIRONMENT)
    assert [item.resolved for item in task.candidates] == [True, False, False, False]
    assert task.command.endswith("--settings=test_sqlite arithmetic.test_doubling")
    with open_trees(gym) as trees:
        trees.check_out(task.id, tmp_path / "tree")
    assert (tmp_path / "tree" / "doubling.py").read_text() == OLD
    test_file = tmp_path / "tree" / "tests" / "arithmetic" / "test_doubling.py"
    assert test_file.read_text() == OLD_TESTS != NEW_TESTS


def test_bad_input_is_named(benchmark, tmp_path):
    instances, patches = benchmark
    with pytest.raises(BadGroups, match="share no issue of other/name"):
        read_issues(instances, patches, "other/name")
    (bad := tmp_path / "bad.jsonl").write_text('{"instance_id": 7}\n')
    with pytest.raises(BadGroups, match=r"bad\.jsonl, line 1 is no instance of SWE-bench"):
        read_issues(bad, patches, "maker/doubling")


def test_a_refused_issue_is_counted_with_its_reason(issue, plan):
    record = IssueRecord(issue.id, "key", refusal="a reason")
    report = build_report([record])
    assert (report["tasks"], report["refusals"]) == (0, {"a reason": 1})
    assert report["labels_reproduced"]["share"] is None
