"""What came of the attempts, by agent: a summary as JSON, and as a table for docs/agents.md (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

Row = Mapping[str, Any]
_COLUMNS = {
    "agent": "---",
    "issues": "---",
    "replies, median (range)": "---",
    "of nothing that can be done": "---",
    "cut off": "--:",
    "ended by": "---",
    "patches": "--:",
    "git takes them": "--:",
    "replayed the same": "--:",
    "tokens read (cached)": "--:",
    "written": "--:",
    "seconds, median": "--:",
}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Of the rows of a run file; tokens are means of an attempt."""
    return {
        agent: _of([row for row in rows if row["agent"] == agent])
        for agent in sorted({row["agent"] for row in rows})
    }


def _of(rows: Sequence[Row]) -> dict[str, Any]:
    def total(key: str) -> int:
        return sum(row[key] for row in rows)

    def count(key: str) -> dict[str, int]:
        return dict(sum((Counter(row[key]) for row in rows), Counter()))

    rounds = [row["rounds"] for row in rows]
    tokens = {f"{kind}_tokens": round(total(f"{kind}_tokens") / len(rows)) for kind in _TOKENS}
    return {
        "model": rows[0]["model"],
        "issues": len(rows),
        "projects": len({row["repo"] for row in rows}),
        "rounds": {"median": median(rounds), "low": min(rounds), "high": max(rounds)},
        "replies": sum(rounds),
        "malformed": total("malformed"),
        "cut": total("cut"),
        "stops": dict(Counter(row["stop"] for row in rows).most_common()),
        "calls": count("calls"),
        "dropped": count("dropped"),
        "patches": total("patch"),
        "applied": total("applies"),
        "replayed": total("replays"),
        **tokens,
        "seconds": round(median(row["seconds"] for row in rows), 1),
    }


_TOKENS = ("prompt", "cached", "completion")


def markdown(results: Mapping[str, Any]) -> str:
    """One line an agent."""
    lines = [_row(_COLUMNS), _row(_COLUMNS.values())]
    return "\n".join([*lines, *(_line(agent, one) for agent, one in results.items())])


def _line(agent: str, summary: Mapping[str, Any]) -> str:
    rounds, replies = summary["rounds"], summary["replies"]
    malformed = f"{summary['malformed']} of {replies}"
    if replies:
        malformed += f" ({summary['malformed'] / replies:.0%})"
    cells = (
        agent,
        f"{summary['issues']} of {summary['projects']} projects",
        f"{rounds['median']:g} ({rounds['low']}…{rounds['high']})",
        malformed,
        f"{summary['cut']}",
        ", ".join(f"{stop} {count}" for stop, count in summary["stops"].items()),
        f"{summary['patches']}",
        f"{summary['applied']}",
        f"{summary['replayed']}",
        f"{summary['prompt_tokens']:,} ({summary['cached_tokens']:,})",
        f"{summary['completion_tokens']:,}",
        f"{summary['seconds']:,}",
    )
    return _row(cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
