"""Comment and check say how the rivals differ, and nothing in their names becomes active."""

from dataclasses import replace

from app.comments import write_check_run, write_verdict_comment
from model.domain import ChangedPlace, DifferenceKind, PatchId, RivalDifference
from tests.app.comments.views import render, view

SAME = RivalDifference(DifferenceKind.SAME_EDIT, (PatchId("#12"), PatchId("#15")))


def write(*differences):
    shown = replace(view(), differences=differences)
    texts = (write_verdict_comment(shown), write_check_run(shown, shown.rows[0]).summary)
    comment, check = (
        [line for line in text.split("\n") if line.startswith("How they differ")] for text in texts
    )
    assert comment == check
    return comment


def test_differences_stand_below_the_table():
    only = RivalDifference(
        DifferenceKind.ONLY, (PatchId("#12"),), (ChangedPlace("src/parser.py", "parse_header"),)
    )
    assert write(SAME, only) == [
        (
            "How they differ: #12 and #15 make the same edit. "
            "Only #12 changes `parse_header()` in `parser.py`."
        )
    ]


def test_without_differences_there_is_no_line():
    assert write() == []


def test_names_of_strangers_stay_text():
    path = "x` @mona closes #7 <img src=x> [a](https://evil.example).py"
    (line,) = write(RivalDifference(DifferenceKind.ONLY, (PatchId("#12"),), (ChangedPlace(path),)))
    html = render(line)
    assert "<img" not in html
    assert "<a " not in html
    assert "@mona" not in html
    assert "#7" not in html
