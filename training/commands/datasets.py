"""`r4p train dataset`: builds datasets from outcomes and from files of labelled groups, and tells what is in one."""

import hashlib
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from model.errors import BadGroups
from model.evaluation import labelled_group
from training import corpus
from training.commands import run
from training.curation import dataset_builder
from training.curation.balance import Balance
from training.curation.combinations import Shape
from training.curation.dataset_builder import NothingToLearn, Recipe
from training.curation.deduplication import Measured
from training.curation.patch_filters import ChangeLimits
from training.curation.pools import Pool, from_groups
from training.curation.splits import SplitBy, SplitPlan
from training.curation.statement_filters import StatementLimits
from training.datasets import dataset
from training.datasets.dataset import BadDataset
from training.datasets.manifest import UNKNOWN, Manifest
from training.plans.plan import BadPlan

NOTHING: Final = 3
"""Exit code: there is nothing to learn from, which is nobody's mistake."""

app = typer.Typer(name="dataset", help="Datasets to train and measure on.", no_args_is_help=True)

_Files = Annotated[
    list[Path] | None,
    typer.Option("--groups", metavar="FILE", help="Labelled groups; without any, outcomes alone."),
]
_Outcomes = Annotated[
    bool | None,
    typer.Option(
        help="Learn from outcomes in the database of R4P_DATABASE_URL; without --groups always."
    ),
]
_Measured = Annotated[
    list[Path] | None,
    typer.Option("--measured-on", metavar="FILE", help="Groups of which nothing may be learnt."),
]
_WholeRepositories = Annotated[
    bool, typer.Option(help="Leave out every repository that is measured on, not only its issues.")
]
_HoldOut = Annotated[
    list[str] | None,
    typer.Option("--hold-out", metavar="OWNER/NAME", help="A repository to measure on alone."),
]
_LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="FAMILY/*", help="A benchmark's source to pass over."),
]
_Licences = Annotated[
    list[str] | None,
    typer.Option("--licence", metavar="SPDX", help="Take only files' issues under this licence."),
]
_Balance = Annotated[Balance, typer.Option(help="Over the correct patches of a group.")]
_SplitBy = Annotated[SplitBy, typer.Option(help="What decides who is measured on.")]
_Share = Annotated[float, typer.Option(min=0, max=0.5, help="Share of issues.")]
_Cut = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="Learn from what was decided before that day."),
]
_Days = Annotated[
    int, typer.Option(metavar="DAYS", min=0, help="After the cut, before tests begin.")
]
_Least = Annotated[int, typer.Option(min=1, help="Patches an issue must have.")]
_Most = Annotated[int, typer.Option(min=1, help="Patches of an issue that are combined.")]
_Characters = Annotated[
    int | None, typer.Option(min=1, help="At most, of an issue with the patches of a group.")
]
_Ascii = Annotated[bool, typer.Option(help="The paper's filter of statements.")]
_Suffix = Annotated[str | None, typer.Option(metavar=".py", help="Only patches of such files.")]
_Seed = Annotated[int, typer.Option(help="The same seed makes the same dataset.")]
_ForRun = Annotated[
    str | None,
    typer.Option(
        metavar="ARGUMENTS",
        help="Refuse, before anything is read, what r4p train run with these makes nothing of that judges.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="The manifest as JSON on standard output.")]


@app.command()
def build(  # noqa: PLR0913 - one parameter per option of the command
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder.")],
    files: _Files = None,
    outcomes: _Outcomes = None,
    measured_on: _Measured = None,
    whole_repositories: _WholeRepositories = False,
    hold_out: _HoldOut = None,
    leave_out: _LeaveOut = None,
    licences: _Licences = None,
    seed: _Seed = 1,
    balance: _Balance = Balance.EVEN,
    split_by: _SplitBy = SplitBy.TIME,
    validation: _Share = 0.1,
    test: _Share = 0.1,
    cut: _Cut = None,
    embargo: _Days = 14,
    least: _Least = 2,
    most: _Most = 6,
    most_characters: _Characters = None,
    only_ascii: _Ascii = False,
    suffix: _Suffix = None,
    for_run: _ForRun = None,
    as_json: _Json = False,
) -> None:
    """Curate, combine, split and balance; write the dataset, and say what was dropped and why.

    Exit code 3: nothing is left to learn from.
    """
    day = cut and cut.replace(tzinfo=UTC)
    apart = frozenset(hold_out or ())
    recipe = Recipe(
        seed=seed,
        statements=StatementLimits(only_ascii=only_ascii),
        changes=ChangeLimits(suffix=suffix),
        left_out=tuple(leave_out or ()),
        licences=tuple(licences or ()),
        shape=Shape(most=most, least=least, most_characters=most_characters),
        balance=balance,
        split=SplitPlan(seed, split_by, validation, test, apart, day, timedelta(days=embargo)),
    )
    given = _Given(tuple(files or ()), tuple(measured_on or ()), whole_repositories)
    now = datetime.now(UTC) if outcomes or not files else None
    try:
        if for_run is not None:
            run.require_servable(shlex.split(for_run))
        written = _written(out, recipe, given, now)
    except (BadGroups, BadDataset, BadPlan, NothingToLearn) as error:
        _stop(error)
    _tell(written, as_json=as_json)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset.")],
    as_json: _Json = False,
) -> None:
    """Say what is in a dataset, and what was dropped on the way; its files are checked."""
    try:
        held = dataset.manifest(directory)
        for split in held.splits:
            dataset.read(directory, split)
    except BadDataset as error:
        _stop(error)
    _tell(held, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Given:
    """What files a dataset is made of, and which say what may not be in it."""

    files: tuple[Path, ...]
    measured_on: tuple[Path, ...]
    whole_repositories: bool

    def measured(self) -> Measured | None:
        if not self.measured_on:
            return None
        return Measured.of(_read(self.measured_on), whole_repositories=self.whole_repositories)


def _written(out: Path, recipe: Recipe, given: _Given, now: datetime | None) -> Manifest:
    """`now`: with outcomes as they are then; None: without."""
    pools = [*_read(given.files), *(_outcomes(now) if now else ())]
    made = dataset_builder.built(pools, recipe, given.measured())
    manifest = Manifest(
        seed=recipe.seed,
        as_of=now.isoformat(timespec="seconds") if now else None,
        rules=dataset_builder.RULES,
        sources={_sha256(path): path.name for path in (*given.files, *given.measured_on)},
        steps=made.steps,
    )
    return dataset.write(out, made.splits, manifest)


def _read(files: Sequence[Path]) -> list[Pool]:
    return from_groups(group for path in files for group in labelled_group.read(path))


def _outcomes(now: datetime) -> list[Pool]:
    with corpus.opened() as known:
        return known.pools(now)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tell(held: Manifest, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(held.json)
        return
    console = Console()
    steps = Table("step", "issues", "kept", "dropped", box=SIMPLE_HEAD)
    for step in (one for one in held.steps if one.units or one.dropped):
        dropped = "; ".join(f"{why}: {count:,}" for why, count in step.dropped.items())
        steps.add_row(step.name, f"{step.issues:,}", f"{step.units:,}", dropped)
    splits = Table(
        "split", "groups", "issues", "repositories", "by correct patches", box=SIMPLE_HEAD
    )
    for name, one in held.splits.items():
        positives = "  ".join(f"{count}: {number:,}" for count, number in one.positives.items())
        splits.add_row(
            name, f"{one.groups:,}", f"{one.issues:,}", f"{one.repositories:,}", positives
        )
    console.print(steps, splits)
    known = f", outcomes as of {held.as_of}" if held.as_of else ""
    console.print(f"licences of groups: {_licences(held)}")
    console.print(f"dataset {held.digest[:16]}, seed {held.seed}{known}")


def _licences(held: Manifest) -> str:
    count = sum((Counter(one.licences) for one in held.splits.values()), Counter[str]())
    return ", ".join(f"{name} {number:,}" for name, number in count.most_common()) or UNKNOWN


def _stop(error: Exception) -> NoReturn:
    typer.echo(f"r4p train dataset: {error}", err=True)
    raise typer.Exit(NOTHING if isinstance(error, NothingToLearn) else 2)
