"""What was run, and on what data (pure)."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from model.evaluation.report.content import Section, Table, head
from model.prompts.untrusted import visible
from training.datasets.manifest import Manifest
from training.report.run_reader import RunFolder

_SHARES = (0, 1, 2, 3, 4)
_LONGEST = 600
"""Characters of a value that are shown."""


def overview(run: RunFolder) -> Section:
    """How it ended, and the plan that was followed."""
    facts, settings = tuple(_facts(run)), tuple(_settings(run.plan))
    ended = [Table("How the run ended.", head(("", ""), ()), facts, words=2)] if facts else []
    plan = Table(
        "The plan, every setting of it.", head(("setting", "value"), ()), settings, words=2
    )
    return Section("run", "The run", (), tables=(*ended, plan))


def data(run: RunFolder) -> Section:
    """What was learnt from: what each file holds, and what was dropped on the way."""
    if run.dataset is None:
        return Section(
            "data",
            "Data",
            (),
            missing=("dataset.json does not say: what was learnt from is unknown.",),
        )
    return Section(
        "data", "Data", (_about(run.dataset),), tables=(_splits(run.dataset), _steps(run.dataset))
    )


def _facts(run: RunFolder) -> Iterator[tuple[str, str]]:
    """What the run wrote at its end, and the tokens its steps took."""
    if run.result is not None:
        for name, value in asdict(run.result).items():
            if name not in {"schema", "left_out"} and value not in {None, ""}:
                yield name.replace("_", " "), _said(value)
        if run.result.left_out:
            yield "left out", _dropped(run.result.left_out)
    if run.steps and run.steps[-1].tokens is not None:
        yield "tokens read and written", f"{run.steps[-1].tokens:,}"


def _said(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _clear(str(value))
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:,.3g}"


def _clear(text: str) -> str:
    """On one line, nothing invisible in it, and not endless."""
    return visible(" ".join(text.split()))[:_LONGEST] or "–"


def _settings(plan: str) -> Iterator[tuple[str, str]]:
    for name, value in tomllib.loads(plan).items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", _clear(_plain(one))) for inner, one in value.items())
        else:
            yield name, _clear(_plain(value))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _about(of: Manifest) -> str:
    rules = ", ".join(f"{name} {version}" for name, version in sorted(of.rules.items()))
    return f"Dataset {of.digest[:12]}, built with seed {of.seed}; labels as of {of.as_of}; rules: {rules or 'none'}."


def _splits(of: Manifest) -> Table:
    """Balance by number of correct patches: who says the same of all must not be right more often than not."""
    counted = tuple(f"{at} correct" for at in _balance(of))
    rows = tuple(
        (
            name,
            f"{split.groups:,}",
            f"{split.issues:,}",
            f"{split.repositories:,}",
            f"{split.unknown:,}",
            *(f"{split.positives.get(at, 0):,}" for at in _balance(of)),
        )
        for name, split in of.splits.items()
    )
    return Table(
        "What the dataset holds: groups by their number of correct patches.",
        head(("split", "groups", "issues", "repositories", "seats without a label", *counted), ()),
        rows,
    )


def _balance(of: Manifest) -> list[str]:
    found = {at for split in of.splits.values() for at in split.positives}
    return sorted(found | set(map(str, _SHARES)), key=int)


def _steps(of: Manifest) -> Table:
    rows = tuple(
        (one.name, _dropped(one.dropped), f"{one.issues:,}", f"{one.units:,}") for one in of.steps
    )
    return Table(
        "The way from what was found to what is learnt from. Units are patches, and groups from when they are formed.",
        head(("step", "dropped, and why", "issues kept", "units kept"), ()),
        rows,
        words=2,
    )


def _dropped(of: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in of.items()) or "–"
