"""`r4p models outcomes`: what a trained model said, held against what became of the patches."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from model.commands.exit_codes import Exit, stop
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
    name: Annotated[str, typer.Argument(help="As `r4p models list` tells it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a model said, held against what became of the patches, beside who judged them."""
    with corpus.opened() as known:
        try:
            found = _found(known, name, datetime.now(UTC))
        except UnknownModel as error:
            stop("models outcomes", Exit.USAGE, str(error))
    if as_json:
        of = {f"as_{role}": one and asdict(one) for role, one in found.items()}
        document = {"schema": SCHEMA, "model": name, "rule_version": RULE_VERSION, **of}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _tell(name, found)


def _found(known: Corpus, name: str, now: datetime) -> dict[str, TrackRecord | None]:
    """By what it was when it spoke; nothing shown and nothing unseen is ever pooled."""
    shadow = known.shadow(name)
    records, checks = [one.by(now) for one in known.records()], known.checks()
    today = labels.all_of(records, now, checks)
    before = labels.all_of(records, shadow.made_at, checks)
    said = {
        "shadow": track_record.as_shadow(records, shadow.said),
        "judge": track_record.as_judge(records, name),
    }
    return {role: track_record.held_against(today, before, one) for role, one in said.items()}


def _tell(name: str, found: dict[str, TrackRecord | None]) -> None:
    told = {role: one for role, one in found.items() if one}
    if not told:
        sys.stdout.write(f"{name} has judged nothing yet, neither shown nor as a shadow\n")
    for role, one in told.items():
        beside = f" beside {', '.join(one.judges)}" if role == "shadow" else ""
        sys.stdout.write(f"{name} as {role}{beside}\n")
        Console().print(_table(role, one))
        sys.stdout.writelines(f"{line}\n" for line in (*_lines(role, one), ""))


def _table(role: str, of: TrackRecord) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("patches with a label")
    heads = [role, "judge", "difference"] if len(of.voices) > 1 else [role]
    for head in heads:
        table.add_column(head, justify="right")
    table.add_row("called rightly", *(f"{one.rightly} of {of.compared}" for one in of.voices))
    if of.measured:
        paired = of.measured.paired
        for metric, what in _ROWS.items():
            shares = [_share(one[metric]) for one in of.measured.shares]
            more = [_share(paired.difference[metric], "+")] if paired else []
            table.add_row(what, *shares, *more)
    table.add_row("unsure", *(str(one.unsure) for one in of.voices))
    table.add_row("not judged", *(str(one.not_judged) for one in of.voices))
    return table


def _lines(role: str, of: TrackRecord) -> Iterator[str]:
    yield (
        f"Judged: {of.patches} patches. Compared: {of.compared}, of {of.issues} issues; {of.echoes} of them were "
        "decided when the judge's claim could be read."
    )
    if of.measured is None:
        yield f"Too few: shares are told from {LEAST_ISSUES} issues on."
    else:
        yield f"To call every patch correct would be right on {of.measured.all_correct:.2f}."
        if paired := of.measured.paired:
            yield (
                f"Issues called rightly as a whole: {paired.only_model} by the {role} alone, {paired.only_judge} by "
                f"the judge alone; {significance.told(paired.p_differs)}."
            )
    yield from _not_compared(of)


def _not_compared(of: TrackRecord) -> Iterator[str]:
    if of.unclaimed:
        yield f"Not compared: {of.unclaimed} with a label, on which not everybody here claimed something."
    if of.unknown:
        rules = ", ".join(f"{count} {rule}" for rule, count in sorted(of.unknown.items()))
        yield f"Not compared: {sum(of.unknown.values())} without a label, by rule: {rules}."
    if of.learnt:
        yield f"Not compared: {of.learnt} of issues that it may have learnt from."


def _share(one: Estimate, sign: str = "") -> str:
    values: list[Any] = [one.value, one.low, one.high]
    if None in values:
        return "unknown"
    value, low, high = (format(each, f"{sign}.2f") for each in values)
    return f"{value} [{low}, {high}]"
