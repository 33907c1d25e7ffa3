import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from app.db.store.issues import webhook_state
from app.db.tables.schema import groups, installations, pull_requests, repositories
from app.events import parse
from tests.builders.github import webhook_payloads
from tests.builders.history.stored_verdict import FIRST, ISSUE, settle
from tests.builders.queue_rows import insert_delivery

pytestmark = pytest.mark.services
RECEIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)  # after the rows were made
NEWER, OLDER = NOW + timedelta(hours=1), NOW - timedelta(hours=1)


def reflect(connection, event, received_at=RECEIVED, **payload):
    body = json.dumps(webhook_payloads.envelope(**payload)).encode()
    webhook_state.apply_event(connection, parse(event, "guid", body), received_at)


def apply_pull(connection, action, changed_at, **fields):
    told = webhook_payloads.pull(updated_at=changed_at.isoformat(), **fields)
    reflect(connection, "pull_request", action=action, number=FIRST, pull_request=told)
    return connection.execute(select(pull_requests).where(pull_requests.c.number == FIRST)).one()


def test_a_merge_is_for_good_however_late_it_is_told(connection):
    settle(connection)
    row = apply_pull(connection, "closed", OLDER, merged=True, merge_commit_sha="c" * 40)
    assert row.state == "merged"
    assert apply_pull(connection, "reopened", NEWER).state == "merged"


@pytest.mark.parametrize(("time", "state"), [(NEWER, "closed"), (NOW, "closed"), (OLDER, "open")])
def test_a_closing_counts_unless_we_know_better_since(connection, time, state):
    settle(connection)
    apply_pull(connection, "reopened", NOW)
    assert apply_pull(connection, "closed", time).state == state


def test_reopening_counts_when_it_is_newer(connection):
    settle(connection)
    apply_pull(connection, "closed", NEWER)
    assert apply_pull(connection, "reopened", NOW).state == "closed"
    assert apply_pull(connection, "reopened", NEWER).state == "open"


def test_a_push_moves_no_head_here_since_github_is_asked_for_it(connection):
    settle(connection)
    stored = select(pull_requests).order_by(pull_requests.c.number)
    before = connection.execute(stored).all()
    apply_pull(connection, "synchronize", NEWER)
    assert connection.execute(stored).all() == before


@pytest.mark.parametrize(
    ("action", "state"),
    [("closed", "closed"), ("deleted", "closed"), ("transferred", "closed"), ("edited", "open")],
)
def test_an_issues_group_is_open_or_closed_with_it(connection, action, state):
    settle(connection)
    for at in (NEWER, OLDER):
        told = webhook_payloads.issue(number=ISSUE, updated_at=at.isoformat())
        reflect(connection, "issues", action=action if at == NEWER else "reopened", issue=told)
    assert connection.execute(select(groups.c.state)).scalar_one() == state


def test_any_event_makes_its_repository_known_and_follows_a_rename(connection):
    for name in ("octo/cat", "octo/dog"):
        repository = {"id": 70, "full_name": name, "default_branch": "main"}
        reflect(
            connection,
            "pull_request",
            action="opened",
            number=1,
            pull_request=webhook_payloads.pull(),
            repository=repository,
        )
    row = connection.execute(select(repositories)).one()
    assert (row.full_name, row.default_branch, row.installation_id) == ("octo/dog", "main", 7)


def installation(connection, action, **payload):
    account = {"id": 7, "account": webhook_payloads.account("octo")}
    reflect(connection, "installation", action=action, installation=account, **payload)
    return connection.execute(select(installations)).one_or_none()


def test_an_installation_is_known_suspended_and_resumed(connection):
    listed = [{"id": 70, "full_name": "octo/cat"}, {"id": 71, "full_name": "octo/dog"}]
    assert installation(connection, "created", repositories=listed).account == "octo"
    assert len(connection.execute(select(repositories)).all()) == 2
    assert installation(connection, "suspend").suspended_at == RECEIVED
    assert installation(connection, "new_permissions_accepted").suspended_at == RECEIVED
    assert installation(connection, "unsuspend").suspended_at is None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "swapped"])
def test_the_newest_of_suspend_and_unsuspend_counts_in_either_order(connection, order):
    installation(connection, "created")
    changes = [("suspend", RECEIVED), ("unsuspend", RECEIVED + timedelta(seconds=1))]
    for place in order:
        action, arrival = changes[place]
        row = installation(connection, action, received_at=arrival)
    assert (row.suspended_at, row.resumed_at) == (None, changes[1][1])
    again = RECEIVED + timedelta(minutes=1)
    assert installation(connection, "suspend", received_at=again).suspended_at == again
    assert installation(connection, "unsuspend", received_at=RECEIVED).suspended_at == again


def test_a_suspension_that_github_sends_again_counts_from_its_own_time(connection):
    installation(connection, "unsuspend", received_at=RECEIVED)
    lost = {"id": 7, "account": webhook_payloads.account("octo")}
    for minutes, suspended_at in ((-5, None), (5, RECEIVED + timedelta(minutes=5))):
        lost["suspended_at"] = (RECEIVED + timedelta(minutes=minutes)).isoformat()
        late = RECEIVED + timedelta(hours=1)
        reflect(connection, "installation", late, action="suspend", installation=lost)
        row = connection.execute(select(installations)).one()
        assert row.suspended_at == suspended_at


def test_a_removed_installation_is_not_made_known_again(connection):
    assert installation(connection, "deleted") is None


def test_repositories_added_to_an_installation_are_known(connection):
    account = {"id": 7, "account": webhook_payloads.account("octo")}
    added = [{"id": 72, "full_name": "octo/new"}]
    reflect(
        connection,
        "installation_repositories",
        action="added",
        installation=account,
        repositories_added=added,
        repositories_removed=[],
    )
    assert connection.execute(select(repositories.c.full_name)).scalar_one() == "octo/new"


def test_a_delivery_is_read_as_it_came_and_a_purged_one_is_none(connection):
    insert_delivery(connection, b"\x00{}", guid="g", event="push", received_at=RECEIVED)
    assert webhook_state.load_delivery(connection, "g") == webhook_state.StoredDelivery(
        "push", b"\x00{}", RECEIVED
    )
    assert webhook_state.load_delivery(connection, "gone") is None
