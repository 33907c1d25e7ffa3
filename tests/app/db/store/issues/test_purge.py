from datetime import UTC, datetime

import pytest
from sqlalchemy import event, insert, select

from app.db.session import transaction
from app.db.store.issues import purge, webhook_state
from app.db.store.models import calibrators
from app.db.store.outcomes import outcome_events, outcomes
from app.db.store.queue import installation_controls
from app.db.store.queue.jobs import ClaimedJob, Fenced, fence
from app.db.tables.schema import (
    deliveries,
    etags,
    forgotten,
    installations,
    jobs,
    metadata,
    patches,
    purged_usage,
    write_limits,
)
from app.events.event import GHOST, InstallationAction, InstallationEvent, InstalledRepository
from app.jobs.job import ProposePatches
from app.values.identifiers import EvaluationId, RepositoryId
from tests.app.db.store.models.test_calibrators import build_calibrator
from tests.app.db.store.outcomes.test_outcomes import build_merge
from tests.builders.history.stored_verdict import (
    FIRST,
    INSTALLATION,
    ISSUE,
    REPOSITORY,
    count,
    settle,
)
from tests.builders.queue_rows import insert_delivery

pytestmark = pytest.mark.services


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        settle(connection)
        outcome_events.append(connection, REPOSITORY, [build_merge(FIRST)])
        outcomes.rederive(connection, REPOSITORY, [FIRST])
        about = {"installation_id": INSTALLATION, "repository_id": REPOSITORY}
        insert_delivery(connection, b"{}", guid="g", event="push", **about)
        for state in ("ready", "running", "dead"):
            job = {"kind": "locate_issues", "queue": "github", "payload": {}, "state": state}
            connection.execute(insert(jobs).values(**job, **about))
        purging = {"kind": "purge_data", "queue": "events", "payload": {}, "state": "running"}
        connection.execute(insert(jobs).values(**purging, **about))
        for path in ("/repos/octo/cat/pulls", "/repos/octo/cats/pulls"):
            kept = {"path": path, "etag": "e", "body": b""}
            connection.execute(insert(etags).values(installation_id=INSTALLATION, **kept))
        connection.execute(insert(write_limits).values(installation_id=INSTALLATION, state={}))
        calibrators.save(connection, build_calibrator(INSTALLATION))
        yield connection


def list_filled_tables(connection):
    """Tables with rows, less the numbers of what was forgotten and of what it used."""
    tables = set(metadata.sorted_tables) - {forgotten, purged_usage}
    return {table.name for table in tables if count(connection, table)}


def test_nothing_of_an_installation_is_left_but_the_job_that_purges_it(connection):
    for _ in range(2):
        purge.purge(connection, INSTALLATION, None)
        assert list_filled_tables(connection) == {"jobs"}
        assert connection.execute(select(jobs.c.kind)).scalars().all() == ["purge_data"]


def install(connection, installation, account_id):
    """Apply the event of an App that somebody installs on the repository."""
    listed = (InstalledRepository(REPOSITORY, "octo/cat"),)
    created = InstallationEvent(
        *("guid", installation, "octo", account_id, GHOST, InstallationAction.CREATED, listed)
    )
    assert webhook_state.apply_event(connection, created, datetime.now(UTC))


def test_an_account_that_installs_the_app_again_keeps_its_pause_limits_and_usage(connection):
    install(connection, INSTALLATION, 5)
    installation_controls.pause(connection, INSTALLATION)
    installation_controls.set_limits(connection, INSTALLATION, {"max_votes": 2})
    before = installation_controls.read_daily_usage(connection, REPOSITORY)
    purge.purge(connection, INSTALLATION, None)
    install(connection, INSTALLATION + 1, 5)
    assert installation_controls.find_pause(connection, INSTALLATION + 1) is not None
    assert installation_controls.read_limits(connection, INSTALLATION + 1) == {"max_votes": 2}
    assert installation_controls.read_daily_usage(connection, REPOSITORY) == before
    assert before.installation_evaluations > 0


def test_another_account_inherits_nothing(connection):
    install(connection, INSTALLATION, 5)
    installation_controls.pause(connection, INSTALLATION)
    purge.purge(connection, INSTALLATION, None)
    install(connection, INSTALLATION + 1, 6)
    assert installation_controls.find_pause(connection, INSTALLATION + 1) is None


def test_a_repository_that_is_added_again_has_used_the_same(connection):
    install(connection, INSTALLATION, 5)
    before = installation_controls.read_daily_usage(connection, REPOSITORY)
    for _ in range(2):
        purge.purge(connection, INSTALLATION, REPOSITORY)
        purge.restore(connection, INSTALLATION, [REPOSITORY])
        install(connection, INSTALLATION, 5)
        assert installation_controls.read_daily_usage(connection, REPOSITORY) == before


def test_a_repository_goes_and_its_installation_stays(connection):
    for _ in range(2):
        purge.purge(connection, INSTALLATION, REPOSITORY)
        assert list_filled_tables(connection) == {
            *("installations", "jobs", "etags", "write_limits", "calibrators")
        }
        assert connection.execute(select(etags.c.path)).scalar_one() == "/repos/octo/cats/pulls"


@pytest.mark.parametrize("number", [None, REPOSITORY])
def test_a_delivery_that_comes_meanwhile_keeps_its_job(database, number):
    about = {"installation_id": INSTALLATION, "repository_id": REPOSITORY}
    job = {"kind": "record_event", "queue": "events", "payload": {}, "state": "ready"}

    def deliver(*_statement):
        guid = f"after statement {len(came)}"
        came.append(guid)
        with database.begin() as other:
            insert_delivery(other, b"{}", guid=guid, event="push", **about)
            other.execute(insert(jobs).values(delivery_guid=guid, **job, **about))

    came = []
    with transaction(database) as connection:
        settle(connection)
    with transaction(database) as connection:
        event.listen(connection, "after_cursor_execute", deliver)
        purge.purge(connection, INSTALLATION, number)
    with transaction(database) as connection:
        waiting = set(connection.scalars(select(jobs.c.delivery_guid)))
        assert set(connection.scalars(select(deliveries.c.guid))) <= waiting
        assert came[-1] in waiting


@pytest.mark.parametrize("number", [None, REPOSITORY])
def test_an_agent_at_work_on_it_loses_its_job(connection, number):
    work = ProposePatches(INSTALLATION, REPOSITORY, ISSUE, EvaluationId(1))
    row = {"kind": work.kind, "queue": work.queue.value, "payload": work.to_payload()}
    about = {"installation_id": INSTALLATION, "repository_id": REPOSITORY, "state": "running"}
    job = connection.scalar(insert(jobs).values(**row, **about, token=1).returning(jobs.c.id))
    claimed = ClaimedJob(work, job, 1, 1, None)
    fence(connection, claimed)
    purge.purge(connection, INSTALLATION, number)
    with pytest.raises(Fenced):
        fence(connection, claimed)


def test_a_purge_leaves_the_data_of_others(connection):
    before = {table: count(connection, table) for table in metadata.sorted_tables}
    before[forgotten] = 2
    purge.purge(connection, 8, None)
    purge.purge(connection, INSTALLATION, RepositoryId(71))
    assert {table: count(connection, table) for table in metadata.sorted_tables} == before


def test_a_patch_that_another_repository_has_too_stays(connection):
    assert count(connection, patches) == 2
    connection.execute(insert(installations).values(id=8, account="other"))
    other = {"installation_id": 8, "full_name": "other/fork"}
    tables = metadata.tables
    connection.execute(insert(tables["repositories"]).values(id=80, **other))
    shas = {"head_sha": "a" * 40, "base_sha": "b" * 40}
    connection.execute(insert(tables["pull_requests"]).values(repository_id=80, number=1, **shas))
    sha = connection.execute(select(patches.c.sha256).order_by(patches.c.sha256)).scalars().first()
    connection.execute(
        insert(tables["candidates"]).values(
            repository_id=80, pull_number=1, patch_sha256=sha, **shas
        )
    )
    purge.purge(connection, INSTALLATION, None)
    assert connection.execute(select(patches.c.sha256)).scalars().all() == [sha]


def test_a_forgotten_repository_is_unwelcome_until_it_is_added_again(connection):
    assert not purge.is_forgotten(connection, INSTALLATION, REPOSITORY)
    purge.purge(connection, INSTALLATION, REPOSITORY)
    assert purge.is_forgotten(connection, INSTALLATION, REPOSITORY)
    assert not purge.is_forgotten(connection, INSTALLATION, RepositoryId(71))
    purge.restore(connection, INSTALLATION, [REPOSITORY])
    assert not purge.is_forgotten(connection, INSTALLATION, REPOSITORY)


def test_a_forgotten_installation_stays_forgotten_with_all_its_repositories(connection):
    purge.purge(connection, INSTALLATION, None)
    purge.restore(connection, INSTALLATION, [REPOSITORY])
    assert purge.is_forgotten(connection, INSTALLATION, REPOSITORY)
    assert purge.is_forgotten(connection, INSTALLATION, None)


def test_rows_written_after_a_purge_are_pruned(connection):
    purge.purge(connection, INSTALLATION, None)
    connection.execute(insert(write_limits).values(installation_id=INSTALLATION, state={}))
    late = {"path": "/repos/octo/cat/pulls", "etag": "e", "body": b""}
    connection.execute(insert(etags).values(installation_id=INSTALLATION, **late))
    purge.prune(connection)
    assert list_filled_tables(connection) == {"jobs"}


def test_pruning_leaves_known_installations_alone(connection):
    before = list_filled_tables(connection)
    purge.prune(connection)
    assert list_filled_tables(connection) == before
