"""`r4p labels`: explain labels, count them by rule, and estimate their precision."""

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
from typer import Argument, Option

from app.operator.data_option import DataOption
from app.outcomes.judgement import PatchKey
from app.settings.repo_config import TrainingConsent
from app.values.identifiers import IssueNumber, IssueRef
from model.commands.exit_codes import print_json
from model.commands.options import AsJson
from training import corpus
from training.corpus import Corpus
from training.curation.pools import MIN_CONFIDENCE, build_labelled_groups
from training.labels import explanation, label_checks, labels
from training.labels.explanation import IssueExplanation
from training.labels.labels import LabelledPatch
from training.labels.rules import RULE_VERSION, RULES

app = typer.Typer(
    name="labels",
    help="Labels of judged patches, derived from outcomes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

_ISSUE = re.compile(
    r"(?:(?:https?://[^/]+/)?([\w.-]+/[\w.-]+)(?:#|/issues/))?#?(\d{1,9})", re.ASCII
)
_AsOf = Annotated[
    datetime | None,
    Option(formats=["%Y-%m-%d"], help="Use only what was known at the start of this day (UTC)."),
]


@app.command()
def explain(
    issue: Annotated[str, Argument(help="owner/name#number, its URL, or its number alone.")],
    as_of: _AsOf = None,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Print why each judged patch of an issue has its label, and what happened to it."""
    name, number = _parse_issue(issue)
    with _open_corpus() as store:
        explained = _explain_issue(
            store, *_find_issue(store, issue, number, name), _parse_moment(as_of)
        )
    if as_json:
        print_json(explanation.to_document(explained))
    else:
        _print_lines(explanation.format_lines(explained))


@app.command()
def summary(
    as_of: _AsOf = None,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Print how many patches each rule labels, over all issues, as a table or as JSON."""
    now = _parse_moment(as_of)
    with _open_corpus() as store:
        patches = labels.label_patches(store.list_records(), now, store.read_checks())
    counts = Counter(patch.rule_name for patch in patches)
    if as_json:
        rules = {rule: counts[rule] for rule in RULES}
        print_json({"schema": explanation.SCHEMA, "rule_version": RULE_VERSION, "rules": rules})
    else:
        Console().print(_build_table(patches, counts))


@app.command()
def sample(
    count: Annotated[int, Option(min=1, help="How many patches.")] = 200,
    seed: Annotated[int, Option(help="The same seed draws the same patches.")] = 0,
    _data: DataOption = None,
) -> None:
    """Print a sample of labelled patches to check by hand, as JSON lines. `r4p labels audit` reads the answers."""
    with _open_corpus() as store:
        patches = labels.label_patches(store.list_records(), datetime.now(UTC), store.read_checks())
    _print_lines(label_checks.format_questions(label_checks.sample_labels(patches, count, seed)))


@app.command()
def audit(
    file: Annotated[
        Path | None, Argument(exists=True, dir_okay=False, help="Output of `sample`, with answers.")
    ] = None,
    _data: DataOption = None,
) -> None:
    """Store the hand-checked answers of a file, if given, and print the precision of labels by all stored answers."""
    now = datetime.now(UTC)
    with _open_corpus() as store:
        derived = labels.label_patches(store.list_records(), now)
        if file is not None:
            kept = store.save_checks(_read_answers(file, derived), now)
            sys.stderr.write(f"kept {kept} new answers\n")
        truth = {key: check.is_correct for key, check in store.read_checks().items()}
    counts = Counter(label.rule_name for label in derived)
    _print_lines(label_checks.format_audit(labels.audit_labels(derived, truth), counts))


@app.command()
def export(
    out: Annotated[
        Path | None, Option(metavar="FILE", help="File to create; standard output by default.")
    ] = None,
    least_confident: Annotated[
        float, Option(min=0.5, max=1, help="Leave out labels that are less sure.")
    ] = MIN_CONFIDENCE,
    _data: DataOption = None,
) -> None:
    """Write outcomes as labelled groups, as JSON lines for `r4p evaluate --groups`.

    Includes only repositories whose .github/r4p.yml says `training: export` or `training: on`.
    """
    if out is not None and out.exists():
        _refuse(f"{out} exists already; give a new file")
    with _open_corpus() as store:
        pools = store.build_pools(datetime.now(UTC), (TrainingConsent.EXPORT, TrainingConsent.ON))
    groups, left_out = build_labelled_groups(pools, least_confident)
    text = "".join(json.dumps(group) + "\n" for group in groups)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text)
    patches = sum(len(group["patches"]) for group in groups)
    sys.stderr.write(f"issues: {len(groups)}; patches: {patches}\n")
    for reason, count in sorted(left_out.items()):
        sys.stderr.write(f"left out: {count} {reason}\n")


@contextmanager
def _open_corpus() -> Iterator[Corpus]:
    with corpus.open_corpus() as store:
        if count := store.count_outdated():
            sys.stderr.write(
                f"r4p: outcomes of {count} pull requests were derived by an older rule;"
                " run r4p outcomes rederive\n"
            )
        yield store


def _parse_issue(text: str) -> tuple[str | None, IssueNumber]:
    match = _ISSUE.fullmatch(text.strip())
    if match is None:
        _refuse(f"{text!r} names no issue; write owner/name#number, its URL, or its number")
    return match[1], IssueNumber(int(match[2]))


def _find_issue(
    store: Corpus, asked: str, number: IssueNumber, name: str | None
) -> tuple[int, IssueRef]:
    issues = store.find_issues(number, name)
    if not issues:
        _refuse(f"{asked}: nothing is known of such an issue; only those are that had rivals")
    if len(issues) > 1:
        names = ", ".join(
            sorted(f"{issue.repository.full_name}#{number}" for issue in issues.values())
        )
        _refuse(f"{asked} may be any of {names}; say which")
    return next(iter(issues.items()))


def _read_answers(file: Path, derived: Sequence[LabelledPatch]) -> dict[PatchKey, bool]:
    try:
        return label_checks.parse_answers(file.read_text().splitlines(), derived)
    except ValueError as error:
        _refuse(f"{file}: {error}")


def _explain_issue(store: Corpus, group: int, issue: IssueRef, now: datetime) -> IssueExplanation:
    patches = labels.label_patches(store.list_records(), now, store.read_checks())
    return IssueExplanation(
        issue=f"{issue.repository.full_name}#{issue.number}",
        now=now,
        records=store.list_records(group),
        labels=[patch for patch in patches if patch.group == group],
        is_learnt=store.can_learn_from(issue.repository.id),
    )


def _build_table(patches: Sequence[LabelledPatch], counts: Counter[str]) -> Table:
    echoes = Counter(patch.rule_name for patch in patches if patch.is_echo)
    weights = dict.fromkeys(RULES, 0.0)
    for patch in patches:
        weights[patch.rule_name] += patch.weight
    table = Table(
        box=SIMPLE_HEAD, title=f"{len(patches)} patches by version {RULE_VERSION} of the rules"
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


def _parse_moment(as_of: datetime | None) -> datetime:
    return datetime.now(UTC) if as_of is None else as_of.replace(tzinfo=UTC)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"r4p: {why}\n")
    raise typer.Exit(2)
