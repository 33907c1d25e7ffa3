"""How long a changed patch waits, by what its author changed within a day."""

from datetime import UTC, datetime, timedelta

import pytest

from app.policy.reevaluation_policy import (
    ISSUE_TEXT,
    LONGEST_PAUSE,
    JudgedVersion,
    Version,
    compute_pause,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUIET = 600.0


def build_judged(content, minutes_ago, pull=12, author="mona"):
    return JudgedVersion(Version(pull, author, content), NOW - timedelta(minutes=minutes_ago))


def wait(*versions, pull=12, author="mona", content="new"):
    """Minutes that this version has to wait."""
    pause = compute_pause(versions, [Version(pull, author, content)], QUIET, NOW)
    return pause.total_seconds() / 60


@pytest.mark.parametrize(
    ("versions", "minutes"),
    [
        pytest.param([], 0, id="the first version"),
        pytest.param([build_judged("a", 0)], 10, id="the second"),
        pytest.param([build_judged("a", 4)], 6, id="a part of the pause is over"),
        pytest.param([build_judged("a", 11)], 0, id="the pause is over"),
        pytest.param([build_judged("a", 30), build_judged("b", 0)], 20, id="the third"),
        pytest.param(
            [build_judged("a", 9), build_judged("b", 5), build_judged("a", 0)],
            40,
            id="there and back",
        ),
        pytest.param([build_judged("a", 9), build_judged("a", 5)], 1, id="blanks in between"),
        pytest.param([build_judged("a", 25 * 60)], 0, id="a day ago"),
        pytest.param(
            [build_judged("a", 0, author="other")], 10, id="a pull request that changed hands"
        ),
        pytest.param(
            [build_judged("a", 0, pull=13)], 10, id="the same author's other pull request"
        ),
        pytest.param([build_judged("a", 0, pull=13, author="other")], 0, id="somebody else"),
        pytest.param([build_judged("new", 0)], 0, id="no change"),
        pytest.param([build_judged(str(n), n) for n in range(40)], 480, id="the limit"),
    ],
)
def test_each_version_of_a_day_waits_twice_as_long(versions, minutes):
    assert wait(*versions) == minutes


def test_deleted_accounts_have_nothing_in_common():
    assert wait(build_judged("a", 0, pull=13, author=""), author="") == 0


def test_an_edited_issue_waits_for_itself_only():
    edited = Version(ISSUE_TEXT, "", "new")
    before = [
        build_judged("old", 0, ISSUE_TEXT, ""),
        build_judged("a", 0),
        build_judged("b", 0, 13),
    ]
    assert compute_pause(before, [edited], QUIET, NOW) == timedelta(minutes=10)


def test_the_longest_wait_of_a_group_counts():
    before = [build_judged("a", 0), build_judged("b", 60, 13, "other")]
    present = [Version(13, "other", "c"), Version(12, "mona", "c")]
    assert compute_pause(before, present, QUIET, NOW) == timedelta(minutes=10)
    assert compute_pause(before, present, 1e9, NOW) == LONGEST_PAUSE
