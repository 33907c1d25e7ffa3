"""From run files of `r4p evaluate` to a calibrator and a report, and what the evidence of both sorts gains."""

import json
import random
from dataclasses import replace

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.calibration.calibration import from_json
from model.evaluation import judge_catalog, run_file
from model.evaluation.judgement_columns import build_columns
from model.evaluation.labelled_group import read_groups
from model.evaluation.metrics import METRICS
from tests.model.evaluation.builders import make_judged_group
from training.calibrate import main
from training.calibrators.evidence import collect_evidence, list_rows
from training.calibrators.fitting import (
    ClaimTargets,
    fit_calibrator,
    judge_with_held_out,
    measure_gains,
)

app = Typer()
app.command()(main)


def two_runs(folder, count=150, seed=3):
    """Run files of a voting verifier and of consensus, each of which knows something of its own."""
    randomness = random.Random(seed)
    voted, consensus = [], []
    for issue in range(count):
        hints = [(randomness.random(), randomness.random()) for _ in range(4)]
        labels = [randomness.random() < (one + two) / 2 for one, two in hints]
        voted.append(
            make_judged_group(str(issue), *zip((one for one, _ in hints), labels, strict=True))
        )
        beliefs = zip((two for _, two in hints), labels, strict=True)
        consensus.append(make_judged_group(str(issue), *beliefs, verifier="consensus"))
    paths = folder / "r4p.jsonl", folder / "consensus.jsonl"
    for path, groups in zip(paths, (voted, consensus), strict=True):
        with run_file.open_run_file(path) as file:
            for group in groups:
                file.add(group)
    return paths


def test_two_kinds_of_evidence_are_better_than_either(tmp_path):
    of = collect_evidence(
        [group for path in two_runs(tmp_path) for group in run_file.read_run_file(path)]
    )
    found = measure_gains(of, fit_calibrator(list_rows(of), fitted_at="now"), ClaimTargets())
    for part in ("votes", "consensus"):
        assert found[part]["brier"]["high"] < 0 < found[part]["auroc"]["low"]


def test_the_strict_twin_of_consensus_is_no_evidence(tmp_path):
    voted, consensus = (list(run_file.read_run_file(path)) for path in two_runs(tmp_path, count=3))
    twin = [replace(one, key=replace(one.key, verifier="consensus-strict")) for one in consensus]
    assert collect_evidence([*voted, *consensus, *twin]) == collect_evidence([*voted, *consensus])


def test_run_files_become_a_calibrator_and_a_report(tmp_path):
    paths, out, png = two_runs(tmp_path), tmp_path / "c.json", tmp_path / "r.png"
    result = CliRunner().invoke(app, [*map(str, paths), "--out", str(out)])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    calibrator = from_json(json.loads(out.read_text()))
    assert calibrator.history.issues == said["history"]["issues"] == 150
    assert set(calibrator.weights) == {"votes", "consensus"}
    assert said["held_out"]["ece"]["value"] < 0.1
    assert sum(one["patches"] for one in said["reliability"]) == 600
    assert not png.exists()


def test_the_diagram_is_drawn_where_it_can_be(tmp_path):
    paths, png = two_runs(tmp_path), tmp_path / "r.png"
    out = tmp_path / "c.json"
    result = CliRunner().invoke(app, [*map(str, paths), "--out", str(out), "--png", str(png)])
    assert result.exit_code == 0, result.output
    assert png.read_bytes().startswith(b"\x89PNG")


def test_one_run_file_is_enough_and_a_short_one_says_so(tmp_path):
    voted, _ = two_runs(tmp_path, count=10)
    result = CliRunner().invoke(app, [str(voted), "--out", str(tmp_path / "c.json")])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["enough"] is False
    voted, _ = two_runs(tmp_path / "more")
    result = CliRunner().invoke(app, [str(voted), "--out", str(tmp_path / "c.json")])
    assert json.loads(result.stdout)["gain_over"] == {}


def test_files_that_do_not_go_together_are_one_line(tmp_path):
    for groups, said in [
        (
            [
                make_judged_group("a", (1, True)),
                make_judged_group("b", (1, True), verifier="yes-no"),
            ],
            "not: r4p",
        ),
        (
            [
                make_judged_group("a", (1, True)),
                make_judged_group("b", (1, True), verifier="consensus"),
            ],
            "share",
        ),
        ([], "share no group"),
    ]:
        path = tmp_path / f"{len(said)}.jsonl"
        with run_file.open_run_file(path) as file:
            for group in groups:
                file.add(group)
        result = CliRunner().invoke(app, [str(path), "--out", str(tmp_path / "c.json")])
        assert result.exit_code == 2
        assert said in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["distinct_eval_groups", "r4p_style_eval_groups"])
def test_probabilities_of_real_patches_come_true_on_issues_not_seen(large_data, name):
    judge = judge_catalog.build_consensus_judge(strict=False)
    judged = [judge.judge(group) for group in read_groups(large_data / f"{name}.jsonl.gz")]
    of = collect_evidence(judged)
    fitted = fit_calibrator(list_rows(of), fitted_at="now")
    shown = build_columns(judge_with_held_out(of, fitted))
    assert METRICS["ece"](shown) <= 0.06
    assert METRICS["auroc"](shown) > 0.65
