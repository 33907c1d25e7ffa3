import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from training.datasets import dataset
from training.datasets.dataset import BadDataset
from training.datasets.groups import LabelSource, TrainingGroup
from training.datasets.manifest import CurationStep, Manifest, SplitSummary

GROUP = TrainingGroup(
    key="a",
    issue="o/r#1",
    repo="o/r",
    problem_statement="It adds: ä, \x00, \u2028.",
    patches=("x\r\n", "y", "z", ""),
    targets=(0.9, 0.0, None, None),
    weight=0.5,
    source=LabelSource.OUTCOMES,
    as_of=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    outcome_at=datetime(2026, 3, 1, tzinfo=UTC),
    licence="MIT",
)
SECOND = replace(
    GROUP, key="b", issue="o/r#2", targets=(1.0, 1.0, 0.0, None), as_of=None, licence=None
)
MANIFEST = Manifest(
    seed=7,
    as_of="2026-04-01T00:00:00+00:00",
    rules={"labels": 2},
    sources={"00": "groups.jsonl"},
    steps=(CurationStep("statement", 2, 8, {"short": 1}),),
)
SPLITS = {"train": [GROUP, SECOND], "test": []}


def test_dataset_survives_a_round_trip(tmp_path):
    written = dataset.write_dataset(tmp_path / "new" / "d", SPLITS, MANIFEST)
    assert dataset.read_split(tmp_path / "new" / "d", "train") == [GROUP, SECOND]
    assert dataset.read_split(tmp_path / "new" / "d", "test") == []
    assert dataset.read_manifest(tmp_path / "new" / "d") == written
    assert written == replace(MANIFEST, splits=written.splits)
    train = written.splits["train"]
    assert train == SplitSummary(
        train.sha256, 2, 2, 1, 3, {"1": 1, "2": 1}, {"MIT": 1, "unknown": 1}
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["d"]


def test_trajectories_survive_a_round_trip_and_equal_texts_are_shared(tmp_path):
    told = replace(GROUP, trajectories=("[step 1]\nä", None, "", None))
    groups = [replace(told, key=str(at)) for at in range(600)]
    dataset.write_dataset(tmp_path / "d", {"train": groups}, MANIFEST)
    read = dataset.read_split(tmp_path / "d", "train")
    assert read == groups
    assert len({id(group.trajectories[0]) for group in read}) == 1


def test_dataset_of_an_older_version_has_no_trajectories(tmp_path):
    dataset.write_dataset(tmp_path / "d", SPLITS, MANIFEST)
    file, manifest = tmp_path / "d" / "train.parquet", tmp_path / "d" / "manifest.json"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    pq.write_table(pq.read_table(file).drop_columns(["trajectories"]), file)
    older = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(digest, older))
    assert dataset.read_split(tmp_path / "d", "train") == [GROUP, SECOND]


def test_digest_depends_on_the_groups(tmp_path):
    first, same = (dataset.write_dataset(tmp_path / name, SPLITS, MANIFEST) for name in "ab")
    third = dataset.write_dataset(tmp_path / "c", {**SPLITS, "train": [GROUP]}, MANIFEST)
    assert first.digest == same.digest != third.digest


def test_existing_dataset_is_never_overwritten(tmp_path):
    dataset.write_dataset(tmp_path / "d", SPLITS, MANIFEST)
    with pytest.raises(BadDataset, match="exists already; datasets never change"):
        dataset.write_dataset(tmp_path / "d", {"train": [GROUP]}, MANIFEST)
    assert dataset.read_split(tmp_path / "d", "train") == [GROUP, SECOND]


def test_group_in_two_splits_is_refused(tmp_path):
    with pytest.raises(BadDataset, match="group a is in the dataset twice"):
        dataset.write_dataset(tmp_path / "d", {"train": [GROUP], "test": [GROUP]}, MANIFEST)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_nothing(tmp_path):
    class Broken(Exception):
        pass

    class Groups(list):
        def __iter__(self):
            raise Broken

    groups = Groups([GROUP])
    with pytest.raises(Broken):
        dataset.write_dataset(tmp_path / "d", {"train": groups}, MANIFEST)
    assert list(tmp_path.iterdir()) == []


def test_changed_or_missing_file_is_refused(tmp_path):
    dataset.write_dataset(tmp_path / "d", SPLITS, MANIFEST)
    path = tmp_path / "d" / "train.parquet"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(
        BadDataset, match=r"train\.parquet does not match its hash in manifest\.json"
    ):
        dataset.read_split(tmp_path / "d", "train")
    path.unlink()
    with pytest.raises(BadDataset, match=r"train\.parquet can't be read: No such file"):
        dataset.read_split(tmp_path / "d", "train")


def test_missing_split_or_invalid_manifest_is_refused(tmp_path):
    dataset.write_dataset(tmp_path / "d", SPLITS, MANIFEST)
    with pytest.raises(BadDataset, match="has no split dev; it has test, train"):
        dataset.read_split(tmp_path / "d", "dev")
    with pytest.raises(BadDataset, match=r"manifest\.json can't be read: No such file"):
        dataset.read_split(tmp_path, "train")
    path = tmp_path / "d" / "manifest.json"
    document = json.loads(path.read_text())
    for text, message in (
        ("{", "is no dataset manifest"),
        (json.dumps(document | {"seed": "x"}), "Manifest.seed holds 'x'"),
        (json.dumps(document | {"schema": "r4p.dataset/9"}), "is r4p.dataset/9"),
    ):
        path.write_text(text)
        with pytest.raises(BadDataset, match=message):
            dataset.read_manifest(tmp_path / "d")
