"""What people are told of settings that can't be used."""

from app.comments import (
    GroupProgress,
    StatusView,
    write_config_check,
    write_status_reply,
)
from app.settings.repo_config import ConfigError, Problem

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
