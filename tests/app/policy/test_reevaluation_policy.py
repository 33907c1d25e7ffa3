"""How long a changed group waits, by what its authors caused within a day."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.policy.reevaluation_policy import (
    EVALUATIONS_A_DAY,
    ISSUE_TEXT,
    LONGEST_PAUSE,
    WRITES_AN_HOUR,
    ChangedGroup,
    PastEvaluation,
    Version,
    compute_pause,
    find_changes,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUIET = 600.0
GROUP = 5
TEXT = Version(ISSUE_TEXT, "", "It adds.")
MONA, HUBOT = Version(12, "Mona", "a", "1"), Version(13, "hubot", "b", "2")
OF_MONA, OF_HUBOT = frozenset({"#12", "mona"}), frozenset({"#13", "hubot"})


def build_past(fingerprint, minutes_ago, causes=OF_MONA, *, group=GROUP, writes=3):
    return PastEvaluation(group, NOW - timedelta(minutes=minutes_ago), fingerprint, causes, writes)


def wait(*past, changes=(OF_MONA,), **options):
    """Minutes that the changed group has to wait."""
    changed = ChangedGroup(
        GROUP, changes, **{"has_verdict": False, "quiet_seconds": QUIET} | options
    )
    return compute_pause(past, changed, NOW).total_seconds() / 60


@pytest.mark.parametrize(
    ("past", "minutes"),
    [
        pytest.param([], 0, id="the first verdict"),
        pytest.param([build_past("a", 0)], 10, id="the second"),
        pytest.param([build_past("a", 4)], 6, id="a part of the pause is over"),
        pytest.param([build_past("a", 11)], 0, id="the pause is over"),
        pytest.param([build_past("a", 30), build_past("b", 0)], 20, id="the third"),
        pytest.param([build_past("a", 9), build_past("a", 5)], 5, id="the same content again"),
        pytest.param([build_past("a", 25 * 60)], 0, id="a day ago"),
        pytest.param([build_past("a", 0, {"#12", "other"})], 10, id="a renamed author"),
        pytest.param([build_past("a", 0, {"#14", "mona"})], 10, id="another pull request"),
        pytest.param([build_past("a", 0, OF_HUBOT)], 0, id="somebody else"),
        pytest.param([build_past("a", 0, group=6)], 0, id="another issue"),
        pytest.param([build_past(str(n), n) for n in range(40)], 480, id="the limit"),
    ],
)
def test_each_further_evaluation_of_a_day_waits_twice_as_long(past, minutes):
    assert wait(*past) == minutes


def test_a_verdict_that_moves_waits_the_first_pause_only():
    past = [build_past(str(n), n) for n in range(5)]
    assert wait(*past, has_verdict=True) == 10
    assert wait(has_verdict=True) == 0


def test_a_newcomer_does_not_wait_for_the_pauses_of_others():
    past = [build_past("a", 30), build_past("b", 0)]
    assert wait(*past, changes=(OF_MONA, OF_HUBOT)) == 0
    assert wait(*past, build_past("b", 3, OF_HUBOT), changes=(OF_MONA, OF_HUBOT)) == 7
    assert wait(build_past("a", 0), quiet_seconds=1e9) == LONGEST_PAUSE.total_seconds() / 60
    assert wait(build_past("a", 0), changes=()) == 0


def test_no_author_uses_more_than_a_share_of_the_writes():
    half = WRITES_AN_HOUR // 2
    other = [build_past("a", minutes, group=6, writes=half) for minutes in (50, 20)]
    assert wait(*other) == 10
    assert wait(*other[:1]) == 0
    assert wait(*other, changes=(OF_MONA, OF_HUBOT)) == 0
    assert wait(*[replace(each, causes=frozenset({"#12", "other"})) for each in other]) == 0
    day = [build_past("a", 24 * 60 - 30, group=6, writes=0)] * EVALUATIONS_A_DAY
    assert (wait(*day), wait(*day[1:])) == (30, 0)


@pytest.mark.parametrize(
    ("before", "present", "changes"),
    [
        pytest.param([], [MONA], (OF_MONA,), id="the first evaluation"),
        pytest.param([MONA], [replace(MONA, content="c")], (OF_MONA,), id="a push"),
        pytest.param([MONA, HUBOT], [MONA], (OF_HUBOT,), id="a draft, unlinked or closed"),
        pytest.param([HUBOT], [HUBOT, MONA], (OF_MONA,), id="another pull request"),
        pytest.param([MONA], [replace(MONA, head="9")], (OF_MONA,), id="blanks"),
        pytest.param(
            [MONA, HUBOT], [replace(MONA, head="9")], (OF_HUBOT,), id="blanks and content"
        ),
        pytest.param([TEXT], [replace(TEXT, content="It")], (frozenset({"#0"}),), id="the issue"),
        pytest.param([MONA], [replace(MONA, author="")], (), id="nothing"),
    ],
)
def test_changes_are_ascribed_to_the_authors_of_what_differs(before, present, changes):
    assert find_changes(before, present) == changes


def test_toggled_pull_requests_draw_no_more_than_pushes():
    """Seven subsets of three junk pull requests, tried as fast as the pauses allow."""
    now, past = NOW, []
    changed = ChangedGroup(GROUP, (OF_MONA,), has_verdict=False, quiet_seconds=QUIET)
    for subset in range(7):
        now += compute_pause(past, changed, now)
        past.append(replace(build_past(str(subset), 0), created_at=now))
    assert now - NOW == timedelta(minutes=10 + 20 + 40 + 80 + 160 + 320)
