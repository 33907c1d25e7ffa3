"""`r4p labels`: why patches have their labels, how many there are of each rule, and what they are worth."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from app.outcomes.judgement import PatchKey
from app.settings.repo_config import Training
from app.values.identifiers import IssueNumber, IssueRef
from training import corpus
from training.corpus import Corpus
from training.curation import labelled_groups
from training.labels import explanation, label_checks, labels
from training.labels.explanation import Explained
from training.labels.labels import LabelledPatch
from training.labels.rules import RULE_VERSION, RULES

app = typer.Typer(
    name="labels",
    help="What became of judged patches says which were correct: why, how many, how sure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

_ISSUE = re.compile(
    r"(?:(?:https?://[^/]+/)?([\w.-]+/[\w.-]+)(?:#|/issues/))?#?(\d{1,9})", re.ASCII
)
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_AsOf = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="As it could be known at that day's beginning (UTC)."),
]


@app.command()
def explain(
    issue: Annotated[str, typer.Argument(help="owner/name#number, its URL, or its number alone.")],
    as_of: _AsOf = None,
    as_json: _Json = False,
) -> None:
    """Why each patch of an issue has its label, and what happened."""
    name, number = _named(issue)
    with _opened() as known:
        told = _explained(known, *_found(known, issue, number, name), _moment(as_of))
    if as_json:
        _print(explanation.document(told))
    else:
        _write(explanation.lines(told))


@app.command()
def summary(as_of: _AsOf = None, as_json: _Json = False) -> None:
    """How many patches each rule labels, over all issues."""
    now = _moment(as_of)
    with _opened() as known:
        found = labels.all_of(known.records(), now, known.checks())
    counts = Counter(one.why for one in found)
    if as_json:
        rules = {rule: counts[rule] for rule in RULES}
        _print({"schema": explanation.SCHEMA, "rule_version": RULE_VERSION, "rules": rules})
    else:
        Console().print(_table(found, counts))


@app.command()
def sample(
    count: Annotated[int, typer.Option(min=1, help="How many patches.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed draws the same patches.")] = 0,
) -> None:
    """Labelled patches to check by hand, a JSON object a line on standard output; `r4p labels audit` reads the answers."""
    with _opened() as known:
        found = labels.all_of(known.records(), datetime.now(UTC), known.checks())
    _write(label_checks.questions(label_checks.sample(found, count, seed)))


@app.command()
def audit(
    file: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, help="What `sample` printed, answered."),
    ] = None,
) -> None:
    """Keep the answers of a file, and tell what labels are worth by all that were ever checked."""
    now = datetime.now(UTC)
    with _opened() as known:
        derived = labels.all_of(known.records(), now)
        if file is not None:
            kept = known.keep_checks(_answers(file, derived), now)
            sys.stderr.write(f"kept {kept} new answers\n")
        truth = {key: one.is_correct for key, one in known.checks().items()}
    counts = Counter(one.why for one in derived)
    _write(label_checks.report(labels.audited(derived, truth), counts))


@app.command()
def export(
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A new file; without it, standard output.")
    ] = None,
    least_confident: Annotated[
        float, typer.Option(min=0.5, max=1, help="Leave out labels that are less sure.")
    ] = labelled_groups.LEAST_CONFIDENT,
) -> None:
    """Outcomes as labelled groups, a JSON object a line: what `r4p evaluate --groups` reads.

    Only of repositories whose .github/r4p.yml says `training: export` or `training: on`.
    """
    if out is not None and out.exists():
        _refuse(f"{out} exists already; give a new file")
    with _opened() as known:
        pools = known.pools(datetime.now(UTC), (Training.EXPORT, Training.ON))
    found, left_out = labelled_groups.groups(pools, least_confident)
    text = "".join(json.dumps(one) + "\n" for one in found)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text)
    patches = sum(len(one["patches"]) for one in found)
    sys.stderr.write(f"issues: {len(found)}; patches: {patches}\n")
    for reason, count in sorted(left_out.items()):
        sys.stderr.write(f"left out: {count} {reason}\n")


@contextmanager
def _opened() -> Iterator[Corpus]:
    with corpus.opened() as known:
        if count := known.outdated():
            sys.stderr.write(
                f"r4p: outcomes of {count} pull requests were derived by an older rule;"
                " run r4p outcomes rederive\n"
            )
        yield known


def _named(text: str) -> tuple[str | None, IssueNumber]:
    found = _ISSUE.fullmatch(text.strip())
    if found is None:
        _refuse(f"{text!r} names no issue; write owner/name#number, its URL, or its number")
    return found[1], IssueNumber(int(found[2]))


def _found(
    known: Corpus, asked: str, number: IssueNumber, name: str | None
) -> tuple[int, IssueRef]:
    found = known.find(number, name)
    if not found:
        _refuse(f"{asked}: nothing is known of such an issue; only those are that had rivals")
    if len(found) > 1:
        names = ", ".join(sorted(f"{one.repository.full_name}#{number}" for one in found.values()))
        _refuse(f"{asked} may be any of {names}; say which")
    return next(iter(found.items()))


def _answers(file: Path, derived: Sequence[LabelledPatch]) -> dict[PatchKey, bool]:
    try:
        return label_checks.answered(file.read_text().splitlines(), derived)
    except ValueError as error:
        _refuse(f"{file}: {error}")


def _explained(known: Corpus, group: int, issue: IssueRef, now: datetime) -> Explained:
    found = labels.all_of(known.records(), now, known.checks())
    return Explained(
        issue=f"{issue.repository.full_name}#{issue.number}",
        now=now,
        records=known.records(group),
        labels=[one for one in found if one.group == group],
        is_learnt=known.may_learn(issue.repository.id),
    )


def _table(found: Sequence[LabelledPatch], counts: Counter[str]) -> Table:
    echoes = Counter(one.why for one in found if one.is_echo)
    weights = dict.fromkeys(RULES, 0.0)
    for one in found:
        weights[one.why] += one.weight
    table = Table(
        box=SIMPLE_HEAD, title=f"{len(found)} patches by version {RULE_VERSION} of the rules"
    )
    table.add_column("rule")
    table.add_column("label")
    for head in ("P(correct)", "patches", "claim read", "weight"):
        table.add_column(head, justify="right")
    for rule in RULES.values():
        if counts[rule.name]:
            table.add_row(
                rule.name,
                rule.grade.value.replace("_", " "),
                "" if rule.probability is None else f"{rule.probability:.2f}",
                str(counts[rule.name]),
                str(echoes[rule.name] or ""),
                f"{weights[rule.name]:.1f}",
            )
    return table


def _moment(as_of: datetime | None) -> datetime:
    return datetime.now(UTC) if as_of is None else as_of.replace(tzinfo=UTC)


def _print(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"r4p: {why}\n")
    raise typer.Exit(2)
