"""What `r4p verify` prints for people: the answer first, then the patches from the best to the worst."""

import pytest

from model.commands.output import print_verdict
from model.coverage import Coverage
from model.domain import (
    EngineInfo,
    GroupVerdict,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    VoteCount,
)
from tests.model.commands.printed_table import read_table

COVERAGE = Coverage(12, 12)


def build_row(name, verdict, probability=None, score=0.5):
    reason = f"reason of {name}"
    return PatchVerdict(
        PatchId(name), verdict, VoteCount(3, 1), reason, COVERAGE, probability, score
    )


@pytest.fixture
def show(monkeypatch, capsys):
    """Returns what `print_verdict` writes to a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def write(*rows, asked=4):
        engine = EngineInfo("scripted" if asked else "consensus", "m", "f")
        print_verdict(GroupVerdict(rows, engine, (), asked, (), Tokens(), 0.0, 0.0))
        return capsys.readouterr().out

    return write


def test_the_first_line_names_the_correct_patches(show):
    text = show(
        build_row("fixes/a.diff", Verdict.INCORRECT), build_row("fixes/b.diff", Verdict.CORRECT)
    )
    first = text.splitlines()[0]
    assert first == "R4P verdict: fixes/b.diff judged correct; fixes/a.diff not"
    unsure = show(*(build_row(name, Verdict.UNSURE) for name in ("a.diff", "b.diff")))
    assert unsure.splitlines()[0] == "R4P verdict: no clear answer for 2 patches"


def test_rows_and_reasons_are_sorted_by_verdict_and_then_by_probability(show):
    text = show(
        build_row("unread", Verdict.NOT_JUDGED, None, None),
        build_row("low", Verdict.UNSURE, 0.3, 0.9),
        build_row("wrong", Verdict.INCORRECT, 0.1),
        build_row("high", Verdict.UNSURE, 0.6, 0.2),
        build_row("right", Verdict.CORRECT, 0.9),
    )
    order = ["right", "wrong", "high", "low", "unread"]
    assert [row[0] for row in read_table(text)[1]] == order
    reasons = [line for line in text.splitlines() if ": reason of " in line]
    assert reasons == [f"{name}: reason of {name}" for name in order]


def test_columns_of_votes_are_there_only_when_votes_were_asked(show):
    row = build_row("a.diff", Verdict.UNSURE, 0.4)
    headings, rows = read_table(show(row))
    assert headings[2:5] == ["votes for", "against", "none"]
    assert rows == [["a.diff", "unsure", "3", "1", "0", "12 of 12", "0.50", "0.40"]]
    headings, rows = read_table(show(row, asked=0))
    assert headings == ["patch", "verdict", "files seen", "score", "probability"]
    assert rows == [["a.diff", "unsure", "12 of 12", "0.50", "0.40"]]


def test_headings_stay_whole_in_80_columns_beside_a_long_name(show):
    name = "patches/of-an-agent/that-wrote-a-very-long-name/for-its-only-candidate.diff"
    text = show(build_row(name, Verdict.NOT_JUDGED, 0.4))
    headings, ((shown, *_),) = read_table(text)
    assert headings[-2:] == ["score", "probability"]
    assert name.startswith(shown)
    assert max(map(len, text.splitlines())) <= 80
