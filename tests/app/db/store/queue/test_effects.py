"""A write to GitHub belongs to its repository, whatever another repository names its writes."""

import pytest
from sqlalchemy import insert

from app.db.store.queue import jobs
from app.db.store.queue.effects import PostgresEffects, build_config_check_key, find_github_id
from app.db.tables.schema import installations, repositories
from app.github.api.effect_store import EffectKey
from app.jobs.job import LocateIssues
from app.values.identifiers import (
    CommitSha,
    InstallationId,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)
from tests.builders.queue_rows import LEASE, put

pytestmark = pytest.mark.services


def open_effects(database, number):
    """A tenant with one repository, and the writes of a job about its pull request 12."""
    place = RepositoryRef(InstallationId(number), RepositoryId(number), f"octo/area-{number}")
    with database.begin() as connection:
        connection.execute(insert(installations).values(id=number, account=f"octo-{number}"))
        columns = {"id": number, "installation_id": number, "full_name": place.full_name}
        connection.execute(insert(repositories).values(columns))
    (job,) = put(database, LocateIssues(place.installation, place.id, PullNumber(12)))
    effects = PostgresEffects(database, jobs.claim(database, job.id, LEASE))
    return effects, EffectKey(place, build_config_check_key(PullNumber(12), CommitSha("a" * 40)))


def test_a_fork_with_the_same_pull_number_and_head_hides_no_check_of_another_repository(database):
    fork, key_of_fork = open_effects(database, 8)
    assert fork.plan(key_of_fork, "their check") is None
    assert fork.confirm(key_of_fork, 501)
    victim, key = open_effects(database, 7)
    assert victim.load(key) is None
    assert victim.plan(key, "our check") is None
    assert victim.confirm(key, 502)
    victim.mark_ambiguous(key, None)
    assert find_github_id(database, key_of_fork) == 501
    assert fork.load(key_of_fork).content == "their check"
