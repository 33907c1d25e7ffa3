"""What was purged stays away, whatever comes late; what is added again comes back."""

import os
import threading
from functools import partial

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.store.evidence import group_tests
from app.db.store.evidence.group_tests import SuiteRequest
from app.db.store.issues import evaluations, purge, webhook_state
from app.db.store.queue import jobs as queue
from app.db.tables.schema import (
    deliveries,
    forgotten,
    installations,
    repositories,
)
from app.db.tables.schema import evaluations as evaluation_table
from app.github.errors import GitHubDown, Unauthorized
from app.jobs.job import (
    OF_THE_APP,
    ForgetCheckout,
    Planned,
    PurgeData,
    RefreshConfig,
    TidyCheckouts,
)
from tests.builders.github import webhook_payloads
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.history.stored_verdict import INSTALLATION, REPOSITORY, settle
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import RESULTS
from tests.worker.outcomes.test_record_event import RECORD, merge, store
from worker.queue.errors import Postponed
from worker.repositories.forget import forget_checkout, purge_data, tidy_checkouts

pytestmark = pytest.mark.services

ACCOUNT = {"id": INSTALLATION, "account": webhook_payloads.account("octo")}
LISTED = [{"id": REPOSITORY, "full_name": "octo/cat"}]


@pytest.fixture
def server():
    """A GitHub that says the repository was taken out."""
    with LocalGitHub().running() as running:
        running.token_refusal = Reply(422)
        yield running


@pytest.fixture
def purge_known(database, server):
    """Purges an installation, or one repository of it, of which something was known."""
    with transaction(database) as connection:
        settle(connection)
    with connect(server.url) as github:
        handler = partial(purge_data, github)
        yield lambda number: carry_out(database, handler, PurgeData(INSTALLATION, number))


def list_stored(database):
    with transaction(database) as connection:
        tables = (installations.c.id, repositories.c.id, deliveries.c.guid)
        return [sorted(connection.scalars(select(column))) for column in tables]


def store_addition(database):
    both = {"repositories_added": LISTED, "repositories_removed": []}
    about = {"action": "added", "installation": ACCOUNT} | both
    return store(database, "added", "installation_repositories", **about)


@pytest.mark.parametrize("event", ["pull_request", "created", "suspend"])
def test_nothing_that_comes_late_brings_an_installation_back(database, purge_known, event):
    purge_known(None)
    if event == "pull_request":
        late = merge(database)
    else:
        about = {"action": event, "installation": ACCOUNT, "repositories": LISTED}
        late = store(database, "late", "installation", **about)
    carry_out(database, RECORD, late)
    assert list_stored(database) == [[], [], []]
    assert waiting(database) == [ForgetCheckout(INSTALLATION, REPOSITORY)]


def test_nothing_that_comes_late_brings_a_repository_back(database, purge_known):
    purge_known(REPOSITORY)
    carry_out(database, RECORD, merge(database))
    assert list_stored(database) == [[INSTALLATION], [], []]
    about = {"action": "created", "installation": ACCOUNT, "repositories": LISTED}
    carry_out(database, RECORD, store(database, "late", "installation", **about))
    assert list_stored(database)[1] == []


def test_a_repository_that_is_added_again_is_known_again(database, purge_known):
    purge_known(REPOSITORY)
    carry_out(database, RECORD, store_addition(database))
    carry_out(database, RECORD, merge(database))
    assert list_stored(database)[1] == [REPOSITORY]
    assert RefreshConfig(INSTALLATION, REPOSITORY) in waiting(database)


def test_a_removal_that_is_told_after_the_repository_was_added_again_forgets_nothing(
    database, purge_known, server
):
    server.token_refusal = None
    before = list_stored(database)
    purge_known(REPOSITORY)
    carry_out(database, RECORD, merge(database))
    assert list_stored(database)[:2] == before[:2] == [[INSTALLATION], [REPOSITORY]]


@pytest.mark.parametrize(
    ("answer", "error"),
    [(Reply(403), Postponed), (Reply(502), GitHubDown), (Reply(401), Unauthorized)],
)
def test_while_github_does_not_say_whether_a_repository_was_taken_out_nothing_is_forgotten(
    database, purge_known, server, answer, error
):
    server.token_refusal = answer
    before = list_stored(database)
    with pytest.raises(error):
        purge_known(REPOSITORY)
    assert list_stored(database) == before


def test_a_purge_that_waits_is_taken_back_when_the_repository_is_added_again(database):
    with transaction(database) as connection:
        settle(connection)
        queue.enqueue(connection, [Planned(PurgeData(INSTALLATION, REPOSITORY))])
    carry_out(database, RECORD, store_addition(database))
    assert waiting(database) == [RefreshConfig(INSTALLATION, REPOSITORY)]


def test_a_purge_waits_for_who_records_and_who_records_then_finds_the_stone(database, purge_known):
    late = merge(database)
    with transaction(database) as recording:
        assert webhook_state.load_delivery(recording, late.delivery) is not None
        purging = threading.Thread(target=purge_known, args=[None])
        purging.start()
        purging.join(0.3)
        assert purging.is_alive()
        assert not purge.is_forgotten(recording, INSTALLATION, None)
    purging.join(10)
    with transaction(database) as connection:
        assert connection.scalars(select(forgotten.c.repository_id)).all() == [0]
    carry_out(database, RECORD, late)
    assert list_stored(database) == [[], [], []]


def test_a_tree_waits_for_its_tests_one_day(database):
    with transaction(database) as connection:
        group = settle(connection)
        evaluation = evaluations.find_newest(connection, group, "published").id
        group_tests.request(connection, evaluation, SuiteRequest("pytest", "py311", 60))
        group_tests.start(connection, evaluation)
        assert group_tests.find_awaited(connection, [evaluation]) == {evaluation}
        connection.exec_driver_sql("update group_tests set started_at = now() - interval '2 days'")
        assert group_tests.find_awaited(connection, [evaluation]) == frozenset()


@pytest.mark.parametrize(
    ("clean", "job"),
    [
        (tidy_checkouts, TidyCheckouts(OF_THE_APP)),
        (forget_checkout, ForgetCheckout(INSTALLATION, REPOSITORY)),
    ],
    ids=["tidy_checkouts", "forget_checkout"],
)
def test_a_tree_waits_until_its_group_is_judged(database, scene, clean, job):
    scene.begin(*RESULTS)
    carry_out(database, scene.collecting(reads_code=True), scene.want_evaluation())
    (verify,) = waiting(database)
    handler = partial(clean, scene.checkouts, scene.trees, scene.suite_trees)
    for state, is_kept in (("collected", True), ("verified", False)):
        with transaction(database) as connection:
            connection.execute(evaluation_table.update().values(state=state))
        os.utime(scene.trees.find(verify.evaluation), (0, 0))
        carry_out(database, handler, job)
        assert (scene.trees.find(verify.evaluation) is not None) is is_kept
