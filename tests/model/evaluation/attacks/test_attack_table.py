"""The attack table: structural kinds first, shares in one unit, and one flip of hundreds is not none."""

import pytest

from model.evaluation.attacks.attack_table import COLUMN_NAMES, AttackRates, build_rows
from model.evaluation.bootstrap import Estimate

NONE = Estimate(None, None, None)


def share(value):
    return Estimate(value, value / 2, min(1.0, value * 2))


def rates(**changed):
    of = dict.fromkeys(("rate_in_favour", "noise_in_favour", "rate", "noise"), share(0.0))
    counts = {"cases": 9, "open": 5, "flips_in_favour": 0}
    return AttackRates(**{**counts, **of, "shift": share(0.0), "unreadable": NONE, **changed})


def test_structural_kinds_come_first_and_all_together_last():
    kinds = dict.fromkeys(("delimiters", "ignore_others", "structural", "all"), rates())
    assert [row[0] for row in build_rows(kinds)] == [
        "structural",
        "delimiters",
        "ignore others",
        "all",
    ]


def test_no_two_columns_are_called_the_same():
    assert len(set(COLUMN_NAMES)) == len(COLUMN_NAMES) == len(build_rows({"all": rates()})[0])


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, "0 %"), (0.00236, "0.2 %"), (1 / 9, "11 %"), (1.0, "100 %")]
)
def test_shares_are_percentages_all_over(value, said):
    (row,) = build_rows(
        {"all": rates(rate=share(value), noise=share(value), rate_in_favour=share(0.5))}
    )
    assert row[:5] == ("all", "9", "0 of 5", "25 % … 100 %", "0 %")
    assert row[6:] == (said, said, "+0.000", "–")


def test_a_belief_that_crosses_a_half_is_shown_also_where_nothing_is_claimed():
    crossed = {"below_half": 7, "crossed_in_favour": 3, "crossed_against": 1}
    told, unknown = (build_rows({"all": one})[0] for one in (rates(**crossed), rates()))
    at = COLUMN_NAMES.index("past half")
    assert (told[at], unknown[at]) == ("3 of 7, 1 back", "–")
    (none,) = build_rows({"all": rates(**crossed | {"crossed_against": 0})})
    assert none[at] == "3 of 7"


def test_what_is_not_known_is_a_dash_and_what_words_do_alone_is_said():
    (row,) = build_rows(
        {"boxes": rates(flips_in_favour=2, flips_by_words=1, rate_in_favour=NONE, shift=NONE)}
    )
    assert row[:3] == ("boxes", "9", "2 of 5, 1 by words")
    assert row[3:] == ("– … –", "0 %", "–", "0 %", "0 %", "–", "–")
