"""The record of a run: `docs/benchmarks.json` for machines, `docs/benchmarks.md` for people."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.bench.support.measurements import Bound, Figure, format_rounded

HEADINGS = ("id", "what", "unit", "ours", "beside it", "ratio", "asked", "holds")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the figures belong to."""

    cores: int
    cpu: str
    kernel: str
    python: str
    postgresql: str
    libraries: dict[str, str]

    def __str__(self) -> str:
        libraries = ", ".join(f"{name} {number}" for name, number in self.libraries.items())
        return (
            f"{self.cores} cores ({self.cpu}), {self.kernel}, Python {self.python},"
            f" PostgreSQL {self.postgresql}; {libraries}"
        )


@dataclass(frozen=True, slots=True)
class Section:
    """One subject's figures, with when and where they were taken."""

    subject: str
    about: str
    date: str
    load: tuple[float, float]
    """Before and after."""
    machine: Machine
    figures: tuple[Figure, ...]


def today() -> str:
    """The UTC date and time to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def save(sections: Sequence[Section], docs: Path) -> None:
    """Write both files; subjects that were not run keep what stands there."""
    docs.mkdir(exist_ok=True)
    record = docs / "benchmarks.json"
    known = {section.subject: section for section in read(record)}
    known |= {section.subject: section for section in sections}
    kept = sorted(known.values(), key=lambda section: section.subject)
    record.write_text(json.dumps([asdict(one) for one in kept], indent=1, ensure_ascii=False))
    (docs / "benchmarks.md").write_text(page(kept))


def read(record: Path) -> list[Section]:
    """What was recorded; nothing when there is no file."""
    if not record.exists():
        return []
    return [_section(found) for found in json.loads(record.read_text())]


def page(sections: Sequence[Section]) -> str:
    """The table and what one must know to read it (pure)."""
    machines = {str(section.machine) for section in sections}
    lines = ["# Speed, measured", "", *_INTRODUCTION, ""]
    if len(machines) == 1:
        lines += [f"Machine: {next(iter(machines))}.", ""]
    lines += [_line(HEADINGS), _line(["---"] * 3 + ["--:"] * 5)]
    lines += [_line(cells(figure)) for section in sections for figure in section.figures]
    lines += [
        "",
        *(line for section in sections for line in _format_section(section, len(machines) > 1)),
    ]
    return "\n".join(lines)


def cells(figure: Figure) -> list[str]:
    """One line of the table (pure)."""
    asked = [f"{figure.asked} {figure.unit}"] if figure.asked else []
    if figure.ratio_asked:
        asked.append(f"{figure.ratio_asked} ×")
    beside = figure.beside
    anchor = f"{figure.anchor}: {format_rounded(median(beside))}" if beside else figure.anchor
    return [
        figure.id,
        figure.what,
        figure.unit,
        _spread(figure),
        anchor or "–",
        f"{figure.ratio:.2f}" if figure.ratio is not None else "–",
        ", ".join(asked) or "–",
        {True: "yes", False: "**no**", None: "–"}[figure.holds],
    ]


_INTRODUCTION = (
    "`make bench` writes this page and `benchmarks.json`, which holds every run.",
    "`.venv/bin/python -m tests.bench --only webhook,queue` renews these subjects only. `--quick` shows",
    "a rough table and writes nothing. *Floors* are minimal programs in `tests/bench/programs/floor_*.py`. *Peers*",
    "are other projects, installed into `~/.cache/r4p/peers` (`R4P_BENCH_PEERS`).",
    "",
    "The bot and the program beside it ran in turn on this machine. The load generator, the server and",
    "the database shared its cores. Values are medians, and brackets hold the range of the runs. Ratios",
    "are medians of the ratios of pairs. **Absolute values depend on the machine and the hour; ratios",
    "last.** A difference under a tenth is noise.",
)


def _format_section(section: Section, apart: bool) -> list[str]:
    before, after = section.load
    lines = [f"## {section.subject}", "", section.about, ""]
    lines += [f"Measured on {section.date}, load average {before:g} → {after:g}.", ""]
    lines += [f"Machine: {section.machine}.", ""] if apart else []
    lines += [f"- {figure.id}: {figure.note}" for figure in section.figures if figure.note]
    return [*lines, ""]


def _spread(figure: Figure) -> str:
    value = format_rounded(figure.value)
    if len(figure.ours) == 1:
        return value
    return f"{value} ({format_rounded(min(figure.ours))}..{format_rounded(max(figure.ours))})"


def _line(parts: Sequence[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _section(document: dict[str, object]) -> Section:
    figures = tuple(_figure(one) for one in document["figures"])
    machine = Machine(**document["machine"])
    values = document | {"figures": figures, "machine": machine, "load": tuple(document["load"])}
    return Section(**values)


def _figure(document: dict[str, object]) -> Figure:
    bounds = {
        name: Bound(**document[name]) if document[name] else None
        for name in ("asked", "ratio_asked")
    }
    runs = {name: tuple(document[name]) for name in ("ours", "beside")}
    return Figure(**(document | bounds | runs))
