import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.builders.patch_pools import diff
from training.commands import datasets
from training.curation.splits import SPLITS
from training.datasets import dataset


def row(number, *resolved, repo="o/r", licence="MIT", sources=None):
    statement = " ".join(
        f"Step {at} of story {number} fails in part {number}x{at}." for at in range(12)
    )
    patches = [
        {
            "patch": diff(f"return {number}, {seat}"),
            "resolved": is_right,
            "source": sources[seat] if sources else f"system/{seat}",
        }
        for seat, is_right in enumerate(resolved)
    ]
    return {
        "instance_id": f"{repo}-{number}",
        "repo": repo,
        "problem_statement": f"Story {number}\n\n{statement}",
        "patches": patches,
        "licence": licence,
    }


@pytest.fixture
def files(tmp_path):
    def written(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return str(path)

    rows = [row(at, *(at % 2 == 0, False, True, at % 3 == 0, False)) for at in range(40)]
    rows += [row(at, True, False, repo="x/y", licence="GPL-3.0-only") for at in range(100, 104)]
    return {
        "groups": written("groups.jsonl", rows),
        "measured": written("measured.jsonl", rows[:5]),
        "empty": written("empty.jsonl", []),
        "odd": written("odd.jsonl", [row(1, True)]),
    }


def run(*words):
    return CliRunner().invoke(datasets.app, list(map(str, words)))


def test_files_become_a_dataset_that_says_how_it_came_about(files, tmp_path):
    out = tmp_path / "d"
    told = run("build", "--groups", files["groups"], "--measured-on", files["measured"])
    assert told.exit_code == 2  # nowhere to write
    words = ("--groups", files["groups"], "--measured-on", files["measured"], "--out", out)
    found = run("build", *words, "--hold-out", "x/y", "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document == json.loads((out / "manifest.json").read_text())
    assert document["sources"] == {
        hashlib.sha256(Path(files[name]).read_bytes()).hexdigest(): f"{name}.jsonl"
        for name in ("groups", "measured")
    }
    assert document["as_of"] is None
    assert document["rules"]["curation"] >= 1
    held = {name: dataset.read_split(out, name) for name in SPLITS}
    assert {one.repo for one in held["repositories"]} == {"x/y"}
    assert {one.licence for one in held["repositories"]} == {"GPL-3.0-only"}
    assert document["splits"]["train"]["licences"] == {"MIT": len(held["train"])}
    learnt = {one.issue for name in SPLITS for one in held[name]}
    assert learnt.isdisjoint(f"o/r-{at}" for at in range(5))
    assert held["train"]
    assert held["test"]


def test_two_files_of_one_name_are_two_sources(files, tmp_path):
    first = Path(files["groups"])
    second = tmp_path / "another" / first.name
    second.parent.mkdir()
    second.write_text(json.dumps(row(200, True, False, True, False)) + "\n")
    words = ("build", "--groups", first, "--groups", second, "--out", tmp_path / "d")
    assert run(*words).exit_code == 0
    assert list(dataset.read_manifest(tmp_path / "d").sources.values()) == [first.name] * 2


def test_the_same_seed_makes_the_same_dataset_to_the_last_byte(files, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            run(
                "build", "--groups", files["groups"], "--out", tmp_path / name, "--seed", seed
            ).exit_code
            == 0
        )
    digests = {name: dataset.read_manifest(tmp_path / name).digest for name in "abc"}
    assert digests["a"] == digests["b"] != digests["c"]


def test_a_person_reads_what_was_dropped_and_why(files, tmp_path):
    words = ("--groups", files["groups"], "--licence", "MIT", "--leave-out", "system/4")
    found = run("build", *words, "--out", tmp_path / "d")
    assert found.exit_code == 0, found.output
    assert "its licence is not among" in found.output
    assert "of a source that is left" in found.output
    assert "licences of groups: MIT " in found.output
    shown = run("show", tmp_path / "d")
    assert shown.exit_code == 0
    assert shown.output == found.output
    assert json.loads(run("show", tmp_path / "d", "--json").stdout)["seed"] == 1


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        ("missing.jsonl", "can't be read: No such file", 2),
        ("empty", "is empty; give a file with one labelled group a line", 2),
        ("odd", "no group is left to train on, of 1 issues", datasets.NOTHING),
    ],
)
def test_what_can_not_be_built_says_why_and_leaves_nothing(files, tmp_path, name, said, code):
    found = run("build", "--groups", files.get(name, tmp_path / name), "--out", tmp_path / "d")
    assert found.exit_code == code
    assert said in found.output
    assert not (tmp_path / "d").exists()


def test_a_dataset_that_was_changed_is_not_shown_as_whole(files, tmp_path):
    run("build", "--groups", files["groups"], "--out", tmp_path / "d")
    (tmp_path / "d" / "train.parquet").write_bytes(b"")
    found = run("show", tmp_path / "d")
    assert found.exit_code == 2
    assert "does not match its hash in manifest.json" in found.output
