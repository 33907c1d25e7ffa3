"""`r4p models outcomes`: compare a trained model's verdicts with outcomes."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Argument

from app.operator.data_option import DataOption
from model.commands.exit_codes import exit_on_error, print_json
from model.commands.options import AsJson
from model.evaluation.bootstrap import Estimate
from training import corpus
from training.corpus import Corpus, UnknownModel
from training.evaluation import significance, track_record
from training.evaluation.track_record import ACCURACY, FALSE_ACCEPTS, LEAST_ISSUES, TrackRecord
from training.labels import labels
from training.labels.rules import RULE_VERSION

SCHEMA = "r4p.track-record/1"
_ROWS = {ACCURACY: "share called rightly", FALSE_ACCEPTS: "of incorrect, called correct"}


def outcomes(
    name: Annotated[str, Argument(help="Name of the model, as in `r4p models list`.")],
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Print how a trained model's verdicts agree with labels from outcomes, beside the judge of the same patches."""
    with exit_on_error("models outcomes", UnknownModel), corpus.open_corpus() as store:
        records = _build_records(store, name, datetime.now(UTC))
    if as_json:
        roles = {f"as_{role}": record and asdict(record) for role, record in records.items()}
        document = {"schema": SCHEMA, "model": name, "rule_version": RULE_VERSION, **roles}
        print_json(document)
    else:
        _print_records(name, records)


def _build_records(store: Corpus, name: str, now: datetime) -> dict[str, TrackRecord | None]:
    """Build the track records as shadow and as judge, which are never pooled."""
    shadow = store.read_shadow(name)
    records, checks = [record.limit_to(now) for record in store.list_records()], store.read_checks()
    today = labels.label_patches(records, now, checks)
    before = labels.label_patches(records, shadow.made_at, checks)
    verdicts = {
        "shadow": track_record.list_shadow_verdicts(records, shadow.verdicts),
        "judge": track_record.list_judge_verdicts(records, name),
    }
    return {
        role: track_record.compare_with_labels(today, before, spoken)
        for role, spoken in verdicts.items()
    }


def _print_records(name: str, records: dict[str, TrackRecord | None]) -> None:
    spoken = {role: record for role, record in records.items() if record}
    if not spoken:
        sys.stdout.write(f"{name} has judged nothing yet, neither shown nor as a shadow\n")
    for role, record in spoken.items():
        beside = f" beside {', '.join(record.judges)}" if role == "shadow" else ""
        sys.stdout.write(f"{name} as {role}{beside}\n")
        Console().print(_build_table(role, record))
        sys.stdout.writelines(f"{line}\n" for line in (*_iterate_lines(role, record), ""))


def _build_table(role: str, record: TrackRecord) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("patches with a label")
    heads = [role, "judge", "difference"] if len(record.voices) > 1 else [role]
    for head in heads:
        table.add_column(head, justify="right")
    table.add_row(
        "called rightly", *(f"{counts.rightly} of {record.compared}" for counts in record.voices)
    )
    if record.measured:
        paired = record.measured.paired
        for metric, what in _ROWS.items():
            shares = [_format_share(estimates[metric]) for estimates in record.measured.shares]
            more = [_format_share(paired.difference[metric], "+")] if paired else []
            table.add_row(what, *shares, *more)
    table.add_row("unsure", *(str(counts.unsure) for counts in record.voices))
    table.add_row("not judged", *(str(counts.not_judged) for counts in record.voices))
    return table


def _iterate_lines(role: str, record: TrackRecord) -> Iterator[str]:
    yield (
        f"Judged: {record.patches} patches. Compared: {record.compared}, of {record.issues} issues; {record.echoes} of them were "
        "decided when the judge's claim could be read."
    )
    if record.measured is None:
        yield f"Too few issues: shares are shown from {LEAST_ISSUES} issues on."
    else:
        yield f"To call every patch correct would be right on {record.measured.all_correct:.2f}."
        if paired := record.measured.paired:
            yield (
                f"Issues called rightly as a whole: {paired.only_model} by the {role} alone, {paired.only_judge} by "
                f"the judge alone; {significance.format_p_value(paired.p_differs)}."
            )
    yield from _explain_left_out(record)


def _explain_left_out(record: TrackRecord) -> Iterator[str]:
    if record.unclaimed:
        yield f"Not compared: {record.unclaimed} with a label, on which not everybody here claimed something."
    if record.unknown:
        rules = ", ".join(f"{count} {rule}" for rule, count in sorted(record.unknown.items()))
        yield f"Not compared: {sum(record.unknown.values())} without a label, by rule: {rules}."
    if record.learnt:
        yield f"Not compared: {record.learnt} of issues that it may have learnt from."


def _format_share(estimate: Estimate, sign: str = "") -> str:
    values: list[Any] = [estimate.value, estimate.low, estimate.high]
    if None in values:
        return "unknown"
    value, low, high = (format(number, f"{sign}.2f") for number in values)
    return f"{value} [{low}, {high}]"
