from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.comments import (
    GroupProgress,
    GroupView,
    StatusView,
    join_replies,
    write_explanation_reply,
    write_failed_reply,
    write_forbidden_reply,
    write_group_reply,
    write_help_reply,
    write_no_verdict_reply,
    write_status_reply,
    write_understood_reply,
    write_unknown_reply,
    write_waiting_reply,
)
from app.jobs.waits import Waits, WaitsFor
from app.policy.command_registry import write_command_rows
from app.policy.commands import GroupEdit, Unknown, Verb, parse
from app.policy.group_policy import LeftOutPull, WaitForMore
from app.policy.rival_links import LinkStrength, Member
from app.values.permission import Permission
from model.domain import Verdict, VoteCount
from tests.app.comments.views import CORRECT, build_row, view

MEMBERS = (Member(12, LinkStrength.CLOSING), Member(15, LinkStrength.ADDED))


def test_help_lists_every_command():
    reply = write_help_reply(900)
    assert reply.startswith(
        "<!-- r4p:reply=900 -->\n\n| Command | What it does | Who may | Where |\n"
    )
    for usage, description, access, where in write_command_rows():
        written = usage.replace("|", "\\|")
        assert f"| `{written}` | {description} | {access} | {where} |\n" in reply
    assert "| `/r4p explain [#N\\|A1]` | Show the reasons for the verdict" in reply
    assert reply.endswith(
        "Write a command at the beginning of a line of a new comment or review, "
        "for example: `/r4p explain #12`.\n"
    )


def test_a_reply_in_words_can_replace_a_reaction():
    reply = write_understood_reply("review-800", [Verb.VERIFY, Verb.AGREE])
    assert reply == "<!-- r4p:reply=review-800 -->\n\nUnderstood: `/r4p verify` and `/r4p agree`.\n"


def test_several_answers_are_one():
    several = [write_understood_reply("900", [Verb.VERIFY]), write_no_verdict_reply("900")]
    assert (
        join_replies("900", several)
        == """\
<!-- r4p:reply=900 -->

Understood: `/r4p verify`.

---

There is no verdict here yet.

`/r4p status` shows how far the work is. `/r4p verify` starts it.
"""
    )
    assert join_replies("900", several[:1]) == several[0]


def test_a_mistake_is_quoted_and_corrected():
    mistakes = (
        Unknown("/r4p verfy @mona", "`verfy` is not a command", "/r4p verify @mona"),
        Unknown("/r4p merge", "`merge` is not a command", None),
    )
    assert (
        write_unknown_reply(900, mistakes).replace("\u200b", "|")
        == """\
<!-- r4p:reply=900 -->

> /r4p verfy @|mona

`verfy` is not a command. Did you mean `/r4p verify @|mona`?

> /r4p merge

`merge` is not a command.

`/r4p help` lists every command.
"""
    )


def test_a_missing_right_is_named():
    assert (
        write_forbidden_reply(900, Verb.VERIFY, Permission.READ)
        == """\
<!-- r4p:reply=900 -->

`/r4p verify` needs write access to this repository; you have read access. \
Authors of pull requests get no extra right, so that nobody repeats a verdict until it pleases.

`/r4p status` and `/r4p explain` work for anyone.
"""
    )


def test_status_tells_who_is_compared_and_what_comes_next():
    status = StatusView(
        members=MEMBERS,
        stage=GroupProgress.WAITING,
        detail="the bot can judge one pull request and needs 2",
        left_out=(LeftOutPull(15, "it is a draft"),),
        comment="https://github.com/octo/cat/issues/3#issuecomment-1",
    )
    assert (
        write_status_reply(900, 3, status)
        == """\
<!-- r4p:reply=900 -->

**#3:** Not judged yet. The bot can judge one pull request and needs 2. \
[The verdict](https://github.com/octo/cat/issues/3#issuecomment-1)

Compared here:
- #12 (closes it)
- #15 (added by command)

Left out:
- #15: it is a draft
"""
    )


def test_status_tells_for_whom_the_verdict_waits_and_since_when():
    since = datetime(2026, 11, 21, 19, 5, tzinfo=timezone(timedelta(hours=1)))
    status = StatusView(MEMBERS[:1], GroupProgress.NOTHING, waits=Waits(WaitsFor.GIT, 5, since))
    assert (
        write_status_reply(900, 3, status)
        == """\
<!-- r4p:reply=900 -->

**#3:** The bot has judged nothing here yet.

Waiting since 2026-11-21 18:05 UTC, 5 attempts so far: git can't reach this repository on GitHub.

Compared here:
- #12 (closes it)
"""
    )


@pytest.mark.parametrize("who", list(WaitsFor))
def test_every_reason_to_wait_has_a_sentence(who):
    waits = Waits(who, 1, datetime(2026, 11, 21, 18, 5, tzinfo=UTC))
    said = write_status_reply(900, 3, StatusView((), GroupProgress.QUEUED, waits=waits)).split(
        "\n\n"
    )[2]
    assert said.startswith("Waiting since 2026-11-21 18:05 UTC, 1 attempt so far: ")


@pytest.mark.parametrize("stage", list(GroupProgress))
def test_every_stage_has_its_sentence(stage):
    first = write_status_reply(900, 3, StatusView((), stage)).split("\n\n")[1]
    assert first.startswith("**#3:** ")
    assert first.endswith(".")


def test_a_crowd_is_listed_up_to_a_limit():
    members = tuple(Member(n, LinkStrength.CLOSING) for n in range(60))
    reply = write_status_reply(900, 3, StatusView(members, GroupProgress.QUEUED))
    assert reply.count("closes it") == 50
    assert "- and 10 more" in reply


def test_an_explanation_gives_the_reasons_of_one():
    assert (
        write_explanation_reply(900, view(), "#12")
        == """\
<!-- r4p:reply=900 -->

#12 judged correct; #15 not.

**#12: Correct** at `ccccccc`

- 4 of 4 votes agree
- Not enough history for a probability
- 2 of 2 files were read

> It handles `[]` before the loop.
"""
    )


def test_an_explanation_of_all_stays_readable():
    rows = [
        build_row(n, Verdict.CORRECT, VoteCount(4, 0), reason="because " * 900) for n in range(9)
    ]
    reply = write_explanation_reply(900, view(*rows), None)
    assert reply.count("**#") == 8
    assert "1 more: `/r4p explain #N` gives the reasons for one patch." in reply
    assert len(reply) < 60_000


def test_a_stranger_to_the_group_is_not_explained():
    reply = write_explanation_reply(900, view(), "#99")
    assert reply.endswith("\n#99 is not among the patches compared here: #12 and #15.\n")


def test_without_a_verdict_there_is_nothing_to_explain():
    assert (
        write_no_verdict_reply(900)
        == """\
<!-- r4p:reply=900 -->

There is no verdict here yet.

`/r4p status` shows how far the work is. `/r4p verify` starts it.
"""
    )


@pytest.mark.parametrize(
    ("edit", "named", "first"),
    [
        (GroupEdit.ADD, (12, 15, 16), "Added: #12, #15 and #16."),
        (GroupEdit.REMOVE, (12,), "Removed: #12."),
        (GroupEdit.SHOW, (), "Compared here:\n- #12 (closes it)\n- #15 (added by command)\n"),
    ],
)
def test_a_changed_group_is_shown(edit, named, first):
    reply = write_group_reply(900, GroupView(edit, named, MEMBERS))
    assert reply.split("\n\n")[1] == first
    assert reply.endswith("- #15 (added by command)\n")


def test_an_empty_group_says_so():
    reply = write_group_reply(900, GroupView(GroupEdit.SHOW, (), ()))
    assert reply == "<!-- r4p:reply=900 -->\n\nNo pull request is linked to this issue.\n"


def test_the_reply_says_what_a_judgement_waits_for():
    wait = WaitForMore("the issue is closed", (LeftOutPull(15, "it is a draft"),))
    assert (
        write_waiting_reply(900, wait)
        == """\
<!-- r4p:not-judged=900 -->

Not judged: The issue is closed.

Left out:
- #15: it is a draft
"""
    )


@pytest.mark.parametrize(
    ("fix", "rest"), [(None, ""), ("try again later!", "\n\nTry again later\\!\n")]
)
def test_a_failure_names_the_reason_and_the_fix(fix, rest):
    reply = write_failed_reply(900, "the engine does not answer", fix)
    assert reply.startswith(
        "<!-- r4p:reply=900 -->\n\nThe command failed: The engine does not answer."
    )
    assert reply.rstrip("\n").endswith(rest.rstrip("\n"))


def test_no_reply_commands_anything():
    replies = [
        write_help_reply(1),
        write_unknown_reply(1, (Unknown("/r4p x", "`x` is not a command", "/r4p verify"),)),
        write_forbidden_reply(1, Verb.VERIFY, Permission.NONE),
        write_no_verdict_reply(1),
        write_explanation_reply(1, view(replace(CORRECT, verdict=replace(
            CORRECT.verdict, reason="/r4p verify\n\n/r4p verify"))), None),
    ]  # fmt: skip
    assert [parse(reply) for reply in replies] == [()] * len(replies)


def test_links_that_were_not_read_are_told_wherever_a_rival_may_be_missing():
    note = "The bot did not read all links of this issue"
    status = StatusView(MEMBERS, GroupProgress.JUDGED)
    assert note not in write_status_reply(5, 3, status)
    assert note in write_status_reply(5, 3, replace(status, all_links_read=False))
    wait = WaitForMore("the bot can judge no pull request and needs 1")
    assert note not in write_waiting_reply(5, wait)
    assert note in write_waiting_reply(5, wait, all_links_read=False)
