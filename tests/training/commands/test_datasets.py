import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.builders.patch_pools import build_diff
from training.commands import datasets
from training.curation.splits import SPLITS
from training.datasets import dataset


def build_row(number, *resolved, repo="o/r", licence="MIT", sources=None):
    statement = " ".join(
        f"Step {at} of story {number} fails in part {number}x{at}." for at in range(12)
    )
    patches = [
        {
            "patch": build_diff(f"return {number}, {seat}"),
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
    def write_rows(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return str(path)

    rows = [build_row(at, *(at % 2 == 0, False, True, at % 3 == 0, False)) for at in range(40)]
    rows += [
        build_row(at, True, False, repo="x/y", licence="GPL-3.0-only") for at in range(100, 104)
    ]
    return {
        "groups": write_rows("groups.jsonl", rows),
        "measured": write_rows("measured.jsonl", rows[:5]),
        "empty": write_rows("empty.jsonl", []),
        "odd": write_rows("odd.jsonl", [build_row(1, True)]),
    }


def run(*words):
    return CliRunner().invoke(datasets.app, list(map(str, words)))


def test_files_become_a_dataset_with_its_manifest(files, tmp_path):
    out = tmp_path / "d"
    refused = run("build", "--groups", files["groups"], "--measured-on", files["measured"])
    assert refused.exit_code == 2  # nowhere to write
    words = ("--groups", files["groups"], "--measured-on", files["measured"], "--out", out)
    result = run("build", *words, "--hold-out", "x/y", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document == json.loads((out / "manifest.json").read_text())
    assert document["sources"] == {
        hashlib.sha256(Path(files[name]).read_bytes()).hexdigest(): f"{name}.jsonl"
        for name in ("groups", "measured")
    }
    assert document["as_of"] is None
    assert document["rules"]["curation"] >= 1
    splits = {name: dataset.read_split(out, name) for name in SPLITS}
    assert {one.repo for one in splits["repositories"]} == {"x/y"}
    assert {one.licence for one in splits["repositories"]} == {"GPL-3.0-only"}
    assert document["splits"]["train"]["licences"] == {"MIT": len(splits["train"])}
    learnt = {one.issue for name in SPLITS for one in splits[name]}
    assert learnt.isdisjoint(f"o/r-{at}" for at in range(5))
    assert splits["train"]
    assert splits["test"]


def test_files_of_one_name_are_two_sources(files, tmp_path):
    first = Path(files["groups"])
    second = tmp_path / "another" / first.name
    second.parent.mkdir()
    second.write_text(json.dumps(build_row(200, True, False, True, False)) + "\n")
    words = ("build", "--groups", first, "--groups", second, "--out", tmp_path / "d")
    assert run(*words).exit_code == 0
    assert list(dataset.read_manifest(tmp_path / "d").sources.values()) == [first.name] * 2


def test_seed_decides_the_dataset(files, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            run(
                "build", "--groups", files["groups"], "--out", tmp_path / name, "--seed", seed
            ).exit_code
            == 0
        )
    digests = {name: dataset.read_manifest(tmp_path / name).digest for name in "abc"}
    assert digests["a"] == digests["b"] != digests["c"]


def test_text_output_lists_drops_with_reasons(files, tmp_path):
    words = ("--groups", files["groups"], "--licence", "MIT", "--leave-out", "system/4")
    result = run("build", *words, "--out", tmp_path / "d")
    assert result.exit_code == 0, result.output
    assert "its licence is not among" in result.output
    assert "of a source that is left" in result.output
    assert "licences of groups: MIT " in result.output
    shown = run("show", tmp_path / "d")
    assert shown.exit_code == 0
    assert shown.output == result.output
    assert json.loads(run("show", tmp_path / "d", "--json").stdout)["seed"] == 1


@pytest.mark.parametrize(
    ("name", "message", "code"),
    [
        ("missing.jsonl", "can't be read: No such file", 2),
        ("empty", "is empty; give a file with one labelled group a line", 2),
        ("odd", "no group is left to train on, of 1 issues", datasets.NOTHING),
    ],
)
def test_failed_build_says_why_and_leaves_nothing(files, tmp_path, name, message, code):
    result = run("build", "--groups", files.get(name, tmp_path / name), "--out", tmp_path / "d")
    assert result.exit_code == code
    assert message in result.output
    assert not (tmp_path / "d").exists()


def test_changed_dataset_is_refused(files, tmp_path):
    run("build", "--groups", files["groups"], "--out", tmp_path / "d")
    (tmp_path / "d" / "train.parquet").write_bytes(b"")
    result = run("show", tmp_path / "d")
    assert result.exit_code == 2
    assert "does not match its hash in manifest.json" in result.output


def test_tests_are_counted_beside_the_papers_figure(files, tmp_path):
    shown = run("tests", "--groups", files["groups"])
    assert shown.exit_code == 0, shown.output
    assert "28.11%" in shown.stdout
    (tmp_path / "fixes.jsonl").write_text(
        json.dumps(
            {
                "instance_id": "o/r-0",
                "repo": "o/r",
                "patch": build_diff(),
                "test_patch": build_diff(path="tests/test_a.py"),
            }
        )
        + "\n"
    )
    fixes = ("--instances", tmp_path / "fixes.jsonl", "--groups", files["groups"])
    study = json.loads(run("tests", *fixes, "--json").stdout)
    assert (study["fixes"], study["qualified"], study["tested"]) == (1, 1, 1)
    assert study["paper"] == {"qualified": 364628, "tested": 102494}
    nothing = run("tests")
    assert nothing.exit_code == 2
    assert "nothing to count" in nothing.stderr


def test_most_clear_limits_the_groups_of_an_issue(files, tmp_path):
    few = ("--most-clear", "2", "--balance", "none", "--split-by", "issue")
    made = run("build", "--groups", files["groups"], "--out", tmp_path / "few", *few, "--json")
    assert made.exit_code == 0, made.output
    train = json.loads(made.stdout)["splits"]["train"]
    assert train["groups"] == 2 * train["issues"] - sum(
        1 for one in dataset.read_split(tmp_path / "few", "train") if one.repo == "x/y"
    )
    assert "half alike" in made.stdout
