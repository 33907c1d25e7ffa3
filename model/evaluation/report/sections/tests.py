"""Section: how much the tests that ran tell about the patches (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from model.evaluation.report.content import Section, Table, TableRow
from model.evaluation.report.series import GroupSet, Series, read_estimate

_TEXT = (
    "A test distinguishes if the best incorrect patch of a group fares differently on it from the best correct patch, "
    "and it is toxic if an incorrect patch passes it and no correct patch does (R2E-Gym, appendix C.3, equations 3 to "
    "6). The rates are means over groups. Most regression tests pass with every patch, so few of them distinguish."
)


def has_tests(sets: Sequence[GroupSet]) -> bool:
    """Return whether a verifier of these runs judged by tests."""
    return any("tests" in series.document for group_set in sets for series in group_set.series)


def build_tests_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on tests.

    It has a table for each group set that a verifier judged by tests, with a row for each verifier and kind of test.
    """
    # `tests` tells the kind: tests of the base, or tests that were written for the issue
    head = ("verifier", "tests", "groups", "tests run", "distinguishability", "toxicity")
    tables = [
        Table(f"{group_set.name}. {group_set.size}", head, rows, words=2)
        for group_set in sets
        if (rows := [row for series in group_set.series for row in _list_rows(series)])
    ]
    return Section("tests", "What the tests tell", (_TEXT, *tables))


def _list_rows(series: Series) -> Iterator[TableRow]:
    """Yield a row for each kind of test: verifier, kind, numbers of groups and of tests, and both rates."""
    kinds = cast("Mapping[str, dict[str, Any]]", series.document.get("tests", {}))
    for kind, tests in kinds.items():
        rates = [read_estimate(tests, name) for name in ("distinguishability", "toxicity")]
        yield series.label, kind, tests["groups"], tests["tests"], *rates
