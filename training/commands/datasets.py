"""`r4p train dataset`: build datasets from outcomes and labelled groups, and show them."""

import hashlib
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from app.operator.data_option import DataOption
from model.commands.exit_codes import exit_on_error, stop
from model.commands.options import accept_options
from model.evaluation import labelled_group
from training import corpus
from training.commands import run
from training.commands.fix_study import count_tests
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

app = typer.Typer(
    name="dataset",
    help="Datasets to train and measure on.",
    no_args_is_help=True,
    add_completion=False,
)
app.command("tests")(count_tests)

_Json = Annotated[bool, Option("--json", help="Print the manifest as JSON.")]
_Share = Annotated[float, Option(min=0, max=0.5, help="Share of the issues in this split.")]


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of `r4p train dataset build`."""

    out: Annotated[Path, Option(metavar="DIR", help="Folder to create.")]
    groups: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="File of labelled groups; without one, the dataset holds outcomes only.",
        ),
    ] = None
    outcomes: Annotated[
        bool | None,
        Option(
            help="Take outcomes from the database of R4P_DATABASE_URL; always on without --groups."
        ),
    ] = None
    data: DataOption = None
    measured_on: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="File of groups that the dataset must not learn from."),
    ] = None
    whole_repositories: Annotated[
        bool, Option(help="With --measured-on, leave out whole repositories instead of issues.")
    ] = False
    hold_out: Annotated[
        list[str] | None, Option(metavar="OWNER/NAME", help="Repository that is only measured on.")
    ] = None
    leave_out: Annotated[
        list[str] | None, Option(metavar="FAMILY/*", help="Source of a benchmark to leave out.")
    ] = None
    licence: Annotated[
        list[str] | None,
        Option(metavar="SPDX", help="With --groups, take only issues under this licence."),
    ] = None
    seed: Annotated[int, Option(help="The same seed makes the same dataset.")] = 1
    balance: Annotated[
        Balance, Option(help="How to balance groups by their number of correct patches.")
    ] = Balance.EVEN
    split_by: Annotated[SplitBy, Option(help="How to choose the issues of the test split.")] = (
        SplitBy.TIME
    )
    validation: _Share = 0.1
    test: _Share = 0.1
    cut: Annotated[
        datetime | None,
        Option(
            formats=["%Y-%m-%d"],
            help="Learn from decisions before this day, and test on later issues.",
        ),
    ] = None
    embargo: Annotated[
        int,
        Option(
            metavar="DAYS",
            min=0,
            help="Days between the cut and the first issue of the test split.",
        ),
    ] = 14
    least: Annotated[int, Option(min=1, help="Fewest patches that an issue must have.")] = 2
    most: Annotated[
        int, Option(min=1, help="Most patches of an issue that are combined into groups.")
    ] = 6
    most_characters: Annotated[
        int | None, Option(min=1, help="Most characters of an issue with the patches of a group.")
    ] = None
    most_clear: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="Form only the N groups of an issue whose patches are most alike or most unlike (R4P, section 5.3).",
        ),
    ] = None
    only_ascii: Annotated[
        bool, Option(help="Drop issues with other letters, as the R4P paper does.")
    ] = False
    suffix: Annotated[
        str | None, Option(metavar=".py", help="Take only patches of files with this ending.")
    ] = None
    for_run: Annotated[
        str | None,
        Option(
            metavar="ARGUMENTS",
            help="Arguments of a later `r4p train run`; stop at once if that run could not give a model that judges.",
        ),
    ] = None
    as_json: _Json = False

    def build_recipe(self) -> DatasetRecipe:
        """Return the dataset's recipe from these options: what to keep, combine, balance and split, and the seed."""
        return DatasetRecipe(
            seed=self.seed,
            statements=StatementLimits(only_ascii=self.only_ascii),
            changes=ChangeLimits(suffix=self.suffix),
            excluded_sources=tuple(self.leave_out or ()),
            licences=tuple(self.licence or ()),
            shape=GroupShape(
                max_patches=self.most,
                min_patches=self.least,
                max_characters=self.most_characters,
                clear_groups=self.most_clear,
            ),
            balance=self.balance,
            split=SplitPlan(
                self.seed,
                self.split_by,
                self.validation,
                self.test,
                frozenset(self.hold_out or ()),
                self.cut and self.cut.replace(tzinfo=UTC),
                timedelta(days=self.embargo),
            ),
        )

    def load_evaluation_set(self) -> EvaluationSet | None:
        """Load the groups of `--measured-on`, which the dataset must not learn from; None without the option."""
        if not self.measured_on:
            return None
        return EvaluationSet.from_pools(
            _read(self.measured_on), whole_repositories=self.whole_repositories
        )


@app.command()
@accept_options(BuildOptions)
def build(options: BuildOptions) -> None:
    """Build a dataset in a new folder: filter, combine, split and balance. Prints what was dropped and why.

    Exit code 3: nothing is left to learn from.
    """
    with _exit_on_error():
        recipe = options.build_recipe()
        if options.for_run is not None:
            run.require_servable(shlex.split(options.for_run))
        written = _write_dataset(options, recipe)
    _print_manifest(written, as_json=options.as_json)


@app.command()
def show(
    directory: Annotated[Path, Argument(metavar="DIR", help="A dataset.")], as_json: _Json = False
) -> None:
    """Check the files of a dataset, and print its splits and what was dropped when it was built."""
    with _exit_on_error():
        held = dataset.read_manifest(directory)
        for split in held.splits:
            dataset.read_split(directory, split)
    _print_manifest(held, as_json=as_json)


@contextmanager
def _exit_on_error() -> Iterator[None]:
    with exit_on_error("train dataset", BadDataset, BadPlan):
        try:
            yield
        except NothingToLearn as error:
            stop("train dataset", NOTHING, str(error))


def _write_dataset(options: BuildOptions, recipe: DatasetRecipe) -> Manifest:
    """Build and write a dataset. Without files of groups, it holds the outcomes of this time."""
    groups = options.groups or []
    now = datetime.now(UTC) if options.outcomes or not groups else None
    pools = [*_read(groups), *(_read_outcomes(now) if now else ())]
    built = dataset_builder.build_dataset(pools, recipe, options.load_evaluation_set())
    sources = (*groups, *(options.measured_on or ()))
    manifest = Manifest(
        seed=recipe.seed,
        as_of=now.isoformat(timespec="seconds") if now else None,
        rules=dataset_builder.RULE_VERSIONS,
        sources={_hash_file(path): path.name for path in sources},
        steps=built.steps,
    )
    return dataset.write_dataset(options.out, built.splits, manifest)


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
