"""What people are told of settings that can't be used."""

import pytest

from app.comments import (
    GroupProgress,
    StatusView,
    SuiteState,
    SuiteStatus,
    write_config_check,
    write_status_reply,
)
from app.settings.config_problems import Problem
from app.settings.repo_config import ConfigError

PROBLEMS = ConfigError(
    (Problem(2, "unknown key `trigers`: did you mean `triggers`?"), Problem(None, "x\n@mona"))
)


def test_a_pull_request_that_breaks_the_configuration_gets_a_failing_check():
    check = write_config_check(PROBLEMS, ".github/r4p.yml", "a" * 40)
    assert (check.name, check.conclusion) == ("r4p/config", "failure")
    assert check.title == "The bot can't use .github/r4p.yml: 2 problems"
    assert (
        check.summary.replace("\u200b", "|")
        == """\
**The bot can't use `.github/r4p.yml`.** If you merge it like this, the bot keeps the last good settings.

- line 2: unknown key `trigers`: did you mean `triggers`?
- x @|mona"""
    )


def test_a_broken_configuration_is_told_in_the_status():
    view = StatusView((), GroupProgress.NOTHING, config_problem="line 2: unknown key `x`")
    said = write_status_reply(5, 3, view)
    assert (
        "The bot can't use `.github/r4p.yml` and keeps the last good settings: line 2: unknown key `x`."
        in said
    )


def test_many_problems_are_counted():
    many = ConfigError(tuple(Problem(n, "wrong") for n in range(1, 24)))
    assert "- line 20: wrong\n- and 3 more" in write_config_check(many, "r4p.yml", "a" * 40).summary
    one = ConfigError((Problem(1, "wrong"),))
    assert (
        write_config_check(one, "r4p.yml", "a" * 40).title == "The bot can't use r4p.yml: 1 problem"
    )


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (SuiteStatus(SuiteState.WAITING), "The repository's tests wait for a worker."),
        (
            SuiteStatus(SuiteState.RUNNING, "3 patches"),
            "The repository's tests are running: 3 patches.",
        ),
        (
            SuiteStatus(SuiteState.KNOWN, expected=812, flaky=2),
            "The repository's tests ran: 812 pass on the base. 2 more are flaky there and do not count.",
        ),
        (
            SuiteStatus(SuiteState.UNKNOWN, "@mona\nsays so"),
            "There is no evidence from the repository's tests: @\u200bmona says so.",
        ),
    ],
)
def test_the_status_says_when_tests_run_or_why_not(tests, expected):
    said = write_status_reply(5, 3, StatusView((), GroupProgress.JUDGED, tests=tests))
    assert expected in said
