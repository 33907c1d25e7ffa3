"""`r4p train dataset`: build datasets from outcomes and labelled groups, and show them."""

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
from training.curation.combinations import GroupShape
from training.curation.dataset_builder import DatasetRecipe, NothingToLearn
from training.curation.deduplication import EvaluationSet
from training.curation.patch_filters import ChangeLimits
from training.curation.pools import Pool, build_from_groups
from training.curation.source_filters import StatementLimits
from training.curation.splits import SplitBy, SplitPlan
from training.datasets import dataset
from training.datasets.dataset import BadDataset
from training.datasets.manifest import UNKNOWN, Manifest
from training.plans.plan import BadPlan

NOTHING: Final = 3
"""Exit code: there is nothing to learn from."""

app = typer.Typer(name="dataset", help="Datasets to train and measure on.", no_args_is_help=True)

_Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--groups",
        metavar="FILE",
        help="File of labelled groups; without one, the dataset holds outcomes only.",
    ),
]
_Outcomes = Annotated[
    bool | None,
    typer.Option(
        help="Take outcomes from the database of R4P_DATABASE_URL; always on without --groups."
    ),
]
_Measured = Annotated[
    list[Path] | None,
    typer.Option(
        "--measured-on", metavar="FILE", help="File of groups that the dataset must not learn from."
    ),
]
_WholeRepositories = Annotated[
    bool, typer.Option(help="With --measured-on, leave out whole repositories instead of issues.")
]
_HoldOut = Annotated[
    list[str] | None,
    typer.Option("--hold-out", metavar="OWNER/NAME", help="Repository that is only measured on."),
]
_LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="FAMILY/*", help="Source of a benchmark to leave out."),
]
_Licences = Annotated[
    list[str] | None,
    typer.Option(
        "--licence", metavar="SPDX", help="With --groups, take only issues under this licence."
    ),
]
_Balance = Annotated[
    Balance, typer.Option(help="How to balance groups by their number of correct patches.")
]
_SplitBy = Annotated[SplitBy, typer.Option(help="How to choose the issues of the test split.")]
_Share = Annotated[float, typer.Option(min=0, max=0.5, help="Share of the issues in this split.")]
_Cut = Annotated[
    datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"], help="Learn from decisions before this day, and test on later issues."
    ),
]
_Days = Annotated[
    int,
    typer.Option(
        metavar="DAYS", min=0, help="Days between the cut and the first issue of the test split."
    ),
]
_Least = Annotated[int, typer.Option(min=1, help="Fewest patches that an issue must have.")]
_Most = Annotated[
    int, typer.Option(min=1, help="Most patches of an issue that are combined into groups.")
]
_Characters = Annotated[
    int | None, typer.Option(min=1, help="Most characters of an issue with the patches of a group.")
]
_Ascii = Annotated[
    bool, typer.Option(help="Drop issues with other letters, as the R4P paper does.")
]
_Suffix = Annotated[
    str | None, typer.Option(metavar=".py", help="Take only patches of files with this ending.")
]
_Seed = Annotated[int, typer.Option(help="The same seed makes the same dataset.")]
_ForRun = Annotated[
    str | None,
    typer.Option(
        metavar="ARGUMENTS",
        help="Arguments of a later `r4p train run`; stop at once if that run could not give a model that judges.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")]


@app.command()
def build(  # noqa: PLR0913 - one parameter per option of the command
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to create.")],
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
    """Build a dataset: filter, combine, split and balance. Prints what was dropped and why.

    Exit code 3: nothing is left to learn from.
    """
    day = cut and cut.replace(tzinfo=UTC)
    apart = frozenset(hold_out or ())
    recipe = DatasetRecipe(
        seed=seed,
        statements=StatementLimits(only_ascii=only_ascii),
        changes=ChangeLimits(suffix=suffix),
        excluded_sources=tuple(leave_out or ()),
        licences=tuple(licences or ()),
        shape=GroupShape(max_patches=most, min_patches=least, max_characters=most_characters),
        balance=balance,
        split=SplitPlan(seed, split_by, validation, test, apart, day, timedelta(days=embargo)),
    )
    given = _InputFiles(tuple(files or ()), tuple(measured_on or ()), whole_repositories)
    now = datetime.now(UTC) if outcomes or not files else None
    try:
        if for_run is not None:
            run.require_servable(shlex.split(for_run))
        written = _write_dataset(out, recipe, given, now)
    except (BadGroups, BadDataset, BadPlan, NothingToLearn) as error:
        _stop(error)
    _print_manifest(written, as_json=as_json)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset.")],
    as_json: _Json = False,
) -> None:
    """Show the content of a dataset and what was dropped, and check its files."""
    try:
        held = dataset.read_manifest(directory)
        for split in held.splits:
            dataset.read_split(directory, split)
    except BadDataset as error:
        _stop(error)
    _print_manifest(held, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _InputFiles:
    """The input files of a dataset, and the files with groups it must not contain."""

    files: tuple[Path, ...]
    measured_on: tuple[Path, ...]
    whole_repositories: bool

    def load_evaluation_set(self) -> EvaluationSet | None:
        if not self.measured_on:
            return None
        return EvaluationSet.from_pools(
            _read(self.measured_on), whole_repositories=self.whole_repositories
        )


def _write_dataset(
    out: Path, recipe: DatasetRecipe, given: _InputFiles, now: datetime | None
) -> Manifest:
    """Build and write a dataset. With `now`, it includes the outcomes of that time."""
    pools = [*_read(given.files), *(_read_outcomes(now) if now else ())]
    built = dataset_builder.build_dataset(pools, recipe, given.load_evaluation_set())
    manifest = Manifest(
        seed=recipe.seed,
        as_of=now.isoformat(timespec="seconds") if now else None,
        rules=dataset_builder.RULE_VERSIONS,
        sources={_hash_file(path): path.name for path in (*given.files, *given.measured_on)},
        steps=built.steps,
    )
    return dataset.write_dataset(out, built.splits, manifest)


def _read(files: Sequence[Path]) -> list[Pool]:
    return build_from_groups(group for path in files for group in labelled_group.read_groups(path))


def _read_outcomes(now: datetime) -> list[Pool]:
    with corpus.open_corpus() as store:
        return store.build_pools(now)


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _print_manifest(held: Manifest, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(held.json)
        return
    console = Console()
    steps = Table("step", "issues", "kept", "dropped", box=SIMPLE_HEAD)
    for step in (step for step in held.steps if step.units or step.dropped):
        dropped = "; ".join(f"{why}: {count:,}" for why, count in step.dropped.items())
        steps.add_row(step.name, f"{step.issues:,}", f"{step.units:,}", dropped)
    splits = Table(
        "split", "groups", "issues", "repositories", "by correct patches", box=SIMPLE_HEAD
    )
    for name, split in held.splits.items():
        positives = "  ".join(f"{count}: {number:,}" for count, number in split.positives.items())
        splits.add_row(
            name, f"{split.groups:,}", f"{split.issues:,}", f"{split.repositories:,}", positives
        )
    console.print(steps, splits)
    as_of = f", outcomes as of {held.as_of}" if held.as_of else ""
    console.print(f"licences of groups: {_format_licences(held)}")
    console.print(f"dataset {held.digest[:16]}, seed {held.seed}{as_of}")


def _format_licences(held: Manifest) -> str:
    count = sum((Counter(split.licences) for split in held.splits.values()), Counter[str]())
    return ", ".join(f"{name} {number:,}" for name, number in count.most_common()) or UNKNOWN


def _stop(error: Exception) -> NoReturn:
    typer.echo(f"r4p train dataset: {error}", err=True)
    raise typer.Exit(NOTHING if isinstance(error, NothingToLearn) else 2)
