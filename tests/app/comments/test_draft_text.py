"""What a draft pull request says of itself, and what is told of it."""

from dataclasses import replace

import pytest

from app.comments import (
    DraftView,
    write_draft_body,
    write_draft_exists_reply,
    write_draft_failed_reply,
    write_draft_opened_reply,
    write_draft_refused_reply,
    write_draft_title,
    write_own_draft_reply,
)
from app.comments.draft_text import WHY_NOT_OPENED
from app.policy.draft_policy import DraftRefusal
from app.policy.rival_links import find_closing_numbers
from model.domain import Verdict

VIEW = DraftView(7, "A1", "mini-se", "Coder-7B", Verdict.CORRECT, "b" * 40, "octo", "https://gh/c")


def test_a_draft_says_whose_it_is_and_what_was_not_done():
    assert write_draft_title(7, "A1") == "Alternative A1 for issue #7"
    assert (
        write_draft_body(VIEW)
        == f"""\
**Untested.** The bot's own agent (mini-se, Coder-7B) wrote this patch for #7. The agent read the code and ran \
nothing. Nobody has run the result.

This is alternative A1, written on `{"b" * 40}`. octo asked for this pull request. \
Verdict: Correct ([the verdict](https://gh/c)).

The person who marks it as ready is responsible for it. Merging it leaves #7 open, unless somebody links the two. \
The bot does not judge this pull request again and does not learn from its outcome.
"""
    )


def test_a_draft_of_an_unjudged_alternative_shows_no_verdict():
    said = write_draft_body(replace(VIEW, verdict=None, comment=None))
    assert "asked for this pull request. The bot has not judged it.\n" in said


def test_a_draft_promises_to_close_nothing_and_calls_nobody():
    hostile = replace(VIEW, agent="fixes #1 @octo", model="closes #2", asked_by="@everyone `x`")
    said = f"{write_draft_title(7, 'A1')}\n\n{write_draft_body(hostile)}"
    assert find_closing_numbers(said, "octo/cat") == ()
    assert "@octo" not in said
    assert "@everyone" not in said


def test_the_reply_names_the_number_of_the_draft():
    assert write_draft_opened_reply("900", 3, "A1", 12) == (
        "<!-- r4p:draft=3-900 -->\n\nA1 is open as a draft pull request: #12. Nobody has tested it.\n"
    )
    assert write_draft_exists_reply("901", "A1", 12) == (
        "<!-- r4p:reply=901 -->\n\nA1 already has a draft pull request: #12.\n"
    )


@pytest.mark.parametrize("why", list(DraftRefusal))
def test_every_reason_has_its_sentence(why):
    sentence = f"No draft pull request of A1: {WHY_NOT_OPENED[why]}.\n"
    assert (
        write_draft_failed_reply("900", 3, "A1", why) == f"<!-- r4p:draft=3-900 -->\n\n{sentence}"
    )
    assert write_draft_refused_reply("900", "A1", why) == f"<!-- r4p:reply=900 -->\n\n{sentence}"


def test_our_own_draft_is_not_compared_once_more():
    assert write_own_draft_reply("900", 12) == (
        "<!-- r4p:reply=900 -->\n\n"
        "#12 is the bot's own draft of an alternative. The bot already compares that alternative.\n"
    )
