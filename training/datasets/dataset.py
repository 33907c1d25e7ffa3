"""Datasets on disk: Parquet files and a manifest that says what is in them and how they came about. Never changed.

A dataset is a folder: `manifest.json` and one `SPLIT.parquet` for each split, one row for each TrainingGroup. Groups
are stored in one order of patches; whoever trains permutes them, anew in each epoch.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from model import typed_json
from training.datasets import atomic_folder
from training.datasets.groups import LabelSource, TrainingGroup
from training.datasets.manifest import SCHEMA, UNKNOWN, Manifest, Split

MANIFEST = "manifest.json"

_MOMENT = pa.timestamp("us", tz="UTC")
_COLUMNS = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("issue", pa.string(), nullable=False),
        pa.field("repo", pa.string(), nullable=False),
        pa.field("problem_statement", pa.string(), nullable=False),
        pa.field("patches", pa.list_(pa.string()), nullable=False),
        pa.field("targets", pa.list_(pa.float64()), nullable=False),
        pa.field("weight", pa.float64(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("as_of", _MOMENT),
        pa.field("outcome_at", _MOMENT),
        pa.field("licence", pa.string()),
    ]
)


class BadDataset(ValueError):
    """A folder that holds no whole dataset, or may not be written; says which and what to do."""


def write(
    directory: Path, splits: Mapping[str, Sequence[TrainingGroup]], manifest: Manifest
) -> Manifest:
    """Write a dataset, whole or not at all; returns its manifest, with what its splits hold.

    Raises BadDataset where something stands already, or a key occurs twice.
    """
    _check(directory, splits)
    with atomic_folder.appearing(directory) as beside:
        held = {name: _write_split(_file(beside, name), of) for name, of in splits.items()}
        made = replace(manifest, splits=held)
        (beside / MANIFEST).write_text(made.json)
    return made


def manifest(directory: Path) -> Manifest:
    """How the dataset came about. Raises BadDataset."""
    path = directory / MANIFEST
    try:
        found = typed_json.read(Manifest, json.loads(path.read_text()))
    except OSError as error:
        raise BadDataset(
            f"{path} can't be read: {error.strerror}; write a dataset with: r4p train dataset build"
        ) from error
    except (ValueError, TypeError) as error:
        raise BadDataset(f"{path} is no manifest of a dataset: {error}; build it anew") from error
    if found.schema != SCHEMA:
        raise BadDataset(
            f"{path} is {found.schema}, and {SCHEMA} is understood here; build it anew"
        )
    return found


def read(directory: Path, split: str) -> list[TrainingGroup]:
    """The groups of a split, in the order they were written. Raises BadDataset, also for a file that was changed."""
    splits = manifest(directory).splits
    if split not in splits:
        raise BadDataset(
            f"{directory} has no split {split}; it has {', '.join(sorted(splits)) or 'none at all'}"
        )
    path = _file(directory, split)
    try:
        if _hash(path) != splits[split].sha256:
            raise BadDataset(f"{path} is not what {MANIFEST} says it is; build the dataset anew")
        return [_group(row) for row in pq.read_table(path).to_pylist()]
    except OSError as error:
        raise BadDataset(
            f"{path} can't be read: {error.strerror}; build the dataset anew"
        ) from error


def _check(directory: Path, splits: Mapping[str, Sequence[TrainingGroup]]) -> None:
    if directory.exists():
        raise BadDataset(
            f"{directory} is there already; a dataset is never changed, name a new folder"
        )
    counts = Counter(one.key for of in splits.values() for one in of)
    if twice := [key for key, count in counts.items() if count > 1]:
        raise BadDataset(f"group {twice[0]} is in the dataset twice; keys name a group for good")


def _file(directory: Path, split: str) -> Path:
    return directory / f"{split}.parquet"


def _write_split(path: Path, groups: Sequence[TrainingGroup]) -> Split:
    rows = [asdict(one) | {"source": one.source.value} for one in groups]
    pq.write_table(pa.Table.from_pylist(rows, schema=_COLUMNS), path, compression="zstd")
    positives = Counter(str(one.positives) for one in groups)
    licences = Counter(one.licence or UNKNOWN for one in groups)
    return Split(
        sha256=_hash(path),
        groups=len(groups),
        issues=len({one.issue for one in groups}),
        repositories=len({one.repo for one in groups}),
        unknown=sum(target is None for one in groups for target in one.targets),
        positives=dict(sorted(positives.items())),
        licences=dict(sorted(licences.items())),
    )


def _group(row: Mapping[str, Any]) -> TrainingGroup:
    fixed = {
        "patches": tuple(row["patches"]),
        "targets": tuple(row["targets"]),
        "source": LabelSource(row["source"]),
    }
    return TrainingGroup(**{**row, **fixed})


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
