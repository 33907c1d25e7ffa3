"""The setup pull request is opened once for ever, and what keeps it from being opened is one line in the log."""

from dataclasses import replace

import pytest

from app.comments import ONBOARDING_TITLE, write_onboarding_file
from app.db.store.queue.effects import build_onboarding_key, find_github_id
from app.github.api.effect_store import EffectKey
from app.jobs.onboarding_jobs import OpenOnboarding
from app.policy.onboarding_policy import BRANCH
from app.settings.repo_config import FILE
from app.values.identifiers import RepositoryRef
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, area, save_repository
from tests.worker.publishing.conftest import RIGHTS
from worker.publishing.open_onboarding import OpenOnboardingHandler

pytestmark = pytest.mark.services


@pytest.fixture
def onboarding(opening):
    """The handler, as the second App."""
    return OpenOnboardingHandler(opening.github, opening.web)


@pytest.fixture
def new_repository(scene, writer):
    """`new_repository()`: a repository without settings, with both Apps on it; the job that asks there."""

    def begin(*, rights=RIGHTS, config=None):
        scene.begin(config=config)
        if rights:
            scene.standin.install(writer, [scene.repo], rights)
        return OpenOnboarding(scene.installation, scene.id)

    return begin


def list_pulls(scene):
    return scene.standin.list_pulls(scene.repo)


def load_number(scene, database):
    ref = RepositoryRef(scene.installation, scene.id, scene.repo.full_name)
    return find_github_id(database, EffectKey(ref, build_onboarding_key()))


def test_the_setup_pull_request_is_opened_once_whatever_dies(
    twice, scene, onboarding, new_repository
):
    def observe(database):
        (pull,) = list_pulls(scene)
        text = scene.repo.issue(pull.number)
        assert load_number(scene, database) == pull.number
        return (pull.draft, pull.head_ref, pull.base_ref, text.title, waiting(database))

    left = twice(onboarding, lambda _database: new_repository(), observe)
    assert left == (False, BRANCH, "main", ONBOARDING_TITLE, [])


def test_it_adds_the_settings_file_and_nothing_else(scene, onboarding, database, new_repository):
    carry_out(database, onboarding, new_repository())
    (pull,) = list_pulls(scene)
    scene.repo.merge(pull.number)
    assert scene.repo.read_file(FILE, "main").decode() == write_onboarding_file()
    assert scene.repo.read_file("area.py", "main").decode() == area("w + h")["area.py"]


def test_a_closed_one_is_remembered_even_after_a_purge(scene, onboarding, database, new_repository):
    job = new_repository()
    carry_out(database, onboarding, job)
    (pull,) = list_pulls(scene)
    scene.repo.close(pull.number)
    scene.repo.commit(area("w"), branch=BRANCH)
    with database.begin() as connection:
        connection.exec_driver_sql("truncate installations, jobs cascade")
    save_repository(database, scene.installation, scene.repo)
    carry_out(database, onboarding, job)
    assert [one.number for one in list_pulls(scene)] == [pull.number]
    assert load_number(scene, database) == pull.number


@pytest.mark.parametrize(
    ("arrangement", "line"),
    [
        ({"rights": None}, "the writer App is not installed there ("),
        ({"rights": {"metadata": "read"}}, "the writer App may not write there ("),
        (
            {"rights": {"contents": "write", "metadata": "read"}},
            "the writer App may not write there (",
        ),
        ({"config": CONFIG}, f"the repository has a file {FILE} meanwhile ("),
    ],
    ids=["not installed", "reads only", "no pull requests", "a file meanwhile"],
)
def test_what_is_missing_is_one_line_with_the_fix(
    scene, onboarding, database, new_repository, caplog, arrangement, line
):
    carry_out(database, onboarding, new_repository(**arrangement))
    assert list_pulls(scene) == []
    (record,) = (one for one in caplog.records if one.name == "worker.publishing.open_onboarding")
    assert f"{scene.repo.full_name}: no setup pull request: {line}" in record.getMessage()
    assert "; fix: " in record.getMessage()
    assert load_number(scene, database) is None


def test_a_branch_of_somebody_elses_stays_as_it_is(
    scene, onboarding, database, new_repository, caplog
):
    job = new_repository()
    head = scene.repo.commit(area("w"), branch=BRANCH)
    carry_out(database, onboarding, job)
    assert list_pulls(scene) == []
    assert scene.repo.commit(area("w * 2"), branch=BRANCH) != head
    assert f"delete the branch {BRANCH}" in caplog.text


def test_a_suspended_installation_is_not_asked(scene, onboarding, database, new_repository):
    job = new_repository()
    with database.begin() as connection:
        connection.exec_driver_sql("update installations set suspended_at = now()")
    carry_out(database, onboarding, job)
    assert list_pulls(scene) == []


def test_a_refusal_of_github_is_one_line(onboarding, database, new_repository, caplog):
    job = new_repository()
    with LocalGitHub().running() as server, connect(server.url) as github:
        server.replies = [Reply(403, {"message": "Resource not accessible"})]
        carry_out(database, replace(onboarding, github=github), job)
    assert "no setup pull request: the writer App may not write there (" in caplog.text
    assert "Resource not accessible" in caplog.text
