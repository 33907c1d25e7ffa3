import itertools
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select, update

from app.db.session import transaction
from app.db.tables.schema import effects, installations, outcome_events, repositories
from app.github.api.rest_reader import ReactionFacts
from app.github.endpoints import build_endpoints
from app.jobs.outcome_jobs import CheckClaims, PollReactions
from app.jobs.waits import WaitsFor
from app.outcomes import Details, EventKind, OutcomeEvent
from app.values.identifiers import IssueNumber, PullNumber
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.history import stored_outcomes
from tests.builders.job_attempts import carry_out, waiting
from tests.worker.outcomes.judged_repository import FIX, JudgedRepository
from worker.git.checkout import Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.outcomes.claim_checks import check_claims
from worker.outcomes.observe_outcomes import (
    compare_reactions,
    measure_survival,
    plan_reaction_polls,
    poll_reactions,
    resolve_permission,
)
from worker.queue.endings import OUTAGE_SECONDS, Attempts, RetryLater, decide_ending

pytestmark = pytest.mark.services
NUMBERS = itertools.count(1)


@pytest.fixture
def world(standin, database):
    return JudgedRepository(standin, database, f"rivals-{next(NUMBERS)}")


@pytest.fixture
def github(world):
    with connect(world.standin.url, app_id=world.app.app_id, key=world.app.private_key) as found:
        yield found


@pytest.fixture
def survival(world, github, tmp_path):
    return partial(
        measure_survival, github, Checkouts(tmp_path, build_endpoints(world.standin.url))
    )


def test_a_merge_makes_its_rival_superseded_with_the_permission_of_then(world, github):
    first, second = world.first.number, world.second.number
    world.repo.merge(first, user="maintainer")
    world.repo.close(second, user="maintainer")
    world.record()
    assert world.list_outcomes() == [
        (first, "merged", None, None),
        (second, "closed", "superseded", None),
    ]
    job = world.resolve("maintainer")
    assert job in waiting(world.database)
    world.do(partial(resolve_permission, github), job)
    assert [row[3] for row in world.list_outcomes()] == ["maintain", "maintain"]
    world.standin.grant(world.repo, "maintainer", "read")
    world.do(partial(resolve_permission, github), job)
    assert [row[3] for row in world.list_outcomes()] == ["maintain", "maintain"]


def test_a_burst_of_pushes_asks_github_once_about_their_author(world, github):
    first = world.first.number
    author = world.resolve("contributor")
    mark = world.standin.mark()
    for turn in range(3):
        world.repo.push(first, files={"area.py": f"{FIX}# {turn}\n"})
        world.record()
        assert author in waiting(world.database)
        world.do(partial(resolve_permission, github), author)
    calls = world.standin.calls(mark).operations
    assert [count for name, count in calls.items() if "permission" in name] == [1]
    assert [row[1:] for row in world.list_outcomes()] == [
        ("new_commits_after_verdict", None, "read")
    ] * 3


def test_an_opinion_of_somebody_who_cannot_write_stops_counting(world, github):
    world.repo.comment(world.issue, f"/r4p disagree #{world.first.number} wrong", "passer-by")
    world.record()
    assert world.list_outcomes() == [(world.first.number, "disagree", "wrong", None)]
    job = world.resolve("passer-by")
    world.do(partial(resolve_permission, github), job)
    assert world.list_outcomes() == []


def test_new_commits_reviews_and_ci_are_told(world):
    first = world.first.number
    head = world.repo.push(first, files={"area.py": FIX + "# checked\n"})
    world.repo.check_suite(head, "failure")
    world.repo.review(first, "CHANGES_REQUESTED", body="Hm")
    world.record()
    assert {(kind, reason) for _, kind, reason, _ in world.list_outcomes()} == {
        ("new_commits_after_verdict", None),
        ("ci", "failure"),
        ("reviewed", "changes_requested"),
    }


def test_thumbs_are_counted_when_their_owners_may_write(world, github):
    with transaction(world.database) as connection:
        (planned,) = plan_reaction_polls(connection)
    assert planned.job == PollReactions(world.installation, world.id, world.issue)
    for user, thumb in (("maintainer", "+1"), ("passer-by", "-1"), ("maintainer", "heart")):
        world.repo.react(world.comment, thumb, user)
    world.do(partial(poll_reactions, github), planned.job)
    assert world.list_outcomes() == []
    for person in ("maintainer", "passer-by"):
        job = world.resolve(person)
        assert job in waiting(world.database)
        carry_out(world.database, partial(resolve_permission, github), job)
    assert {row[1:3] for row in world.list_outcomes()} == {("reaction", "+1")}


def test_a_verdict_nobody_can_see_is_not_polled(world, github):
    job = PollReactions(world.installation, world.id, world.issue)
    with transaction(world.database) as connection:
        connection.execute(update(effects).values(github_id=None))
        assert plan_reaction_polls(connection) == []
    mark = world.standin.mark()
    world.do(partial(poll_reactions, github), job)
    world.do(partial(poll_reactions, github), PollReactions(world.installation, world.id, 999))
    assert world.standin.history(mark) == []


def test_thumbs_on_a_comment_that_somebody_deleted_stay_as_they_were(world, github):
    job = PollReactions(world.installation, world.id, world.issue)
    world.repo.react(world.comment, "+1", "maintainer")
    world.do(partial(poll_reactions, github), job)
    world.do(partial(resolve_permission, github), world.resolve("maintainer"))
    outcomes_before = world.list_outcomes()
    world.repo.delete_comment(world.comment, user="maintainer")
    world.do(partial(poll_reactions, github), job)
    assert world.list_outcomes() == outcomes_before != []


def test_a_suspended_installation_is_not_asked(world, github, survival):
    world.repo.merge(world.first.number)
    world.record()
    with transaction(world.database) as connection:
        connection.execute(update(installations).values(suspended_at=datetime.now(UTC)))
        assert plan_reaction_polls(connection) == []
    mark = world.standin.mark()
    world.do(partial(resolve_permission, github), world.resolve("maintainer"))
    polling = PollReactions(world.installation, world.id, world.issue)
    world.do(partial(poll_reactions, github), polling)
    world.do(survival, world.measure_survival(world.first.number))
    assert world.standin.history(mark) == []


def test_half_of_a_merged_patch_survives(world, survival):
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    world.repo.commit({"area.py": FIX.replace("    return w * h\n", "    return h * w + 0\n")})
    world.record()
    job = world.measure_survival(first, 7)
    assert job in waiting(world.database)
    world.do(survival, job)
    with transaction(world.database) as connection:
        (row,) = [
            row
            for row in stored_outcomes.list_rows(connection, world.group)
            if row.kind == "survival"
        ]
    assert (row.reason, row.value) == ("after_7_days", pytest.approx(2 / 3))


def test_a_webhook_without_the_merge_commit_costs_one_question(world, survival):
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    world.record()
    with transaction(world.database) as connection:
        merged = outcome_events.c.kind == EventKind.PULL_MERGED.value
        commit = connection.scalar(select(outcome_events.c.data["commit"].astext).where(merged))
        without = outcome_events.c.data.op("-")("commit")
        connection.execute(update(outcome_events).where(merged).values(data=without))
    world.do(survival, world.measure_survival(first, 7))
    with transaction(world.database) as connection:
        rows = stored_outcomes.list_rows(connection, world.group)
        landed = outcome_events.c.kind == EventKind.LANDED.value
        heads = connection.scalars(select(outcome_events.c.head_sha).where(landed)).all()
    assert [row.value for row in rows if row.kind == "survival"] == [1.0]
    assert heads == [commit]


@pytest.mark.parametrize("has_webhook", [True, False], ids=["by webhook", "by git alone"])
def test_a_reverted_patch_is_told_and_nothing_of_it_survives(world, survival, has_webhook):
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    world.record()
    revert = world.repo.revert(first)
    world.repo.merge(revert.number, user="maintainer")
    job = CheckClaims(world.installation, world.id, PullNumber(first))
    if has_webhook:
        world.record()
        assert job in waiting(world.database)
    world.do(survival, world.measure_survival(first, 30))
    assert job in waiting(world.database)
    world.do(partial(check_claims, *survival.args), job)
    kinds = [row[1] for row in world.list_outcomes()]
    assert kinds.count("reverted") == 1
    with transaction(world.database) as connection:
        rows = stored_outcomes.list_rows(connection, world.group)
    assert [row.value for row in rows if row.kind == "survival"] == [0.0]


def test_a_merge_elsewhere_is_not_measured(world, survival):
    world.repo.merge(world.first.number)
    world.record()
    with transaction(world.database) as connection:
        connection.execute(update(repositories).values(default_branch="develop"))
    mark = world.standin.mark()
    world.do(survival, world.measure_survival(world.first.number, 7))
    assert world.standin.history(mark) == []


def test_a_pull_request_without_a_merge_is_asked_for_and_not_measured(world, survival):
    world.record()
    mark = world.standin.mark()
    for pull in (world.second.number, 999):
        world.do(survival, world.measure_survival(pull, 7))
    asked = {request.route for request in world.standin.history(mark)}
    assert asked == {"/app/installations/{installation_id}/access_tokens", "/graphql"}
    assert world.list_outcomes() == []


def test_an_unreachable_git_server_costs_no_attempt(world, github, tmp_path):
    world.repo.merge(world.first.number)
    world.record()
    nowhere = Checkouts(tmp_path, build_endpoints("http://127.0.0.1:9"))
    job = world.measure_survival(world.first.number, 7)
    with pytest.raises(GitUnreachable, match="fetch") as raised:
        carry_out(world.database, partial(measure_survival, github, nowhere), job)
    first = Attempts(attempt=1, limit=3, first_delay_seconds=5)
    assert decide_ending(raised.value, first, datetime.now(UTC)) == RetryLater(
        OUTAGE_SECONDS, WaitsFor.GIT
    )
    assert {row[1] for row in world.list_outcomes()} == {"merged"}


@pytest.mark.parametrize("status", [403, 404])
def test_a_permission_that_github_withholds_stays_unknown(world, status):
    world.repo.merge(world.first.number, user="maintainer")
    world.record()
    job = world.resolve("maintainer")
    with LocalGitHub().running() as server, connect(server.url) as github:
        server.replies = [Reply(status, {"message": "Resource not accessible by integration"})] * 4
        world.do(partial(resolve_permission, github), job)
    assert [row[3] for row in world.list_outcomes()] == [None]


SEEN_AT = datetime(2026, 3, 1, tzinfo=UTC)


def build_reaction(number, content="+1", *, is_bot=False):
    return ReactionFacts(number, content, "mia", 1, is_bot, SEEN_AT)


def build_event(number):
    details = Details(state="+1", about=str(number))
    return OutcomeEvent(EventKind.REACTION, f"reaction:{number}", SEEN_AT, details=details)


@pytest.mark.parametrize(
    ("reactions", "before", "expected"),
    [
        ([build_reaction(1)], [], [("reaction:1", False)]),
        ([build_reaction(1)], [build_event(1)], []),
        ([build_reaction(1, "eyes"), build_reaction(2, is_bot=True)], [], []),
        ([], [build_event(1)], [("reaction:1:gone", True)]),
        ([build_reaction(2)], [build_event(1)], [("reaction:2", False), ("reaction:1:gone", True)]),
    ],
)
def test_only_thumbs_that_came_or_went_are_events(reactions, before, expected):
    events = list(compare_reactions(IssueNumber(3), reactions, before, SEEN_AT - timedelta(days=1)))
    assert [(event.source, event.details.gone) for event in events] == expected
    assert all(event.occurred_at > SEEN_AT for event in events if event.details.gone)
