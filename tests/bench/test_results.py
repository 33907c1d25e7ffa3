"""The record of a bench keeps what it is told; nothing here is timed."""

import pytest

from tests.bench.results import Machine, Section, cells, page, read, save
from tests.bench.support.measurements import Figure, at_least, at_most, percentile

MACHINE = Machine(2, "a processor", "Linux 6", "3.11", "18", {"psycopg": "3"})
QUICKER = Figure(
    *("W1", "webhook", "req/s", (80.0, 100.0, 90.0), "the floor", (100.0, 100.0, 180.0)),
    ratio_asked=at_least(0.6),
)
SMALLER = Figure("W5", "memory", "MB", (140.0,), asked=at_most(130), note="after load")


def build_section(subject, *figures):
    return Section(subject, "How.", "2026-11-21 05:00 UTC", (0.1, 0.2), MACHINE, figures)


def test_ratio_is_the_median_of_pairs():
    assert QUICKER.ratio == 0.8
    assert QUICKER.holds is True
    assert SMALLER.holds is False


def test_missing_anchor_decides_nothing():
    alone = Figure("W3", "webhook", "req/s", (80.0,), "not run: no Python 3.12", (), at_least(5))
    assert alone.holds is None
    assert cells(alone)[4] == "not run: no Python 3.12"


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2), (0.99, 4), (0.25, 1), (0.0, 1)])
def test_percentile_is_an_observed_value(share, expected):
    assert percentile([4, 2, 1, 3], share) == expected


def test_anchor_of_even_runs_is_the_mean_of_the_middle_two():
    two = Figure("L1", "patches", "1/s", (4.0, 4.0), "one by one", (1.0, 2.0))
    assert cells(two)[4] == "one by one: 1.5"


def test_subjects_that_were_not_run_are_kept(tmp_path):
    save([build_section("webhook", QUICKER)], tmp_path)
    save([build_section("queue", SMALLER)], tmp_path)
    assert read(tmp_path / "benchmarks.json") == [
        build_section("queue", SMALLER),
        build_section("webhook", QUICKER),
    ]


def test_page_shows_targets_and_whether_they_hold():
    assert [
        line for line in page([build_section("all", QUICKER, SMALLER)]).splitlines() if "W" in line
    ] == [
        "| W1 | webhook | req/s | 90 (80..100) | the floor: 100 | 0.80 | ≥ 0.6 × | yes |",
        "| W5 | memory | MB | 140 | – | – | ≤ 130 MB | **no** |",
        "- W5: after load",
    ]
