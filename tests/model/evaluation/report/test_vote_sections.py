"""Sections that look at single votes: who deviates, and which seat is favoured."""

from dataclasses import replace

from model.domain import VoteCount
from model.evaluation.report.content import format_number
from model.evaluation.report.sections import repeatability, seat_bias
from tests.model.evaluation.report.builders import (
    NAMES,
    build_group,
    build_run,
    build_set,
    list_rows,
    seat_vote,
)


def build_voted_group(issue, *counts):
    group = build_group(issue, votes=3)
    patches = [
        replace(one, votes=VoteCount(*count))
        for one, count in zip(group.patches, counts, strict=True)
    ]
    return replace(group, patches=tuple(patches))


def test_deviating_votes_are_a_patchs_minority():
    judged = [
        build_voted_group("a", (3, 0, 0), (2, 1, 0), (0, 3, 0), (2, 0, 1)),
        build_voted_group("b", (3, 0, 0), (1, 2, 0), (0, 3, 0), (3, 2, 0)),
    ]
    section = repeatability.build_deviation_section(build_set(judged))
    assert [row[:4] for row in list_rows(section)] == [
        ("r4p", "7", "0", format_number(4 / 7)),
        ("r4p", "7", "1", format_number(2 / 7)),
        ("r4p", "7", "2", format_number(1 / 7)),
    ]
    assert section.figures[0].caption.endswith("2 issues, 7 patches.")
    assert section.missing == ()


def test_too_few_votes_have_no_deviation():
    section = repeatability.build_deviation_section(
        build_set(build_run("consensus"), build_run(votes=1))
    )
    assert section.figures == section.tables == ()
    assert section.missing == (
        "consensus on s: no votes are cast, so nothing can deviate from their majority.",
        "r4p on s: at most 1 readable vote on a patch, and it takes 3 (r4p evaluate --votes 3 or more).",
    )


def build_cast_group(issue, *votes):
    return replace(build_group(issue), votes=tuple(votes), asked=len(votes))


def test_seat_bias_is_measured():
    a, b, c, d = NAMES
    judged = [
        build_cast_group(
            issue,
            seat_vote([a], (a, b, c, d)),
            seat_vote([b], (b, a, d, c)),
            seat_vote(None, (c, d, a, b)),
            seat_vote([c], (c, None, b, a)),
        )
        for issue in ("x", "y")
    ]
    section = seat_bias.build_seats_section(build_set(judged))
    assert [row[1:4] for row in list_rows(section)] == [
        ("1", "6", "1.000"), ("2", "4", "0.000"), ("3", "6", "0.000"), ("4", "6", "0.000"),
    ]  # fmt: skip
    assert list_rows(section)[0][5] == format_number(
        1 - 1 / 3
    )  # each of the three once in three votes
    assert "Mixed: r4p 6 of 8 patches" in section.tables[0].caption
    assert "2 issues, 8 patches, 22 votes on them" in section.figures[0].caption


def test_one_seat_shows_no_bias():
    a, *_ = NAMES
    alone = [build_cast_group("x", seat_vote([a], (a,)), seat_vote([], (a,)))]
    section = seat_bias.build_seats_section(build_set(alone, build_run("consensus")))
    assert section.figures == ()
    assert section.missing == (
        "consensus on s: no votes are cast, so no seat can sway them.",
        "r4p on s: no patch has readable votes in two different seats.",
    )
