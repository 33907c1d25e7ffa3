"""What look-ups found, by project and over all: a summary as JSON, and as a table for docs/agents.md (pure)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from tests.proofs.intervals import mean

Row = Mapping[str, Any]
KINDS = {"code": "names written as code", "words": "every word"}
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
        **{kind: _found(wanted, kind) for kind in KINDS},
    }


def _found(rows: Sequence[Row], kind: str) -> dict[str, Any]:
    def share(holds: Callable[[Row, Row], bool]) -> dict[str, float | None]:
        return asdict(mean([holds(row[kind], row) for row in rows]))

    return {
        "named_any": share(lambda found, _: found["named"] > 0),
        "named_all": share(lambda found, row: found["named"] == row["entities"]),
        "first_page_any": share(lambda found, _: found["first_page"] > 0),
        "shown_any": share(lambda found, _: found["shown"] > 0),
        "shown_all": share(lambda found, row: found["shown"] == row["entities"]),
        "file_any": share(lambda found, _: found["files"] > 0),
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


def markdown(of: Mapping[str, Any]) -> str:
    """Three tables: the issues, and what each kind of name found."""
    blocks = [_issues(of)]
    blocks += [f"{what.capitalize()}:\n\n{_shares(of, kind)}" for kind, what in KINDS.items()]
    return "\n\n".join(blocks)


def _issues(of: Mapping[str, Any]) -> str:
    lines = [
        "| project | issues | with a tree | of these without a line's offset | measured | definitions | not found by their own name |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    keys = "issues", "fitting", "in_place", "measured", "entities", "unreachable"
    lines += [_line(name, *(str(part[key]) for key in keys)) for name, part in of.items()]
    return "\n".join(lines)


def _shares(of: Mapping[str, Any], kind: str) -> str:
    lines = [
        "| project | one named | all named | one on a first page | one shown | all shown | file | look-ups | definitions | a look-up that hits |",
        "| --- | --- | --- | --- | --- | --- | --- | --: | --: | --- |",
    ]
    keys = "named_any", "named_all", "first_page_any", "shown_any", "shown_all", "file_any"
    for name, part in of.items():
        found = part[kind]
        counts = str(found["lookups"]), str(found["definitions"])
        shares = [_share(found[key]) for key in keys]
        lines.append(_line(name, *shares, *counts, _share(found["hits"])))
    return "\n".join(lines)


def _share(one: Mapping[str, float | None]) -> str:
    if one["value"] is None:
        return "–"
    value = f"{one['value']:.2f}".lstrip("0") if one["value"] < 1 else "1"
    if one["low"] is None:
        return value
    low, high = (f"{one[key]:.2f}".removeprefix("0") for key in ("low", "high"))
    return f"{value} ({low}…{high})"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
