"""The pace of writes: a burst, then one a second, sixty a minute, four hundred an hour, and silence."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.github.errors import RateLimited, WritePaceExceeded
from app.github.http.rate_limiter import (
    BURST,
    PER_HOUR,
    PER_MINUTE,
    Limiter,
    WriteLimits,
    WritePermit,
    find_write_time,
    freeze,
    reserve_write,
)
from app.values.identifiers import InstallationId
from tests.builders.github.local_github import MemoryLimits

NOW = 1_000_000.0
HERE = InstallationId(7)


def after(limits, moments, patience=3.0):
    """The turns given to those who ask at these moments."""
    turns = []
    for moment in moments:
        limits, at = reserve_write(limits, moment, patience)
        turns.append(at - moment)
    return limits, turns


def test_after_a_rest_ten_leave_at_once_and_then_one_a_second():
    _, waits = after(WriteLimits(), [NOW] * 13)
    assert waits == [0.0] * 10 + [1.0, 2.0, 3.0]


def test_a_turn_too_far_ahead_is_not_promised():
    full, _ = after(WriteLimits(), [NOW] * 13)
    same, at = reserve_write(full, NOW, 3.0)
    assert (same, at - NOW) == (full, 4.0)


def test_a_minute_holds_sixty():
    limits, waits = after(WriteLimits(), [NOW + n for n in range(60)])
    assert set(waits) == {0.0}
    assert find_write_time(limits, NOW + 59.5) == NOW + 60


def test_an_hour_holds_four_hundred():
    limits = WriteLimits(writes=tuple(NOW + 2 * n for n in range(PER_HOUR)), counted_at=NOW)
    assert find_write_time(limits, NOW + 1_000) == NOW + 3_600
    assert find_write_time(limits, NOW + 3_601) == NOW + 3_601


def test_writes_older_than_an_hour_are_forgotten():
    limits, _ = reserve_write(WriteLimits(writes=(NOW - 3_601, NOW - 3_599)), NOW, 3.0)
    assert limits.writes == (NOW - 3_599, NOW)


def test_nothing_leaves_during_a_silence():
    limits = freeze(WriteLimits(), NOW, NOW + 90)
    assert find_write_time(limits, NOW + 10) == NOW + 90
    assert find_write_time(limits, NOW + 91) == NOW + 91


def test_a_shorter_silence_does_not_end_a_longer_one():
    limits = freeze(freeze(WriteLimits(), NOW, NOW + 90), NOW + 1, NOW + 20)
    assert (limits.blocked_until, limits.strikes) == (NOW + 90, 0)


@pytest.mark.parametrize(
    ("pause", "asked", "lasts", "strikes"),
    [
        pytest.param(10, 90, 180, 1, id="soon after the last: twice as long"),
        pytest.param(299, 90, 180, 1, id="just within five minutes"),
        pytest.param(300, 90, 90, 0, id="much later: as asked"),
        pytest.param(10, 3_000, 3_000, 1, id="a long one is taken as it is"),
    ],
)
def test_a_silence_that_was_too_short_is_doubled(pause, asked, lasts, strikes):
    before = freeze(WriteLimits(), NOW - pause - 90, NOW - pause)
    limits = freeze(before, NOW, NOW + asked)
    assert (limits.blocked_until, limits.strikes) == (NOW + lasts, strikes)


def test_a_clock_that_went_back_gives_nothing_and_takes_nothing():
    limits, _ = after(WriteLimits(), [NOW] * 10)
    assert find_write_time(limits, NOW - 100) >= NOW
    assert find_write_time(limits, NOW + 20) == NOW + 20


@given(gaps=st.lists(st.floats(0, 90), max_size=700), patience=st.floats(0, 5))
def test_no_minute_and_no_hour_ever_holds_too_many(gaps, patience):
    limits, now, given_turns = WriteLimits(), NOW, []
    for gap in gaps:
        now += gap / 10
        limits, at = reserve_write(limits, now, patience)
        if at - now <= patience:
            given_turns.append(at)
    assert given_turns == sorted(given_turns)
    assert len(limits.writes) <= PER_HOUR
    for n, most, seconds in (
        (PER_MINUTE, PER_MINUTE, 60),
        (PER_HOUR, PER_HOUR, 3600),
        (BURST + 2, 0, 1),
    ):
        windows = zip(given_turns, given_turns[n:], strict=False)
        assert all(late - early >= seconds - 1e-6 for early, late in windows), most


def test_short_waits_are_waited_and_long_ones_refused():
    slept = []
    store = MemoryLimits()
    limiter = Limiter(store, clock=lambda: datetime.fromtimestamp(NOW, UTC), sleep=slept.append)
    for _ in range(13):
        assert limiter.permit_write(HERE) == WritePermit(HERE)
    assert slept == [1.0, 2.0, 3.0]
    with pytest.raises(WritePaceExceeded) as refused:
        limiter.permit_write(HERE)
    assert refused.value.retry_at == datetime.fromtimestamp(NOW + 4, UTC)
    assert limiter.permit_write(InstallationId(8)) == WritePermit(InstallationId(8))


def test_a_frozen_installation_is_closed_to_reads_and_others_are_not():
    limiter = Limiter(MemoryLimits(), clock=lambda: datetime.fromtimestamp(NOW, UTC))
    limiter.freeze(HERE, datetime.fromtimestamp(NOW + 30, UTC))
    with pytest.raises(RateLimited) as refused:
        limiter.check_open(HERE)
    assert refused.value.retry_at == datetime.fromtimestamp(NOW + 30, UTC)
    limiter.check_open(InstallationId(8))
