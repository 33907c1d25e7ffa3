"""Build the page of a training run, with sections on the run, its plan and its dataset (pure)."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from model import typed_json
from model.evaluation.report.content import Gap, Report, Section, Table, format_count
from model.evaluation.report.series import clean_name
from model.prompts.untrusted import escape_invisible
from training.datasets.manifest import Manifest
from training.report.comparison import build_comparison_section, build_gate_section
from training.report.curves import build_curves_section
from training.report.run_reader import TrainingRun

_SHARES = (0, 1, 2, 3, 4)
_LONGEST = 600
"""Longest shown value, in characters."""


def build_overview_section(run: TrainingRun) -> Section:
    """Build the report section on how the training run ended, with a table of its plan's settings."""
    facts, settings = list(_list_facts(run)), list(_list_settings(run.plan))
    plan = Table("The plan with every setting.", ("setting", "value"), settings, words=2)
    ended = Table("How the run ended.", ("", ""), facts, words=2)
    return Section("run", "The run", (ended, plan) if facts else (plan,))


def build_data_section(run: TrainingRun) -> Section:
    """Build the report section on the run's dataset: its splits, and what each step dropped.

    If the run has no manifest of its dataset, the section only says that the dataset is unknown.
    """
    if run.dataset is None:
        gap = Gap("dataset.json has no manifest: the dataset is unknown.")
        return Section("data", "Data", (gap,))
    tables = (_build_split_table(run.dataset), _build_step_table(run.dataset))
    return Section("data", "Data", (_describe_dataset(run.dataset), *tables))


def _list_facts(run: TrainingRun) -> Iterator[tuple[str, str]]:
    """Yield the run's result and the tokens of its steps."""
    if run.result is not None:
        for name, value in typed_json.dump(run.result).items():
            if name not in {"schema", "left_out"} and value not in {None, ""}:
                yield name.replace("_", " "), _format_value(value)
        if run.result.left_out:
            yield "left out", _format_dropped(run.result.left_out)
    if run.steps and run.steps[-1].tokens is not None:
        yield "tokens read and written", f"{run.steps[-1].tokens:,}"


def _format_value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _clean_text(str(value))
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:,.3g}"


def _clean_text(text: str) -> str:
    """Make a value printable: one line, no invisible characters, limited length."""
    return escape_invisible(" ".join(text.split()))[:_LONGEST] or "–"


def _list_settings(plan: str) -> Iterator[tuple[str, str]]:
    for name, value in tomllib.loads(plan).items():
        if isinstance(value, dict):
            yield from (
                (f"{name}.{inner}", _clean_text(_format_setting(setting)))
                for inner, setting in value.items()
            )
        else:
            yield name, _clean_text(_format_setting(value))


def _format_setting(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe_dataset(manifest: Manifest) -> str:
    rules = ", ".join(f"{name} {version}" for name, version in sorted(manifest.rules.items()))
    return f"Dataset {manifest.digest[:12]}, built with seed {manifest.seed}; labels as of {manifest.as_of}; rules: {rules or 'none'}."


def _build_split_table(manifest: Manifest) -> Table:
    """Build the table of splits, by number of correct patches: the balance shows what constants reach."""
    positives = {index for split in manifest.splits.values() for index in split.positives}
    numbers = sorted(positives | set(map(str, _SHARES)), key=int)
    rows = []
    for name, split in manifest.splits.items():
        counts = (split.groups, split.issues, split.repositories, split.unknown)
        by_number = (split.positives.get(number, 0) for number in numbers)
        rows.append((name, *(f"{count:,}" for count in (*counts, *by_number))))
    head = ("split", "groups", "issues", "repositories", "seats without a label")
    return Table(
        "Groups of the dataset by their number of correct patches.",
        (*head, *(f"{number} correct" for number in numbers)),
        rows,
    )


def _build_step_table(manifest: Manifest) -> Table:
    return Table(
        "The steps from the input to the dataset. Units are patches, and groups after the step that forms "
        "them.",
        ("step", "dropped, and why", "issues kept", "units kept"),
        [
            (step.name, _format_dropped(step.dropped), f"{step.issues:,}", f"{step.units:,}")
            for step in manifest.steps
        ],
        words=2,
    )


def _format_dropped(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in counts.items()) or "–"


def build_page(run: TrainingRun) -> Report:
    """Build the report of a training run: the gate's decision, the comparison, the curves, the data and the plan."""
    return Report(
        f"Training run {clean_name(run.name)}",
        (f"{format_count(len(run.steps), 'optimiser step')}. {_describe_gate(run)}".strip(),),
        run.notes,
        (
            build_gate_section(run),
            build_comparison_section(run),
            build_curves_section(run),
            build_data_section(run),
            build_overview_section(run),
        ),
    )


def _describe_gate(run: TrainingRun) -> str:
    return f"Gate: {run.gate['outcome']}." if "outcome" in run.gate else "Not measured yet."
