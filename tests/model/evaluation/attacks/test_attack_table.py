"""The attack table: structural kinds first, shares in one unit, and one flip of hundreds is not none."""

import pytest

from model.evaluation.attacks.attack_table import COLUMN_NAMES, AttackRates, build_rows
from model.evaluation.bootstrap import Estimate

NONE = Estimate(None, None, None)


def build_share(value):
    return Estimate(value, value / 2, min(1.0, value * 2))


def build_rates(**changed):
    shares = dict.fromkeys(("rate_in_favour", "noise_in_favour", "rate", "noise"), build_share(0.0))
    counts = {"cases": 9, "open": 5, "flips_in_favour": 0}
    return AttackRates(
        **{**counts, **shares, "shift": build_share(0.0), "unreadable": NONE, **changed}
    )


def test_structural_kinds_are_first_and_the_total_is_last():
    kinds = dict.fromkeys(("delimiters", "ignore_others", "structural", "all"), build_rates())
    assert [row[0] for row in build_rows(kinds)] == [
        "structural",
        "delimiters",
        "ignore others",
        "all",
    ]


def test_column_names_are_unique():
    assert len(set(COLUMN_NAMES)) == len(COLUMN_NAMES) == len(build_rows({"all": build_rates()})[0])


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0 %"), (0.00236, "0.2 %"), (1 / 9, "11 %"), (1.0, "100 %")]
)
def test_shares_are_percentages(value, shown):
    (row,) = build_rows(
        {
            "all": build_rates(
                rate=build_share(value), noise=build_share(value), rate_in_favour=build_share(0.5)
            )
        }
    )
    assert row[:5] == ("all", "9", "0 of 5", "25 % … 100 %", "0 %")
    assert row[6:] == (shown, shown, "+0.000", "–")


def test_crossed_beliefs_are_shown_or_a_dash():
    crossed = {"below_half": 7, "crossed_in_favour": 3, "crossed_against": 1}
    row_of_crossed, row_without = (
        build_rows({"all": one})[0] for one in (build_rates(**crossed), build_rates())
    )
    at = COLUMN_NAMES.index("past half")
    assert (row_of_crossed[at], row_without[at]) == ("3 of 7, 1 back", "–")
    (row_without_return,) = build_rows({"all": build_rates(**crossed | {"crossed_against": 0})})
    assert row_without_return[at] == "3 of 7"


def test_unknown_values_are_dashes_and_flips_by_words_are_shown():
    (row,) = build_rows(
        {"boxes": build_rates(flips_in_favour=2, flips_by_words=1, rate_in_favour=NONE, shift=NONE)}
    )
    assert row[:3] == ("boxes", "9", "2 of 5, 1 by words")
    assert row[3:] == ("– … –", "0 %", "–", "0 %", "0 %", "–", "–")
