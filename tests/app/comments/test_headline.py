"""The headline names the patches that a maintainer looks for."""

from dataclasses import replace

import pytest

from app.comments import write_headline, write_verdict_comment
from app.policy.rival_links import LinkStrength
from model.domain import Verdict, VoteCount
from tests.app.comments.views import CORRECT, INCORRECT, NOT_JUDGED, UNSURE, build_row, render, view

RIGHT = build_row(3, Verdict.CORRECT, VoteCount(4, 0))
WRONG = build_row(20, Verdict.INCORRECT, VoteCount(0, 4))
DOUBT, UNREAD = replace(UNSURE, pull=21), replace(NOT_JUDGED, pull=22)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ((CORRECT,), "#12 judged correct"),
        ((INCORRECT,), "#15 judged incorrect"),
        ((UNSURE,), "no clear answer for #16"),
        ((NOT_JUDGED,), "#18 could not be judged"),
        ((CORRECT, RIGHT), "#12 and #3 judged correct"),
        ((INCORRECT, CORRECT, WRONG), "#12 judged correct; #15 and #20 not"),
        ((CORRECT, NOT_JUDGED, UNSURE), "#12 judged correct; #16 unsure; #18 not judged"),
        ((INCORRECT, WRONG), "none of 2 pull requests judged correct"),
        ((INCORRECT, UNSURE), "#15 judged incorrect; #16 unsure"),
        ((UNSURE, DOUBT), "no clear answer for 2 pull requests"),
        ((NOT_JUDGED, UNREAD), "2 pull requests could not be judged"),
    ],
)
def test_headline_names_the_patches(rows, line):
    assert write_headline(view(*rows)) == line


def test_headline_of_a_large_group_counts_the_rest():
    rows = [build_row(n, Verdict.CORRECT, VoteCount(4, 0)) for n in range(1, 10)]
    assert write_headline(view(*rows)) == "#1, #2, #3, #4, #5, #6 and 3 more judged correct"


def test_rows_are_sorted_by_verdict_and_then_by_number():
    comment = write_verdict_comment(view(RIGHT, CORRECT, UNSURE, NOT_JUDGED, WRONG))
    order = [line.split(" ")[1] for line in comment.splitlines() if line.startswith("| #")]
    assert order == ["#3", "#12", "#20", "#16", "#18"]


def test_title_and_author_notify_nobody():
    row = replace(
        CORRECT, title="Fix @mona's | <b>list</b>, closes #7 https://evil.example", author="mona"
    )
    line = next(x for x in write_verdict_comment(view(row)).splitlines() if x.startswith("| #12"))
    html = render(f"| a | b | c | d |\n| --- | --- | --- | --- |\n{line}")
    assert " · mona |" in line
    assert html.count("<td") == 4
    assert not [live for live in ("@mona", "#7", "://", "<b>") if live in html]


def test_link_column_is_there_only_for_an_unusual_link():
    assert "closes it" not in write_verdict_comment(view())
    odd = replace(INCORRECT, strength=LinkStrength.CROSS_REFERENCE)
    assert "| closes it |" in write_verdict_comment(view(CORRECT, odd))


def score(number, value, **changes):
    row = build_row(number, Verdict.UNSURE, VoteCount(2, 2))
    return replace(row, verdict=replace(row.verdict, score=value, **changes))


def read_order(comment):
    return [line for line in comment.splitlines() if line.startswith("To read them")]


def test_unsure_patches_come_with_an_order_that_claims_nothing():
    comment = write_verdict_comment(view(score(2, 0.4), score(3, 0.4), score(5, 0.6)))
    assert read_order(comment) == [
        "To read them in some order: #5, then #2 and #3. This order follows the scores and claims nothing."
    ]
    assert "no clear answer for 3 pull requests" in comment


def test_rank_orders_before_score():
    rows = (score(2, 0.9, rank=0.5), score(3, 0.1, rank=2.0), score(5, 0.2, rank=1.0))
    (line,) = read_order(write_verdict_comment(view(*rows)))
    assert "#3, then #5, then #2." in line


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        ((score(2, 0.4), score(3, 0.6)), {"has_reading_order": False}),
        ((score(2, 0.4), score(3, 0.6)), {"is_demonstration": True}),
        ((score(2, 0.4), score(3, 0.6), WRONG), {}),
        ((score(2, 0.4), score(3, 0.4)), {}),
        ((score(2, 0.4), score(3, None)), {}),
        ((score(2, 0.4),), {}),
    ],
    ids=["not wanted", "demonstration", "a claim", "equal scores", "no score", "alone"],
)
def test_no_order_without_a_ground(rows, changes):
    assert read_order(write_verdict_comment(view(*rows, **changes))) == []


@pytest.mark.parametrize(("is_allowed", "word"), [(True, "Teach the bot"), (False, "Record it")])
def test_bot_says_that_it_learns_only_where_it_may(is_allowed, word):
    assert f"Right or wrong? {word} with `/r4p agree #N`" in write_verdict_comment(
        view(is_learning_allowed=is_allowed)
    )
