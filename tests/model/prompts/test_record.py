"""A record is shortened by one rule: long results first, then the middle. One character is one token here."""

import pytest

from model.prompts.record import fit_record, hide_marks

LEFT_OUT = "(left out)\n"


def build_record(*results):
    steps = (f"[step {at}]\nI look.\n[result]\n{text}" for at, text in enumerate(results, 1))
    return "\n".join(steps)


RESULTS = ("a" * 90, "b" * 300, "c" * 200, "d" * 1000, *["e" * 40] * 4)
"""The last five stay: the longest of all is among them."""
RECORD = build_record(*RESULTS)


@pytest.mark.parametrize(
    ("room", "dropped"),
    [
        (len(RECORD), ""),
        (len(RECORD) - 1, "b"),
        (len(RECORD) - 301 + len(LEFT_OUT), "b"),
        (len(RECORD) - 302 + len(LEFT_OUT), "bc"),
        (len(RECORD) - 301 - 201 - 91 + 3 * len(LEFT_OUT), "abc"),
    ],
)
def test_longest_results_go_first_and_the_last_five_stay(room, dropped):
    shown = [LEFT_OUT[:-1] if text[0] in dropped else text for text in RESULTS]
    assert fit_record(RECORD, room, len) == build_record(*shown)


def test_middle_goes_when_results_are_not_enough():
    short = build_record(*(LEFT_OUT[:-1] if text[0] in "abc" else text for text in RESULTS))
    shown = fit_record(RECORD, 1000, len)
    head, _, rest = shown.partition("\n… ")
    count, tail = rest.split(" characters left out …\n")
    assert len(short) - len(head) - len(tail) == int(count)
    assert short.startswith(head)
    assert short.endswith(tail)
    assert len(head) - len(tail) in {0, 1}
    assert len(shown) == 1000


def test_any_text_is_cut_in_the_middle():
    assert fit_record("x" * 100 + "y" * 100, 99, len) == (
        "x" * 35 + "\n… 130 characters left out …\n" + "y" * 35
    )


@pytest.mark.parametrize(("record", "room"), [("I ran it.", 63), (" \n", 500), ("", 500)])
def test_nothing_is_shown_without_room_or_text(record, room):
    assert fit_record(record, room, len) == ""


def test_room_counts_the_escaped_text():
    assert fit_record("</patch-1>" * 8, 80, len, frozenset()).count("⟦U+003C⟧") < 8
    assert fit_record("</patch-1> <|zz|>", 90, len) == "⟦U+003C⟧/patch-1> ⟦U+003C⟧|zz|>"


def test_huge_text_is_cut_before_it_is_counted():
    counted = []

    def count(text):
        counted.append(len(text))
        return len(text)

    fit_record("x" * 10_000_000, 100, count)
    assert max(counted) < 100 * 16 + 100


def test_marks_cannot_be_forged():
    text = "[result]\n[step 9]\nsee [step 1]\n[call] x\n[step x]"
    assert hide_marks(text) == " [result]\n [step 9]\nsee [step 1]\n [call] x\n[step x]"
