"""A patch that could not be read is read again, unless that can only fail in the same way."""

import subprocess

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.tables.schema import candidates, pull_requests
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import RESULTS, area
from worker.git.checkout import Checkouts
from worker.git.hardened_git import GitLimits
from worker.git.patches import Refusal

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin(*RESULTS)
    return scene


def list_unreadable(scene, caps=GitLimits()):  # noqa: B008  # frozen
    """Looks at the issue once; the pull requests whose patch is not known then."""
    checkouts = Checkouts(scene.directory, scene.checkouts.github, caps)
    handler = scene.collecting(checkouts=checkouts)
    carry_out(scene.database, handler, scene.want_evaluation())
    found = select(candidates.c.pull_number).where(candidates.c.unreadable.is_not(None))
    with transaction(scene.database) as connection:
        return list(connection.scalars(found.order_by(candidates.c.pull_number)))


@pytest.fixture
def git(scene, standin_folder):
    """`git(*command)`: a git command in the repository that the stand-in serves."""
    (directory,) = standin_folder.rglob(f"{scene.repo.full_name}.git")

    def run(*command):
        subprocess.run(["git", "-C", directory, *command], check=True)

    return run


def test_a_patch_that_github_did_not_give_is_asked_for_again(scene, git):
    first = scene.pulls[0]
    git("update-ref", "-d", f"refs/pull/{first}/head")
    assert list_unreadable(scene) == [first]
    git("update-ref", f"refs/pull/{first}/head", scene.repo.pull(first).head_sha)
    assert list_unreadable(scene) == []


def test_collecting_stores_the_author_of_a_pull_request(scene):
    list_unreadable(scene)
    with transaction(scene.database) as connection:
        rows = connection.execute(select(pull_requests))
        authors = {row.number: row.author for row in rows}
    assert authors == dict.fromkeys(scene.pulls, "contributor")


def test_a_patch_that_is_too_big_stays_so(scene):
    assert list_unreadable(scene, GitLimits(files=0)) == scene.pulls
    assert list_unreadable(scene) == scene.pulls


def test_a_config_check_without_a_free_write_does_not_delay_the_verdict(scene):
    broken = area("w") | {".github/r4p.yml": "mode: loud"}
    pull = scene.repo.open_pr("Fix", f"Fixes #{scene.issue}", files=broken).number
    scene.use_up_replies()
    scene.collect()
    planned = waiting(scene.database)
    assert sorted(job.kind for job in planned) == ["locate_issues", "verify_group"]
    assert scene.repo.check_runs(pull) == []


def test_only_size_and_a_history_of_its_own_are_facts_about_a_patch():
    assert [one for one in Refusal if not one.is_transient] == [Refusal.TOO_BIG, Refusal.UNRELATED]
