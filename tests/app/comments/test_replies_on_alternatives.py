"""Answers about alternatives: what begins, what is refused and why, what they cost."""

from app.comments import (
    AlternativesStatus,
    GroupProgress,
    StatusView,
    write_no_alternative_reply,
    write_no_retry_reply,
    write_proposal_refused_reply,
    write_proposing_reply,
    write_retry_reply,
    write_status_reply,
)
from app.policy.alternative_policy import Cost, RefusalReason
from app.policy.commands import parse
from app.settings.repo_config import AlternativesBudget

BUDGET = AlternativesBudget(tokens=200_000, seconds=3_600)


def status(**changes):
    given = {"alternatives": (), "running": 0, "spent": Cost(), "budget": BUDGET, **changes}
    return write_status_reply(
        "900", 7, StatusView((), GroupProgress.JUDGED, alternatives=AlternativesStatus(**given))
    )


def test_status_tells_what_is_written_what_it_cost_and_what_failed():
    assert status(
        alternatives=(1, 2), running=1, spent=Cost(12_345, 95.4), last_failure=RefusalReason.TIMEOUT
    ).endswith(
        """
- Alternatives by the bot: A1 and A2, 1 in progress.
- Used today: 12,345 of 200,000 tokens, 95 of 3,600 s.
- The last attempt failed: the agent used up its time.
"""
    )


def test_status_says_that_there_is_none():
    assert "- Alternatives by the bot: none.\n- Used today: 0 of" in status()
    assert "Alternatives" not in write_status_reply("900", 7, StatusView((), GroupProgress.JUDGED))


def test_the_reply_to_propose_says_what_begins():
    assert (
        write_proposing_reply("900", "mini-se", "Coder`-7B")
        == """\
<!-- r4p:reply=900 -->

`mini-se` with `Coder'-7B` will write an alternative. It reads the code, edits a copy and runs nothing. \
The bot judges its patch beside the pull requests and shows it in the verdict.

`/r4p status` shows how far the work is.
"""
    )


def test_a_server_with_one_model_needs_no_name_for_it():
    assert "\n\n`mini-se` will write an alternative. " in write_proposing_reply(
        "900", "mini-se", None
    )


def test_a_refusal_says_why_at_once_or_later():
    assert write_proposal_refused_reply("900", RefusalReason.NO_AGENT) == (
        "<!-- r4p:reply=900 -->\n\nNo alternative: the bot has no language model that writes, so it has no agent.\n"
    )
    assert write_no_alternative_reply("900", RefusalReason.NO_BASE) == (
        "<!-- r4p:not-judged=900 -->\n\nNo alternative: the bot could not read the code.\n"
    )


def test_the_reply_to_a_reason_names_the_second_attempts():
    assert write_retry_reply("900", [1, 2]) == (
        "<!-- r4p:reply=900 -->\n\nAn agent will try A1 and A2 again, with your reason as feedback.\n"
    )


def test_words_that_lead_to_nothing_are_recorded_all_the_same():
    assert write_no_retry_reply("900", RefusalReason.BUDGET) == (
        "<!-- r4p:reply=900 -->\n\nRecorded. There is no second attempt: "
        "this repository's budget for alternatives is used up for today.\n"
    )


def test_no_answer_commands():
    answers = [write_proposing_reply("1", "/r4p verify", "x"), status()]
    assert [parse(answer) for answer in answers] == [()] * 2
