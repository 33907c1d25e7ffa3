"""Two real issues of Django become tasks, and the tests agree with the benchmark about agents' patches.

Needs the large data (R4P_DATA), and in it `sdists/Django-5.0a1.tar.gz`.
"""

import pytest

from model.environments.build import build_environment
from training.commands.import_swebench import RECIPE, REPOSITORY
from training.gym.swebench.benchmark_issue import read_issues
from training.gym.swebench.import_report import build_report
from training.gym.swebench.importing import ImportPlan, measure_issues
from training.gym.swebench.release import unpack_releases

ISSUES = ("django__django-17084", "django__django-17087")


@pytest.fixture
def release(large_data, tmp_path):
    sources = large_data / "sdists"
    if not (sources / "Django-5.0a1.tar.gz").is_file():
        pytest.skip(f"{sources} has no Django-5.0a1.tar.gz; download it with pip")
    releases = unpack_releases(sources, tmp_path / "releases")
    return next(release for release in releases if release.version == "5.0a1")


@pytest.mark.proof
def test_the_tests_agree_with_the_benchmark(bubblewrap, large_data, release, tmp_path):
    files = (large_data / f"swebench_{name}.jsonl.gz" for name in ("instances", "patches"))
    issues = [issue for issue in read_issues(*files, REPOSITORY) if issue.id in ISSUES]
    environment = build_environment(RECIPE, tmp_path / "environments")
    plan = ImportPlan((release,), environment.python, tmp_path / "progress", repeats=2)
    records = measure_issues(issues, plan)
    report = build_report(records)
    assert [record.refusal for record in records] == [None, None]
    assert report["patches"]["run"] >= 10
    assert report["labels_reproduced"]["share"] == 1.0
    assert report["repeats_that_agree"]["share"] == 1.0
    assert report["wrong_that_break_a_test"]["count"] >= 2
    assert report["right_that_break_a_test"]["count"] == 0
