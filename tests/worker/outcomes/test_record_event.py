from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import delete, select, update

from app.db.session import transaction
from app.db.tables.schema import (
    delivery_bodies,
    job_causes,
    jobs,
    metadata,
    outcome_events,
    repositories,
)
from app.db.tables.schema import outcomes as outcomes_table
from app.jobs.job import EvaluateIssue, ForgetCheckout, PurgeData, RecordEvent
from app.jobs.onboarding_jobs import OfferOnboarding
from app.jobs.outcome_jobs import CheckClaims, MeasureSurvival, ResolvePermission
from tests.builders.github import webhook_payloads
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.history import stored_outcomes
from tests.builders.history.stored_verdict import (
    FIRST,
    INSTALLATION,
    ISSUE,
    REPOSITORY,
    SECOND,
    count,
    head_of,
    settle,
)
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.queue_rows import insert_delivery
from worker.outcomes.record_event import RecordEventHandler
from worker.repositories.forget import purge_data

pytestmark = pytest.mark.services

RECORD = RecordEventHandler(
    own_app=99, mention="r4p-bot", host="github.com", day_seconds=60.0, least_quiet_seconds=5.0
)
MERGED_AT = "2026-03-02T10:00:00Z"


@pytest.fixture
def group(database):
    with transaction(database) as connection:
        return settle(connection)


@pytest.fixture
def github_without_repository():
    """A GitHub that says the repository was taken out."""
    with LocalGitHub().running() as server, connect(server.url) as github:
        server.token_refusal = Reply(422)
        yield github


def store(database, guid, event, **payload):
    body = webhook_payloads.encode(webhook_payloads.envelope(**payload))
    with transaction(database) as connection:
        about = {"installation_id": INSTALLATION, "repository_id": REPOSITORY}
        insert_delivery(connection, body, guid=guid, event=event, **about)
    return RecordEvent(INSTALLATION, guid)


def pull(database, guid, action, number=FIRST, **fields):
    told = webhook_payloads.pull(number=number, updated_at=MERGED_AT, **fields)
    return store(database, guid, "pull_request", action=action, number=number, pull_request=told)


def merge(database, guid="g1", number=FIRST):
    return pull(database, guid, "closed", number, merged=True, merge_commit_sha="e" * 40)


def list_outcomes(database, group):
    with transaction(database) as connection:
        rows = stored_outcomes.list_rows(connection, group)
    return [(row.pull, str(row.kind), row.reason) for row in rows]


def contents(database):
    """Every row but the queue's, in an order of its own: updates move rows."""
    with transaction(database) as connection:
        return {
            table.name: sorted(connection.execute(select(table)).all(), key=repr)
            for table in metadata.sorted_tables
            if table not in {jobs, job_causes}
        }


def test_a_merge_becomes_an_outcome_and_the_jobs_that_follow(database, group):
    carry_out(database, RECORD, merge(database))
    assert list_outcomes(database, group) == [(FIRST, "merged_after_changes", "head_moved")]
    assert waiting(database) == [
        ResolvePermission(INSTALLATION, REPOSITORY, "mona"),
        *(MeasureSurvival(INSTALLATION, REPOSITORY, FIRST, days) for days in (7, 30, 90)),
        EvaluateIssue(INSTALLATION, REPOSITORY, ISSUE, "pull_request"),
    ]


def test_survival_is_measured_in_days_of_the_configured_length(database, group):
    carry_out(database, RECORD, merge(database))
    with transaction(database) as connection:
        query = select(jobs.c.run_after - jobs.c.created_at).where(
            jobs.c.kind == MeasureSurvival.kind
        )
        delays = sorted(connection.execute(query.order_by(jobs.c.run_after)).scalars())
    assert delays == [timedelta(seconds=60 * days) for days in (7, 30, 90)]


def test_recording_a_delivery_twice_gives_the_same_rows(database, group):
    job = merge(database)
    carry_out(database, RECORD, job)
    before = contents(database), waiting(database)
    carry_out(database, RECORD, job)
    assert (contents(database), waiting(database)) == before


def test_deliveries_in_any_order_give_the_same_outcomes(database, group):
    for job in (pull(database, "g2", "closed", SECOND), merge(database)):
        carry_out(database, RECORD, job)
    assert list_outcomes(database, group) == [
        (FIRST, "merged_after_changes", "head_moved"),
        (SECOND, "closed", "superseded"),
    ]


def test_an_ignored_or_purged_delivery_leaves_no_trace(database, group):
    before = contents(database)
    carry_out(database, RECORD, RecordEvent(INSTALLATION, "never stored"))
    assert contents(database) == before
    carry_out(database, RECORD, store(database, "g3", "star", action="created"))
    after = contents(database)
    assert {name for name in after if after[name] != before[name]} == {
        "deliveries",
        "delivery_bodies",
    }
    assert waiting(database) == []


def test_job_of_a_delivery_without_its_body_ends_and_changes_nothing(database, group):
    job = merge(database)
    with transaction(database) as connection:
        connection.execute(delete(delivery_bodies))
    before = contents(database)
    carry_out(database, RECORD, job)
    assert (contents(database), waiting(database)) == (before, [])


def test_the_right_of_bots_is_not_asked_for(database, group):
    stale = webhook_payloads.account("stale[bot]", 9, "Bot")
    told = webhook_payloads.pull(updated_at=MERGED_AT)
    job = store(
        database,
        "g4",
        "pull_request",
        action="closed",
        number=FIRST,
        pull_request=told,
        sender=stale,
    )
    carry_out(database, RECORD, job)
    assert [type(job) for job in waiting(database)] == [EvaluateIssue]


@pytest.mark.parametrize(
    ("config", "quiet"),
    [
        ("version: 1\nquiet_minutes: 2", 120),
        ("version: 1\nquiet_minutes: 0", 5),
        ("nonsense", 600),
        (None, 600),
    ],
    ids=["configured", "never less than the burst", "unreadable", "none"],
)
def test_an_issue_is_looked_at_again_after_the_configured_quiet(database, group, config, quiet):
    with transaction(database) as connection:
        connection.execute(update(repositories).values(config_text=config))
    carry_out(database, RECORD, pull(database, "g5", "synchronize", before="a" * 40))
    with transaction(database) as connection:
        (delay,) = connection.execute(
            select(jobs.c.run_after - jobs.c.created_at).where(jobs.c.kind == EvaluateIssue.kind)
        ).scalars()
    assert delay == timedelta(seconds=quiet)


def test_an_installation_is_known_before_any_repository_is_looked_at(database):
    account = {"id": INSTALLATION, "account": webhook_payloads.account("octo")}
    listed = [{"id": REPOSITORY, "full_name": "octo/cat"}]
    job = store(
        database, "g6", "installation", action="created", installation=account, repositories=listed
    )
    carry_out(database, RECORD, job)
    assert [row.full_name for row in contents(database)["repositories"]] == ["octo/cat"]


@pytest.mark.parametrize(("is_on", "offered"), [(False, []), (True, [REPOSITORY])])
def test_a_new_repository_is_offered_its_settings_if_the_operator_wants_that(
    database, is_on, offered
):
    account = {"id": INSTALLATION, "account": webhook_payloads.account("octo")}
    listed = [{"id": REPOSITORY, "full_name": "octo/cat"}]
    told = {"action": "created", "installation": account, "repositories": listed}
    job = store(database, "g6", "installation", **told)
    carry_out(database, replace(RECORD, has_onboarding=is_on), job)
    jobs_left = waiting(database)
    assert [job.repository for job in jobs_left if isinstance(job, OfferOnboarding)] == offered


def test_an_issues_own_event_leads_back_to_its_group(database, group):
    told = webhook_payloads.issue(number=ISSUE, updated_at=MERGED_AT, state_reason="not_planned")
    carry_out(database, RECORD, store(database, "g7", "issues", action="closed", issue=told))
    assert EvaluateIssue(INSTALLATION, REPOSITORY, ISSUE, "issue") in waiting(database)


def test_a_check_asked_for_again_leads_to_the_issues_of_the_pull_requests_at_its_head(
    database, group
):
    ours = {"id": RECORD.own_app, "slug": "r4p-bot"}
    check = webhook_payloads.check(head_sha=head_of(FIRST), conclusion=None, app=ours)
    carry_out(
        database, RECORD, store(database, "g8", "check_run", action="rerequested", check_run=check)
    )
    assert waiting(database) == [EvaluateIssue(INSTALLATION, REPOSITORY, ISSUE, "command")]


def test_a_purge_leaves_nothing_and_can_be_repeated(database, group, github_without_repository):
    carry_out(database, RECORD, merge(database))
    for _ in range(2):
        carry_out(
            database, partial(purge_data, github_without_repository), PurgeData(INSTALLATION, None)
        )
        with transaction(database) as connection:
            left = {table.name for table in metadata.sorted_tables if count(connection, table)}
            assert left == {"jobs", "job_causes", "forgotten", "purged_usage"}
    assert waiting(database) == [ForgetCheckout(INSTALLATION, REPOSITORY)]


def test_a_delivery_recorded_after_the_purge_brings_nothing_back(
    database, group, github_without_repository
):
    job = merge(database)
    carry_out(
        database, partial(purge_data, github_without_repository), PurgeData(INSTALLATION, None)
    )
    carry_out(database, RECORD, job)
    assert contents(database)["repositories"] == []


def test_a_push_that_says_it_reverts_the_merge_has_git_asked(database, group):
    carry_out(database, RECORD, merge(database))
    commits = [{"id": "c" * 40, "message": f"This reverts commit {'e' * 40}."}]
    push = {"ref": "refs/heads/main", "before": "a" * 40, "after": "c" * 40, "commits": commits}
    carry_out(database, RECORD, store(database, "g9", "push", **push))
    assert "reverted" not in {kind for _, kind, _ in list_outcomes(database, group)}
    assert CheckClaims(INSTALLATION, REPOSITORY, FIRST) in waiting(database)


def test_recording_survives_a_crash_at_any_commit(twice):
    def arrange(database):
        with transaction(database) as connection:
            settle(connection)
        return merge(database)

    def observe(database):
        with transaction(database) as connection:
            events = connection.execute(select(outcome_events.c.source)).scalars().all()
            derived = connection.execute(select(outcomes_table.c.kind)).scalars().all()
        return events, derived, sorted(str(job) for job in waiting(database))

    events, derived, follow_ups = twice(RECORD, arrange, observe)
    assert (events, derived) == (["g1:pull_merged"], ["merged_after_changes"])
    assert len(follow_ups) == 5


def test_purging_survives_a_crash_at_any_commit(twice, github_without_repository):
    def arrange(database):
        with transaction(database) as connection:
            settle(connection)
        return PurgeData(INSTALLATION, REPOSITORY)

    def observe(database):
        return {name for name, rows in contents(database).items() if rows}

    assert twice(partial(purge_data, github_without_repository), arrange, observe) == {
        "installations",
        "forgotten",
        "purged_usage",
    }
