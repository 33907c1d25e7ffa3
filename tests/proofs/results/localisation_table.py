"""What look-ups found, by project and over all: a summary as JSON, and as a table for docs/agents.md (pure)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from tests.proofs.results.intervals import mean

Row = Mapping[str, Any]
KINDS = ("code", "words")
"""Which names of a text were asked for: those written as code, or every word."""
_ALL = "all"


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Of the rows of a run file."""
    repos = sorted({row["repo"] for row in rows})
    parts = {repo: [row for row in rows if row["repo"] == repo] for repo in repos} | {_ALL: rows}
    return {name: _part(part) for name, part in parts.items()}


def _part(rows: Sequence[Row]) -> dict[str, Any]:
    fitting = [row for row in rows if row["fit"]]
    wanted = [row for row in fitting if row["entities"]]
    return {
        "issues": len(rows),
        "fitting": len(fitting),
        "in_place": sum(row["fit"]["off"] == 0 for row in fitting),
        "measured": len(wanted),
        "entities": sum(row["entities"] for row in wanted),
        "unreachable": sum(len(row["unreachable"]) for row in wanted),
        **{kind: _summarise_lookups(wanted, kind) for kind in KINDS},
    }


def _summarise_lookups(rows: Sequence[Row], kind: str) -> dict[str, Any]:
    def share(holds: Callable[[Row, Row], bool]) -> dict[str, float | None]:
        return asdict(mean([holds(row[kind], row) for row in rows]))

    return {
        "named_any": share(lambda counts, _: counts["named"] > 0),
        "named_all": share(lambda counts, row: counts["named"] == row["entities"]),
        "first_page_any": share(lambda counts, _: counts["first_page"] > 0),
        "shown_any": share(lambda counts, _: counts["shown"] > 0),
        "shown_all": share(lambda counts, row: counts["shown"] == row["entities"]),
        "file_any": share(lambda counts, _: counts["files"] > 0),
        "hits": asdict(
            mean([row[kind]["hits"] / row[kind]["lookups"] for row in rows if row[kind]["lookups"]])
        ),
        "lookups": _median(row[kind]["lookups"] for row in rows),
        "definitions": _median(row[kind]["definitions"] for row in rows),
        "definitions_per_lookup": _median(
            row[kind]["definitions"] / row[kind]["lookups"] for row in rows if row[kind]["lookups"]
        ),
    }


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(median(found), 1) if found else None


def markdown(results: Mapping[str, Any]) -> str:
    """Two tables: the issues, and what names written as code found in them; at its end, what every word found."""
    return f"{_issues(results)}\n\n{_shares(results)}"


def _issues(results: Mapping[str, Any]) -> str:
    keys = "issues", "fitting", "in_place", "measured", "entities", "unreachable"
    return "\n".join(
        [
            "| project | issues | a release fits | in place | measured | definitions | out of reach |",
            "| --- | --: | --: | --: | --: | --: | --: |",
            *(_line(name, *(str(part[key]) for key in keys)) for name, part in results.items()),
        ]
    )


def _shares(results: Mapping[str, Any]) -> str:
    lines = [_format_lookups(name, part["code"]) for name, part in results.items()]
    return "\n".join(
        [
            "| project | one named | all named | one on a first page | one shown | all shown | file | look-ups | definitions | hits |",
            "| --- | --- | --- | --- | --- | --- | --- | --: | --: | --- |",
            *lines,
            _format_lookups(f"{_ALL}, every word", results[_ALL]["words"]),
        ]
    )


def _format_lookups(name: str, summary: Mapping[str, Any]) -> str:
    keys = "named_any", "named_all", "first_page_any", "shown_any", "shown_all", "file_any"
    shares = [_share(summary[key]) for key in keys]
    counts = [_count(summary[key]) for key in ("lookups", "definitions")]
    return _line(name, *shares, *counts, _share(summary["hits"]))


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _share(interval: Mapping[str, float | None]) -> str:
    if interval["value"] is None:
        return "–"
    if interval["low"] is None:
        return _two(interval["value"])
    return f"{_two(interval['value'])} ({_two(interval['low'])}…{_two(interval['high'])})"


def _two(value: float) -> str:
    """Two decimals, without the nought before them."""
    return f"{value:g}" if value in {0, 1} else f"{value:.2f}".removeprefix("0")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
