from dataclasses import replace

import pytest

from app.comments import BUTTONS, CheckText, write_check_run
from app.policy.commands import Button
from app.settings.repo_config import Mode
from model.domain import Verdict, VoteCount
from tests.app.comments.views import CORRECT, INCORRECT, NOT_JUDGED, UNSURE, view

COMMENT = "https://github.com/octo/cat/issues/3#issuecomment-1"


def test_a_check_run_reads_like_this():
    assert write_check_run(view(), CORRECT, COMMENT) == CheckText(
        name="r4p/verdict",
        head=CORRECT.head,
        conclusion="success",
        title="Correct: 4 of 4 votes agree (advisory)",
        summary=(
            "Commit `ccccccc`: **Correct**. What this rests on:\n\n"
            "- 4 of 4 votes agree\n"
            "- Not enough history for a probability\n"
            "- 2 of 2 files were read\n\n"
            "> It handles `[]` before the loop.\n\n"
            "Judged by `r4p` beside 1 other pull request.\n\n"
            f"[The whole verdict]({COMMENT})"
        ),
        details_url=COMMENT,
        buttons=BUTTONS,
    )


@pytest.mark.parametrize(
    ("row", "advisory", "enforce"),
    [
        (CORRECT, "success", "success"),
        (INCORRECT, "neutral", "failure"),
        (UNSURE, "neutral", "neutral"),
        (NOT_JUDGED, "skipped", "skipped"),
    ],
)
def test_only_an_incorrect_patch_fails_and_only_where_that_is_wanted(row, advisory, enforce):
    assert write_check_run(view(mode=Mode.ADVISORY), row).conclusion == advisory
    assert write_check_run(view(mode=Mode.ENFORCE), row).conclusion == enforce


@pytest.mark.parametrize(
    ("row", "title"),
    [
        (CORRECT, "Correct: 4 of 4 votes agree"),
        (INCORRECT, "Incorrect: 3 of 4 votes agree"),
        (UNSURE, "Unsure: votes 2 : 2"),
        (NOT_JUDGED, "Not judged: the diff is longer than the model can read"),
    ],
)
def test_the_title_begins_with_the_word(row, title):
    assert write_check_run(view(mode=Mode.ENFORCE), row).title == title


def test_the_demonstration_model_is_named_in_the_title():
    title = write_check_run(view(is_demonstration=True), CORRECT).title
    assert title == "Correct: 4 of 4 votes agree, demonstration model (advisory)"


def test_a_long_reason_for_not_judging_is_cut_in_the_title():
    row = replace(NOT_JUDGED, verdict=replace(NOT_JUDGED.verdict, reason="long\n" * 100))
    title = write_check_run(view(), row).title
    assert len(title) == 200
    assert "\n" not in title


def test_a_patch_that_was_not_judged_says_why_and_links_nowhere_without_a_comment():
    check = write_check_run(view(NOT_JUDGED), NOT_JUDGED)
    assert check.summary == (
        "The bot did not judge commit `1212121`: the diff is longer than the model can read."
    )
    assert check.details_url is None


def test_a_probability_is_shown_where_there_is_history():
    row = replace(CORRECT, verdict=replace(CORRECT.verdict, probability=0.9))
    check = write_check_run(view(row, INCORRECT, UNSURE, history=57), row)
    summary = check.summary
    assert check.title == "Correct: 4 of 4 votes agree, probability correct 90 % (advisory)"
    assert "- Probability correct: 90 %, from the outcomes of 57 earlier issues\n" in summary
    assert "Judged by `r4p` beside 2 other pull requests." in summary


def test_votes_that_nobody_could_read_are_no_opinion_to_weigh():
    row = replace(UNSURE, verdict=replace(UNSURE.verdict, votes=VoteCount(none=4)))
    check = write_check_run(view(row, history=57), row)
    assert check.title == "Unsure: no readable vote (advisory)"
    assert "- No opinion for a probability\n" in check.summary


def test_a_verifier_without_votes_is_named_in_their_place():
    row = replace(CORRECT, verdict=replace(CORRECT.verdict, votes=VoteCount()))
    check = write_check_run(view(row, verifier="yes-no"), row)
    assert check.title == "Correct: by yes-no, without votes (advisory)"
    assert "Judged by `yes-no`." in check.summary


def test_without_a_language_model_a_check_says_what_was_compared_and_speaks_of_no_vote():
    row = replace(CORRECT, verdict=replace(CORRECT.verdict, votes=VoteCount(), probability=0.9))
    check = write_check_run(
        view(row, verifier="consensus", has_model=False, asked=0, history=57), row
    )
    ground = "comparison of features, no language model"
    assert check.title == f"Correct: {ground}, probability correct 90 % (advisory)"
    assert (
        "- Comparison of features, no language model\n- Probability correct: 90 %" in check.summary
    )
    assert "- 2 of 2 files were compared\n" in check.summary
    assert "vote" not in check.summary


def test_a_check_says_once_that_a_patch_was_not_judged():
    reason = "Not judged: the patch is empty"
    row = replace(NOT_JUDGED, verdict=replace(NOT_JUDGED.verdict, reason=reason))
    check = write_check_run(view(row), row)
    assert check.title == "Not judged: the patch is empty"
    assert check.summary == "The bot did not judge commit `1212121`: the patch is empty."


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_summary_fits_into_githubs_field(verdict):
    row = replace(CORRECT, verdict=replace(CORRECT.verdict, verdict=verdict, reason="@" * 90_000))
    assert len(write_check_run(view(), row).summary) < 65_535


def test_the_buttons_keep_githubs_limits():
    assert [button.identifier for button in BUTTONS] == list(Button)
    assert all(len(button.label) <= 20 for button in BUTTONS)
    assert all(len(button.identifier) <= 20 for button in BUTTONS)
    assert all(len(button.description) <= 40 for button in BUTTONS)
