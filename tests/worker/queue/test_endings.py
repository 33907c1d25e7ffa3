"""What becomes of a job whose attempt raised."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.db.store.queue.jobs import Fenced
from app.github.errors import (
    Ambiguous,
    GitHubDown,
    NotFound,
    RateLimited,
    Unauthorized,
    WritePaceExceeded,
)
from app.jobs.waits import Waits, WaitsFor
from model.errors import Cancelled, EngineDown, WeightsUnavailable
from worker.git.hardened_git import GitError, GitUnreachable
from worker.queue.endings import (
    Attempts,
    GiveUpJob,
    LostLease,
    Retry,
    RetryLater,
    Supersede,
    decide_ending,
)
from worker.queue.errors import GiveUp, Postponed

NOW = datetime(2026, 11, 21, tzinfo=UTC)
FIRST = Attempts(attempt=1, limit=3, first_delay_seconds=5)
LAST = replace(FIRST, attempt=3)


def rate_limited(seconds):
    return RateLimited("slow down", NOW + timedelta(seconds=seconds))


def after(who, times, hours=1.0):
    """The attempts of a job that has waited for somebody so often in a row."""
    return replace(FIRST, waited=Waits(who, times, NOW - timedelta(hours=hours)))


ENDINGS = [
    (Fenced("gone"), LostLease()),
    (Cancelled("newer"), Supersede()),
    (GiveUp("no key"), GiveUpJob()),
    (NotFound("gone"), GiveUpJob()),
    (Postponed("busy", after_seconds=7), RetryLater(7)),
    (rate_limited(72), RetryLater(72, WaitsFor.LIMIT)),
    (rate_limited(-5), RetryLater(1, WaitsFor.LIMIT)),
    (rate_limited(100_000), RetryLater(3_600, WaitsFor.LIMIT)),
    (GitHubDown("502"), RetryLater(30, WaitsFor.GITHUB)),
    (GitUnreachable("503"), RetryLater(30, WaitsFor.GIT)),
    (EngineDown("refused"), RetryLater(30, WaitsFor.ENGINE)),
    (WeightsUnavailable("no network"), RetryLater(30, WaitsFor.ENGINE)),
    (Unauthorized("the clock is off"), RetryLater(30, WaitsFor.KEY)),
    (Ambiguous("reset"), Retry(30)),
    (GitError("bad object"), Retry(5)),
    (ValueError("a mistake of ours"), Retry(5)),
]


@pytest.mark.parametrize(
    ("error", "expected"), ENDINGS, ids=[f"{type(e).__name__} {e}" for e, _ in ENDINGS]
)
def test_the_ending_follows_from_whose_failure_it_was(error, expected):
    assert decide_ending(error, FIRST, NOW) == expected


def test_our_own_failures_are_tried_again_with_doubling_pauses_and_then_given_up():
    attempts = [replace(FIRST, attempt=number) for number in (1, 2, 3)]
    assert [decide_ending(ValueError(), attempt, NOW) for attempt in attempts] == [
        Retry(5),
        Retry(10),
        GiveUpJob(),
    ]


def test_no_pause_is_longer_than_an_hour():
    late = Attempts(attempt=3_000, limit=9_999, first_delay_seconds=5)
    assert decide_ending(ValueError(), late, NOW) == Retry(3_600)


@pytest.mark.parametrize(
    ("error", "who", "longest"),
    [
        (GitHubDown("502"), WaitsFor.GITHUB, 3_600),
        (GitUnreachable("503"), WaitsFor.GIT, 3_600),
        (Unauthorized("no key"), WaitsFor.KEY, 3_600),
        (EngineDown("refused"), WaitsFor.ENGINE, 300),
    ],
)
def test_each_wait_in_a_row_is_twice_as_long_up_to_a_limit(error, who, longest):
    pauses = [decide_ending(error, after(who, n), NOW).after_seconds for n in (1, 2, 3, 50)]
    assert pauses == [60, 120, 240, longest]


def test_a_limit_that_keeps_holding_is_waited_for_longer_than_it_says():
    pauses = [
        decide_ending(rate_limited(20), after(WaitsFor.LIMIT, n), NOW).after_seconds
        for n in (1, 4, 5, 50)
    ]
    assert pauses == [20, 20, 32, 3_600]


def test_our_own_pace_says_how_long_and_is_never_waited_for_much_longer():
    turn = WritePaceExceeded("writes wait", NOW + timedelta(seconds=20))
    pauses = [
        decide_ending(turn, after(WaitsFor.LIMIT, n), NOW).after_seconds for n in (1, 4, 5, 50)
    ]
    assert pauses == [20, 20, 32, 60]
    late = WritePaceExceeded("writes wait", NOW + timedelta(seconds=900))
    assert decide_ending(late, after(WaitsFor.LIMIT, 50), NOW) == RetryLater(900, WaitsFor.LIMIT)


def test_waiting_for_somebody_else_begins_anew():
    assert decide_ending(GitHubDown("502"), after(WaitsFor.GIT, 9), NOW) == RetryLater(
        30, WaitsFor.GITHUB
    )


def test_chance_spreads_those_who_wait_together():
    spread = replace(after(WaitsFor.GIT, 1), jitter=0.5)
    assert decide_ending(GitUnreachable("503"), spread, NOW) == RetryLater(52.5, WaitsFor.GIT)
    assert decide_ending(rate_limited(80), spread, NOW) == RetryLater(90, WaitsFor.LIMIT)


@pytest.mark.parametrize("error", [GitHubDown("502"), GitUnreachable("503"), rate_limited(60)])
def test_waiting_for_others_never_ends_in_giving_up(error):
    for who in WaitsFor:
        waited = replace(LAST, waited=Waits(who, 400, NOW - timedelta(days=30)))
        assert isinstance(decide_ending(error, waited, NOW), RetryLater)


def test_a_github_that_does_not_know_us_is_given_up_after_a_day():
    error = Unauthorized("bad key")
    assert isinstance(decide_ending(error, after(WaitsFor.KEY, 30, hours=24), NOW), RetryLater)
    dead = decide_ending(error, after(WaitsFor.KEY, 31, hours=24.5), NOW)
    assert dead == GiveUpJob("refused 31 times since 2026-11-19 23:30 UTC")


def test_a_day_of_another_trouble_does_not_count_against_the_key():
    down = after(WaitsFor.GITHUB, 31, hours=48)
    assert decide_ending(Unauthorized("a hiccup"), down, NOW) == RetryLater(30, WaitsFor.KEY)
