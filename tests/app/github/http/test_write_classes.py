"""Replies share the write limits with verdicts, and cannot use them up."""

import heapq
from datetime import UTC, datetime
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.github.errors import WritePaceExceeded
from app.github.http.rate_limiter import (
    BURST,
    PER_HOUR,
    PER_MINUTE,
    Limiter,
    WriteClass,
    WriteLimits,
    find_write_time,
    reserve_write,
)
from app.values.identifiers import InstallationId
from tests.builders.github.local_github import MemoryLimits

NOW = 1_000_000.0
HERE = InstallationId(7)
REPLY, VERDICT = WriteClass.REPLY, WriteClass.VERDICT
RETRY_SECONDS = 60.0
GAPS = st.sampled_from([0.0, 0.5, 1.0, 3.0, 9.0, 40.0])
RUNS = st.lists(st.tuples(GAPS, st.sampled_from(WriteClass), st.integers(1, 60)), max_size=20)
"""Series of writes of one class, each with the seconds between them."""


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


def spread(runs):
    """Yield each write of the runs: the time, and its class."""
    now = NOW
    for gap, kind, count in runs:
        for _ in range(count):
            now += gap
            yield now, kind


@given(runs=RUNS, patience=st.floats(0, 5))
def test_replies_leave_sixty_per_cent_of_every_limit_to_verdicts(runs, patience):
    limits = WriteLimits()
    times = {REPLY: [], VERDICT: []}
    for now, kind in spread(runs):
        limits, moment = reserve_write(limits, now, patience if kind is VERDICT else 0.0, kind)
        if moment - now <= (patience if kind is VERDICT else 0.0):
            times[kind].append(moment)
            assert kind is VERDICT or limits.tokens >= BURST * 0.6 - 1e-6
    together = sorted(times[REPLY] + times[VERDICT])
    for writes, share in ((together, 1.0), (times[REPLY], 0.4)):
        for most, seconds in ((PER_MINUTE, 60), (PER_HOUR, 3600)):
            windows = zip(writes, writes[int(most * share) :], strict=False)
            assert all(late - early >= seconds - 1e-6 for early, late in windows)


@given(runs=RUNS)
def test_a_verdict_within_sixty_per_cent_of_the_limits_never_waits(runs):
    limits, verdicts = WriteLimits(), []
    for now, kind in spread(runs):
        if kind is VERDICT and fits_reserved_share(verdicts, now):
            assert find_write_time(limits, now) <= now + 1e-6
        limits, moment = reserve_write(limits, now, 1e-6, kind)
        if kind is VERDICT and moment <= now + 1e-6:
            verdicts.append(now)


def fits_reserved_share(verdicts, now):
    """Return whether one more verdict keeps within six at once, 36 a minute and 240 an hour."""
    in_burst = all(
        len(verdicts) - index + 1 <= BURST * 0.6 + now - start
        for index, start in enumerate(verdicts)
    )
    in_windows = all(
        sum(time > now - seconds for time in verdicts) < most * 0.6
        for most, seconds in ((PER_MINUTE, 60), (PER_HOUR, 3600))
    )
    return in_burst and in_windows


def test_a_burst_of_replies_takes_four_and_verdicts_the_other_six_at_once():
    limits = WriteLimits()
    for _ in range(4):
        limits, moment = reserve_write(limits, NOW, 0.0, REPLY)
        assert moment == NOW
    assert find_write_time(limits, NOW, REPLY) == NOW + 1
    for _ in range(6):
        limits, moment = reserve_write(limits, NOW, 0.0)
        assert moment == NOW
    assert find_write_time(limits, NOW) == NOW + 1


def test_a_reply_is_refused_at_once_instead_of_reserving_a_later_time():
    slept = []
    limiter = Limiter(MemoryLimits(), clock=lambda: at(NOW), sleep=slept.append)
    for _ in range(4):
        limiter.permit_write(HERE, REPLY)
    with pytest.raises(WritePaceExceeded) as refused:
        limiter.permit_write(HERE, REPLY)
    assert (refused.value.retry_at, slept) == (at(NOW + 1), [])


def simulate_hours(*, comments: int, comment_class: WriteClass) -> float:
    """Return the mean seconds until a verdict is written, over three hours.

    Every six minutes four verdicts of five writes each become ready, and `comments` an hour want one reply each.
    """
    moment, slept = [NOW], []
    limiter = Limiter(MemoryLimits(), clock=lambda: at(moment[0]), sleep=slept.append)
    verdicts = [(NOW + 360 * n, 5, VERDICT) for n in range(30) for _ in range(4)]
    replies = [(NOW + 3600 * n / comments, 1, comment_class) for n in range(3 * comments)]
    order = {n: start for n, (start, _, _) in enumerate([*verdicts, *replies])}
    due = [(start, n, left, kind) for n, (start, left, kind) in enumerate([*verdicts, *replies])]
    heapq.heapify(due)
    waits = []
    while due and len(waits) < len(verdicts):
        moment[0], number, left, kind = heapq.heappop(due)
        slept.clear()
        try:
            limiter.permit_write(HERE, kind)
        except WritePaceExceeded as error:
            pause = 1.0 if number < len(verdicts) else RETRY_SECONDS
            later = max(error.retry_at.timestamp(), moment[0] + pause)
            heapq.heappush(due, (later, number, left, kind))
            continue
        done = moment[0] + sum(slept)
        if left > 1:
            heapq.heappush(due, (done, number, left - 1, kind))
        elif number < len(verdicts):
            waits.append(done - order[number])
    return mean(waits)


def test_a_thousand_comments_an_hour_at_most_double_the_wait_of_verdicts():
    quiet = simulate_hours(comments=1, comment_class=REPLY)
    flooded = simulate_hours(comments=1_000, comment_class=REPLY)
    without_classes = simulate_hours(comments=1_000, comment_class=VERDICT)
    assert 1.0 <= flooded / quiet <= 2.0
    assert without_classes / quiet > 10
