"""Read and write datasets: a manifest and one Parquet file for each split. Datasets never change.

A dataset is a folder with `manifest.json` and one `SPLIT.parquet` for each split, with one row for each
TrainingGroup. Patches are stored in one order; training permutes them anew in each epoch.
"""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from model import typed_json
from training.datasets.groups import LabelSource, TrainingGroup
from training.datasets.manifest import SCHEMA, UNKNOWN, Manifest, SplitSummary

MANIFEST = "manifest.json"

_MOMENT = pa.timestamp("us", tz="UTC")
_BATCH = 256
"""Rows written or read at a time. Trajectories make rows of megabytes, and Arrow's columns of text end at 2 GB."""
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
        pa.field("trajectories", pa.list_(pa.string())),
    ]
)


class BadDataset(ValueError):
    """A folder that holds no complete dataset or may not be written. The message names it and the fix."""


def write_dataset(
    directory: Path, splits: Mapping[str, Sequence[TrainingGroup]], manifest: Manifest
) -> Manifest:
    """Write a dataset to the new folder `directory`, and return its manifest with the summaries of its splits.

    `splits` maps split names to groups. The folder appears complete or not at all. Raises BadDataset if it exists or a
    group key occurs twice.
    """
    _check_writable(directory, splits)
    with create_atomically(directory) as beside:
        summaries = {
            name: _write_split(_get_file(beside, name), groups) for name, groups in splits.items()
        }
        complete = replace(manifest, splits=summaries)
        (beside / MANIFEST).write_text(complete.json)
    return complete


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of the dataset in `directory`. Raises BadDataset if the folder holds no dataset."""
    path = directory / MANIFEST
    try:
        manifest = typed_json.read(Manifest, json.loads(path.read_text()))
    except OSError as error:
        raise BadDataset(
            f"{path} can't be read: {error.strerror}; write a dataset with: r4p train dataset build"
        ) from error
    except (ValueError, TypeError) as error:
        raise BadDataset(
            f"{path} is no dataset manifest: {error}; build the dataset again"
        ) from error
    if manifest.schema != SCHEMA:
        raise BadDataset(
            f"{path} is {manifest.schema}, but this version reads {SCHEMA}; build the dataset again"
        )
    return manifest


def read_split(directory: Path, split: str) -> list[TrainingGroup]:
    """Read the training groups of a dataset's split in stored order. Raises BadDataset, also for a changed file."""
    splits = read_manifest(directory).splits
    if split not in splits:
        raise BadDataset(
            f"{directory} has no split {split}; it has {', '.join(sorted(splits)) or 'none at all'}"
        )
    path = _get_file(directory, split)
    try:
        if _hash_file(path) != splits[split].sha256:
            raise BadDataset(
                f"{path} does not match its hash in {MANIFEST}; build the dataset again"
            )
        # Groups of an issue share patches and trajectories, so equal texts become one object.
        texts: dict[str | None, str | None] = {}
        rows = (
            row for batch in pq.ParquetFile(path).iter_batches(_BATCH) for row in batch.to_pylist()
        )
        return [_build_group(row, texts) for row in rows]
    except OSError as error:
        raise BadDataset(
            f"{path} can't be read: {error.strerror}; build the dataset again"
        ) from error


def _check_writable(directory: Path, splits: Mapping[str, Sequence[TrainingGroup]]) -> None:
    if directory.exists():
        raise BadDataset(f"{directory} exists already; datasets never change, so name a new folder")
    counts = Counter(group.key for groups in splits.values() for group in groups)
    if twice := [key for key, count in counts.items() if count > 1]:
        raise BadDataset(f"group {twice[0]} is in the dataset twice; give each group its own key")


def _get_file(directory: Path, split: str) -> Path:
    return directory / f"{split}.parquet"


def _write_split(path: Path, groups: Sequence[TrainingGroup]) -> SplitSummary:
    with pq.ParquetWriter(path, _COLUMNS, compression="zstd") as writer:
        for start in range(0, len(groups), _BATCH):
            rows = [
                asdict(group) | {"source": group.source.value}
                for group in groups[start : start + _BATCH]
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=_COLUMNS))
    positives = Counter(str(group.positives) for group in groups)
    licences = Counter(group.licence or UNKNOWN for group in groups)
    return SplitSummary(
        sha256=_hash_file(path),
        groups=len(groups),
        issues=len({group.issue for group in groups}),
        repositories=len({group.repo for group in groups}),
        unknown=sum(target is None for group in groups for target in group.targets),
        positives=dict(sorted(positives.items())),
        licences=dict(sorted(licences.items())),
    )


def _build_group(row: Mapping[str, Any], texts: dict[str | None, str | None]) -> TrainingGroup:
    # A file of an older version has no trajectories.
    fixed = {
        "patches": tuple(texts.setdefault(text, text) for text in row["patches"]),
        "targets": tuple(row["targets"]),
        "trajectories": tuple(
            texts.setdefault(text, text) for text in row.get("trajectories") or ()
        ),
        "source": LabelSource(row["source"]),
    }
    return TrainingGroup(**{**row, **fixed})


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def create_atomically(directory: Path) -> Iterator[Path]:
    """Yield a new empty folder for a `with` block, and rename it to `directory` if the block succeeds.

    So `directory` is complete or absent. After an error the new folder is deleted.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        folder = Path(scratch, directory.name)
        folder.mkdir()
        yield folder
        folder.rename(directory)
