"""Rubrics are read from any reply, bounded, and scored by the lines that could be graded."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import GradedLine, RubricKind, RubricLine, RubricMark
from model.voting.rubric import (
    MAX_LINES,
    TEXT_CHARACTERS,
    Grade,
    combine_grades,
    compute_score,
    explain_grades,
    read_grades,
    read_lines,
    render_rubric,
)

MET, MISSED, UNKNOWN = RubricMark.MET, RubricMark.NOT_MET, RubricMark.CANNOT_TELL
LINE = {"kind": "runtime", "weight": 2, "text": "an empty list gives 0"}


def grade(*weights_and_marks):
    return [
        GradedLine(RubricLine(RubricKind.RUNTIME, weight, f"line of weight {weight}"), mark)
        for weight, mark in weights_and_marks
    ]


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps([LINE]),
        json.dumps({"lines": [LINE]}),
        f"Here it is:\n```json\n{json.dumps([LINE], indent=1)}\n```\nThat is all.",
        json.dumps([LINE])[:-1] + ', {"kind": "runtime", "weight": 3, "text": "cut of',
        json.dumps([LINE | {"kind": "Runtime ", "text": "  an empty\nlist gives 0 "}]),
        json.dumps([LINE, LINE | {"text": "An empty list gives 0"}]),
        json.dumps([LINE | {"weight": 7}, LINE | {"kind": "vibes"}, {"a": 1}, LINE]),
    ],
    ids=["list", "object", "fenced", "cut", "spelling", "repeated", "invalid lines"],
)
def test_valid_line_is_read_from(reply):
    assert read_lines(reply) == (RubricLine(RubricKind.RUNTIME, 2, "an empty list gives 0"),)


@pytest.mark.parametrize(
    "line",
    [{"text": "x" * (TEXT_CHARACTERS + 1)}, {"text": "ab"}, {"weight": 0}, {"kind": None}],
)
def test_line_out_of_bounds_is_dropped(line):
    assert read_lines(json.dumps([LINE | line])) == ()


def test_number_of_lines_is_bounded():
    many = [LINE | {"text": f"condition {number}"} for number in range(MAX_LINES + 30)]
    assert len(read_lines(json.dumps(many))) == MAX_LINES


@given(st.text(alphabet='{}[]",:kindweightx12 \ud800\0', max_size=300))
def test_any_reply_is_read_without_an_error(reply):
    assert len(read_lines(reply)) <= MAX_LINES
    assert set(read_grades(reply, 3)) <= {1, 2, 3}


def test_deeply_nested_reply_is_no_rubric():
    assert read_lines('{"a":' * 4000) == ()


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("1: MET - it returns 0", Grade(MET, "it returns 0")),
        ("1. NOT MET: the loop skips", Grade(MISSED, "the loop skips")),
        ("**Line 1**: **Not met** — why", Grade(MISSED, "why")),
        ("1) cannot tell", Grade(UNKNOWN)),
        ("- 1: UNMET", Grade(MISSED)),
        ("1: METAL is not a grade", None),
        ("21: MET", None),
        ("0: MET", None),
        ("1: MET\n1: NOT MET", None),
        ("1: MET\n1: MET - again", Grade(MET)),
        ("it is met", None),
    ],
)
def test_grade_is_read(reply, grade):
    assert read_grades(reply, 3).get(1) == grade


def test_mark_of_a_line_is_that_of_most_gradings():
    lines = [line.line for line in grade((3, MET), (2, MET), (1, MET))]
    gradings = [
        {1: Grade(MET, "first"), 2: Grade(MET), 3: Grade(UNKNOWN)},
        {1: Grade(MET, "second"), 2: Grade(MISSED)},
        {1: Grade(MISSED, "no"), 3: Grade(UNKNOWN)},
    ]
    graded = combine_grades(lines, gradings)
    assert [line.mark for line in graded] == [MET, UNKNOWN, UNKNOWN]
    assert graded[0].note == "first"


@pytest.mark.parametrize(
    ("graded", "score"),
    [
        ([(3, MET), (1, MISSED)], 0.75),
        ([(3, MISSED), (1, MET)], 0.25),
        ([(3, MET), (3, UNKNOWN)], 1.0),
        ([(1, MET), (3, UNKNOWN)], None),
        ([(3, UNKNOWN)], None),
        ([(2, MISSED)], 0.0),
        ([], None),
    ],
)
def test_score_is_the_weighted_share_of_met_lines_among_the_graded(graded, score):
    assert compute_score(grade(*graded)) == score


def test_reason_counts_lines_and_names_the_heaviest_that_is_missed():
    text = explain_grades(
        grade((1, MISSED), (3, MISSED), (2, MET), (2, UNKNOWN)), "the issue alone"
    )
    assert text == (
        "Meets 1 of 4 lines of a checklist written from the issue alone; 1 could not be graded. "
        "Not met: line of weight 3"
    )


def test_rubric_is_shown_as_numbered_lines():
    assert render_rubric([line.line for line in grade((1, MET), (2, MET))]) == (
        "1. line of weight 1\n2. line of weight 2"
    )
