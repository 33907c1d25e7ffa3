"""What becomes of a job whose attempt raised."""

from datetime import UTC, datetime, timedelta

import pytest

from app.db.store.jobs import Fenced
from app.github.errors import Ambiguous, GitHubDown, NotFound, RateLimited, Unauthorized
from model.errors import EngineDown, Superseded, WeightsUnavailable
from worker.endings import Again, Aside, Attempts, Dead, NotOurs, ending
from worker.errors import GiveUp, Postponed

NOW = datetime(2026, 11, 21, tzinfo=UTC)
FIRST = Attempts(attempt=1, limit=3, first_delay_seconds=5)


def rate_limited(seconds):
    return RateLimited("slow down", NOW + timedelta(seconds=seconds))


ENDINGS = [
    (Fenced("gone"), NotOurs()),
    (Superseded("newer"), Aside()),
    (GiveUp("no key"), Dead()),
    (NotFound("gone"), Dead()),
    (Postponed("busy", after_seconds=7), Again(7, counts=False)),
    (rate_limited(72), Again(72, counts=False)),
    (rate_limited(-5), Again(0, counts=False)),
    (rate_limited(100_000), Again(3_600, counts=False)),
    (GitHubDown("502"), Again(30, counts=False)),
    (EngineDown("refused"), Again(30, counts=False)),
    (WeightsUnavailable("no network"), Again(30, counts=False)),
    (Unauthorized("the clock is off"), Again(30, counts=False)),
    (Ambiguous("reset"), Again(30, counts=True)),
    (ValueError("a mistake of ours"), Again(5, counts=True)),
]


@pytest.mark.parametrize(
    ("error", "expected"), ENDINGS, ids=[f"{type(e).__name__} {e}" for e, _ in ENDINGS]
)
def test_the_ending_follows_from_whose_failure_it_was(error, expected):
    assert ending(error, FIRST, NOW) == expected


def test_our_own_failures_are_tried_again_with_doubling_pauses_and_then_given_up():
    attempts = [Attempts(n, limit=3, first_delay_seconds=5) for n in (1, 2, 3)]
    assert [ending(ValueError(), attempt, NOW) for attempt in attempts] == [
        Again(5, counts=True),
        Again(10, counts=True),
        Dead(),
    ]


def test_no_pause_is_longer_than_an_hour():
    late = Attempts(attempt=30, limit=99, first_delay_seconds=5)
    assert ending(ValueError(), late, NOW) == Again(3_600, counts=True)


def test_waiting_for_others_never_ends_in_giving_up():
    last = Attempts(attempt=3, limit=3, first_delay_seconds=5)
    assert ending(GitHubDown("502"), last, NOW) == Again(30, counts=False)
