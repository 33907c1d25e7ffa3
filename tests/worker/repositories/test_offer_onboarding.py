"""A new repository without settings gets one setup pull request, and nothing else gets one."""

from functools import partial

import pytest

from app.jobs.onboarding_jobs import OfferOnboarding, OpenOnboarding
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG
from worker.repositories.offer_onboarding import offer_onboarding

pytestmark = pytest.mark.services


@pytest.fixture
def offering(scene):
    return partial(offer_onboarding, scene.github)


@pytest.fixture
def new_repository(scene):
    """`new_repository()`: a repository without settings; the job that looks at it."""

    def begin(config=None):
        scene.begin(config=config)
        return OfferOnboarding(scene.installation, scene.id)

    return begin


def test_the_pull_request_is_planned_once(twice, offering, new_repository):
    left = twice(
        offering,
        lambda _: new_repository(),
        lambda database: [type(job) for job in waiting(database)],
    )
    assert left == [OpenOnboarding]


@pytest.mark.parametrize(
    ("arrange", "why"),
    [
        (lambda scene: scene.repo.commit({".github/r4p.yml": CONFIG}), "it has a settings file"),
        (lambda scene: scene.standin.set_kind(scene.repo, is_archived=True), "it is archived"),
        (lambda scene: scene.standin.set_kind(scene.repo, is_fork=True), "it is a fork"),
    ],
    ids=["settings", "archived", "fork"],
)
def test_a_repository_with_an_obstacle_is_left_alone(
    scene, database, offering, new_repository, caplog, arrange, why
):
    caplog.set_level("INFO")
    job = new_repository()
    arrange(scene)
    carry_out(database, offering, job)
    assert waiting(database) == []
    assert f"{scene.repo.full_name}: no setup pull request: {why}" in caplog.text


@pytest.mark.parametrize(("config", "planned"), [(CONFIG, []), (None, [OpenOnboarding])])
def test_the_settings_of_the_organisation_are_read_from_github(
    scene, database, offering, new_repository, config, planned
):
    job = new_repository()
    owner = scene.repo.full_name.partition("/")[0]
    files = {"README": "x\n"} | ({} if config is None else {".github/r4p.yml": config})
    defaults = scene.standin.create_repository(f"{owner}/.github", files)
    scene.standin.add_repositories(scene.installation, [defaults])
    with database.begin() as connection:
        connection.exec_driver_sql(
            "insert into repositories (id, installation_id, full_name) values (%s, %s, %s)",
            (defaults.id, scene.installation, defaults.full_name),
        )
    carry_out(database, offering, job)
    assert [type(one) for one in waiting(database)] == planned


def test_a_repository_that_was_asked_is_not_asked_again(scene, database, offering, new_repository):
    job = new_repository()
    with database.begin() as connection:
        connection.exec_driver_sql(
            "insert into effects (repository_id, key, state, github_id, content, job_id, token)"
            " values (%s, 'onboarding', 'confirmed', 12, '', 1, 1)",
            (scene.id,),
        )
    carry_out(database, offering, job)
    assert waiting(database) == []


def test_a_repository_that_is_gone_is_left_alone(scene, database, offering, new_repository):
    job = new_repository()
    scene.standin.remove_repositories(scene.installation, [scene.repo])
    carry_out(database, offering, job)
    assert waiting(database) == []
