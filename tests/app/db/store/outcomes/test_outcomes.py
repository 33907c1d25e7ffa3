import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete, select, update

from app.db.session import transaction
from app.db.store.outcomes import outcomes
from app.db.tables.schema import outcome_events as event_table
from app.db.tables.schema import outcomes as outcome_table
from app.outcomes import RULE_VERSION, EventKind
from tests.builders.history import stored_outcomes
from tests.builders.history.outcome_rows import (
    MERGE_COMMIT,
    OTHER,
    build_close,
    build_event,
    build_merge,
    evaluation_of,
    list_outcomes,
    list_places,
    record,
)
from tests.builders.history.stored_verdict import (
    FIRST,
    ISSUE,
    LATE,
    REPOSITORY,
    SECOND,
    collect,
    count,
    head_of,
    judge,
    settle,
)

pytestmark = pytest.mark.services


def test_a_merge_makes_a_later_closing_of_its_rival_superseded(connection, group):
    record(connection, build_merge(FIRST, actor="mia", permission="write"))
    record(connection, build_close(SECOND))
    assert list_outcomes(connection, group) == [
        (FIRST, "merged", None),
        (SECOND, "closed", "superseded"),
    ]
    (first, _) = stored_outcomes.list_rows(connection, group)
    assert (first.actor, first.permission, first.head_sha) == ("mia", "write", head_of(FIRST))
    assert first.as_json() == {
        "pull": 12,
        "kind": "merged",
        "reason": None,
        "value": None,
        "actor": "mia",
        "permission": "write",
        "permission_asked_at": None,
        "head_sha": head_of(FIRST),
        "source": "pull_merged:12:1.0",
        "evaluation": evaluation_of(connection, FIRST),
        "occurred_at": "2026-03-01T10:30:00+00:00",
    }


def test_a_rivals_merge_that_is_told_late_changes_why_the_other_was_closed(connection, group):
    record(connection, build_close(SECOND))
    assert list_outcomes(connection, group) == [(SECOND, "closed", "unknown")]
    assert record(connection, build_merge(FIRST)) == [FIRST, SECOND, LATE]
    assert (SECOND, "closed", "superseded") in list_outcomes(connection, group)


def test_the_same_source_is_stored_once(connection, group):
    for _ in range(2):
        record(connection, build_merge(FIRST))
    assert count(connection, event_table) == 1
    assert list_outcomes(connection, group) == [(FIRST, "merged", None)]


def test_unchanged_outcomes_are_not_written_again(connection, group):
    record(connection, build_merge(FIRST))
    before = connection.execute(select(outcome_table)).all()
    outcomes.rederive(connection, REPOSITORY, [FIRST])
    assert connection.execute(select(outcome_table)).all() == before


def test_a_head_collected_but_not_judged_shows_whether_the_diff_changed(connection, group):
    collect(connection, FIRST, OTHER, f"diff of {FIRST}")
    record(connection, build_merge(FIRST, head=OTHER))
    assert list_outcomes(connection, group) == [(FIRST, "merged", None)]
    collect(connection, FIRST, OTHER, "another diff")
    outcomes.rederive(connection, REPOSITORY, [FIRST])
    assert list_outcomes(connection, group) == [(FIRST, "merged_after_changes", "diff_changed")]


@pytest.mark.parametrize(
    ("hours", "public"), [(0, True), (-0.001, False)], ids=["in that second", "before"]
)
def test_the_verdict_that_was_public_then_is_kept(connection, group, hours, public):
    record(connection, build_event(EventKind.HEAD_MOVED, FIRST, hours, head=OTHER))
    (row,) = connection.execute(select(event_table)).all()
    assert (row.evaluation_id is not None) is public
    expected = [(FIRST, "new_commits_after_verdict", None)] if public else []
    assert list_outcomes(connection, group) == expected


def test_a_verdict_in_shadow_mode_was_never_public(connection, group):
    judge(connection, group, (LATE,), mode="shadow")
    record(connection, build_event(EventKind.HEAD_MOVED, LATE, head=OTHER))
    assert list_outcomes(connection, group) == []


def test_ci_is_known_by_the_head_whichever_comes_first(connection, group):
    ci = {"head": OTHER, "state": "success", "about": "actions"}
    record(connection, build_event(EventKind.CI_CONCLUDED, **ci))
    assert list_outcomes(connection, group) == []
    record(connection, build_event(EventKind.HEAD_MOVED, FIRST, -1, head=OTHER))
    assert list_outcomes(connection, group) == [(FIRST, "ci", "success")]
    rerun = {**ci, "state": "failure"}
    assert record(connection, build_event(EventKind.CI_CONCLUDED, hours=2, **rerun))[0] == FIRST
    assert list_outcomes(connection, group) == [(FIRST, "ci", "failure")]


def test_ci_of_a_judged_head_needs_no_event_about_it(connection, group):
    ci = {"head": head_of(SECOND), "state": "success", "about": "actions"}
    record(connection, build_event(EventKind.CI_CONCLUDED, **ci))
    assert list_outcomes(connection, group) == [(SECOND, "ci", "success")]


def revert_by_a_writer(commit):
    """A revert of a commit that somebody with write access wrote and merged."""
    word = {"reverter": "#15", "by_author": True, "permission": "write"}
    return build_event(EventKind.REVERTED, hours=3, commit=commit, head=OTHER, **word)


@pytest.mark.parametrize("merge_first", [True, False])
def test_a_revert_finds_the_merge_by_its_commit_in_either_order(connection, group, merge_first):
    revert = revert_by_a_writer(MERGE_COMMIT[:9])
    events = [build_merge(FIRST), revert]
    for event in events if merge_first else reversed(events):
        record(connection, event)
    assert list_outcomes(connection, group)[-1] == (FIRST, "reverted", "by #15")


@pytest.mark.parametrize("landed_first", [True, False])
def test_a_revert_finds_what_landed_by_its_commit_in_either_order(connection, group, landed_first):
    landing = build_event(EventKind.LANDED, FIRST, hours=1.1, head=MERGE_COMMIT)
    revert = revert_by_a_writer(MERGE_COMMIT[:9])
    proof = {"about": "landed", "state": "proven", "head": MERGE_COMMIT}
    record(connection, build_close(FIRST, hours=1.0))
    record(connection, build_event(EventKind.CLAIM_CHECKED, FIRST, hours=2, **proof))
    for event in (landing, revert) if landed_first else (revert, landing):
        record(connection, event)
    assert list_outcomes(connection, group) == [
        (FIRST, "closed", "landed_indirectly"),
        (FIRST, "reverted", "by #15"),
    ]


def test_ci_and_reverts_by_commit_say_which_verdict_was_read_and_what_was_merged(connection, group):
    record(connection, build_merge(FIRST))
    revert = revert_by_a_writer(MERGE_COMMIT)
    ci = {"head": head_of(SECOND), "state": "success", "about": "actions"}
    record(connection, revert, build_event(EventKind.CI_CONCLUDED, hours=4, **ci))
    verdict = evaluation_of(connection, FIRST)
    pulls = (FIRST, FIRST, SECOND)
    assert list_places(connection, group) == [(pull, head_of(pull), verdict) for pull in pulls]


def test_an_issue_reopened_is_about_what_was_merged_for_it(connection, group):
    record(connection, build_merge(FIRST, head=OTHER))
    record(connection, build_event(EventKind.ISSUE_REOPENED, hours=4, issue=ISSUE, actor="mia"))
    assert list_places(connection, group)[-1] == (FIRST, OTHER, evaluation_of(connection, FIRST))


def test_an_issue_withdrawn_explains_why_its_pull_requests_were_closed(connection, group):
    record(connection, build_close(FIRST))
    record(connection, build_event(EventKind.ISSUE_CLOSED, issue=ISSUE, state="not_planned"))
    assert list_outcomes(connection, group) == [(FIRST, "closed", "issue_not_planned")]


def test_a_share_of_nothing_is_zero_and_kept(connection, group):
    record(connection, build_event(EventKind.SURVIVAL, FIRST, share=0.0, days=7))
    (row,) = stored_outcomes.list_rows(connection, group)
    assert (row.reason, row.value) == ("after_7_days", 0.0)


def test_any_order_of_arrival_leaves_the_same_outcomes(connection, group):
    ci = {"head": head_of(FIRST), "state": "success", "about": "actions"}
    life = [
        build_close(SECOND, actor="mia"),
        build_merge(FIRST),
        build_event(EventKind.CI_CONCLUDED, **ci),
        revert_by_a_writer(MERGE_COMMIT[:7]),
        build_event(EventKind.DISAGREED, issue=ISSUE, actor_id=1),
        build_event(EventKind.ISSUE_REOPENED, hours=4, issue=ISSUE),
    ]
    found = set()
    for turn in range(len(life)):
        connection.execute(delete(event_table))
        for event in life[turn:] + life[:turn][::-1]:
            record(connection, event)
        found.add(tuple(list_outcomes(connection, group)))
    (only,) = found
    assert {kind for _, kind, _ in only} == {
        "merged",
        "closed",
        "ci",
        "reverted",
        "disagree",
        "reopened",
    }


def test_two_deliveries_recorded_at_once_see_each_other(database):
    with transaction(database) as connection:
        group = settle(connection)
    start = threading.Barrier(2)

    def record_soon(event):
        with transaction(database) as connection:
            start.wait(10)
            record(connection, event)

    for turn in range(5):
        with transaction(database) as connection:
            connection.execute(delete(event_table))
        events = [build_merge(FIRST, source=f"m{turn}"), build_close(SECOND, source=f"c{turn}")]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(record_soon, events))
        with transaction(database) as connection:
            assert (SECOND, "closed", "superseded") in list_outcomes(connection, group)


def test_a_new_rule_derives_everything_anew(database):
    with transaction(database) as connection:
        group = settle(connection)
        record(connection, build_merge(FIRST), build_close(SECOND))
        expected = list_outcomes(connection, group)
        connection.execute(update(outcome_table).values(kind="reopened", rule_version=0))
    assert outcomes.rederive_all(database) == 2
    with transaction(database) as connection:
        assert list_outcomes(connection, group) == expected
        assert set(connection.execute(select(outcome_table.c.rule_version)).scalars()) == {
            RULE_VERSION
        }
