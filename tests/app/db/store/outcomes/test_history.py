"""History tells what was submitted, said and done, once for each pull request of an issue."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from app.db.store.outcomes import history
from app.db.tables.schema import evaluations
from app.outcomes import OutcomeKind
from app.values.identifiers import IssueNumber
from model.domain import Verdict
from tests.builders.history import issue_history
from tests.builders.history.issue_history import MERGED, OPEN, REJECTED, START, SUPERSEDED, head

pytestmark = pytest.mark.services


@pytest.fixture
def group(connection):
    return issue_history.live(connection)


def load_records(connection, group=None):
    return {record.pull: record for record in history.load_records(connection, group)}


def test_each_pull_request_has_its_submissions_verdicts_and_fates(connection, group):
    records = load_records(connection)
    assert list(records) == [MERGED, SUPERSEDED, REJECTED, OPEN]
    merged = records[MERGED]
    assert (merged.group, merged.issue.number) == (group, issue_history.ISSUE)
    assert merged.issue.repository.full_name == "octo/cat"
    assert [one.head for one in merged.submissions] == [head(MERGED), head(MERGED, 2)]
    assert merged.submissions[0].submitted_at == START
    assert merged.submissions[0].patch != merged.submissions[1].patch
    assert [one.judged_at - START for one in merged.judgements] == [
        timedelta(0),
        timedelta(days=2.5),
    ]
    assert [one.kind for one in merged.outcomes][-1] is OutcomeKind.SURVIVAL
    assert (merged.outcomes[-1].value, merged.outcomes[-1].head) == (0.8, head(MERGED, 2))


def test_a_fate_says_who_and_whether_it_was_the_author(connection, group):
    fates = {one.kind: one for one in load_records(connection)[MERGED].outcomes}
    pushed, merge = fates[OutcomeKind.NEW_COMMITS], fates[OutcomeKind.MERGED]
    assert (pushed.actor, pushed.by_author) == ("cleo", True)
    assert (merge.actor, merge.permission, merge.by_author) == ("mia", "maintain", False)


def test_a_head_that_somebody_else_pushed_is_marked(connection):
    life = issue_history.Life(connection)
    group = life.settle()
    life.judge(group, {(MERGED, 1): Verdict.CORRECT}, day=0)
    life.happen(issue_history.EventKind.HEAD_MOVED, MERGED, 1, nth=2, **issue_history.MAINTAINER)
    life.judge(group, {(MERGED, 2): Verdict.CORRECT}, day=2)
    assert [one.by_author for one in load_records(connection)[MERGED].submissions] == [True, False]


def test_an_unjudged_candidate_is_a_submission(connection, group):
    connection.execute(update(evaluations).values(verifier=None, verified_at=None))
    records = load_records(connection)
    assert records[MERGED].judgements == ()
    assert len(records[MERGED].submissions) == 2


def test_history_can_be_read_for_a_single_issue(connection, group):
    assert load_records(connection, group).keys() == load_records(connection).keys()
    assert load_records(connection, group + 1) == {}
    (named,) = history.find_issues(connection, issue_history.ISSUE, "Octo/CAT").items()
    assert named[0] == group
    assert named[1].repository.id == issue_history.REPOSITORY
    assert history.find_issues(connection, issue_history.ISSUE).keys() == {group}
    assert history.find_issues(connection, issue_history.ISSUE, "octo/dog") == {}
    assert history.find_issues(connection, IssueNumber(4)) == {}
