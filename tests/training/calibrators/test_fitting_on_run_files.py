"""From run files of `r4p evaluate` to a calibrator and a report, and what the evidence of both sorts gains."""

import json
import random
from dataclasses import replace

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.calibration.calibration import from_json, sigmoid
from model.calibration.evidence import build_vote_evidence
from model.domain import VoteCount
from model.evaluation import judge_catalog, run_file
from model.evaluation.judgement_columns import build_columns
from model.evaluation.labelled_group import read_groups
from model.evaluation.metrics import METRICS
from tests.model.evaluation.builders import make_judged_group
from training.calibrate import main
from training.calibrators.claims import ClaimTargets
from training.calibrators.evidence import PatchEvidence, collect_evidence, list_rows
from training.calibrators.fitting import fit_calibrator, judge_with_held_out, measure_gains

app = Typer()
app.command()(main)


def write_two_runs(folder, count=150, seed=3):
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


def test_votes_and_consensus_beat_either(tmp_path):
    cases = collect_evidence(
        [group for path in write_two_runs(tmp_path) for group in run_file.read_run_file(path)]
    )
    gains = measure_gains(cases, fit_calibrator(list_rows(cases), fitted_at="now"), ClaimTargets())
    for part in ("votes", "consensus"):
        assert gains[part]["brier"]["high"] < 0 < gains[part]["auroc"]["low"]


def test_scores_of_a_reward_model_become_the_probabilities_that_came_true():
    """Labels are drawn with P(correct) = sigmoid(2 s - 1): the fit finds the line again."""
    randomness, rows = random.Random(7), []
    for issue in range(400):
        for score in (randomness.gauss(0, 1.5) for _ in range(4)):
            given = build_vote_evidence(VoteCount(), sigmoid(score), None, None, "reward-model")
            label = randomness.random() < sigmoid(2 * score - 1)
            rows.append(PatchEvidence(given, label, str(issue)))
    fitted = fit_calibrator(rows, fitted_at="now").calibrator
    for score in (-1.0, 0.0, 0.5, 1.5):
        given = build_vote_evidence(VoteCount(), sigmoid(score), None, None, "reward-model")
        wanted = sigmoid(2 * score - 1)
        assert fitted.predict_probability(given) == pytest.approx(wanted, abs=0.04)


def test_strict_consensus_is_no_evidence(tmp_path):
    voted, consensus = (
        list(run_file.read_run_file(path)) for path in write_two_runs(tmp_path, count=3)
    )
    twin = [replace(one, key=replace(one.key, verifier="consensus-strict")) for one in consensus]
    assert collect_evidence([*voted, *consensus, *twin]) == collect_evidence([*voted, *consensus])


def test_run_files_become_a_calibrator_and_a_report(tmp_path):
    paths, out, png = write_two_runs(tmp_path), tmp_path / "c.json", tmp_path / "r.png"
    result = CliRunner().invoke(app, [*map(str, paths), "--out", str(out)])
    assert result.exit_code == 0, result.output
    message = json.loads(result.stdout)
    calibrator = from_json(json.loads(out.read_text()))
    assert calibrator.history.issues == message["history"]["issues"] == 150
    assert set(calibrator.weights) == {"votes", "consensus"}
    assert message["held_out"]["ece"]["value"] < 0.1
    assert sum(one["patches"] for one in message["reliability"]) == 600
    assert not png.exists()


def test_diagram_is_drawn_as_png(tmp_path):
    paths, png = write_two_runs(tmp_path), tmp_path / "r.png"
    out = tmp_path / "c.json"
    result = CliRunner().invoke(app, [*map(str, paths), "--out", str(out), "--png", str(png)])
    assert result.exit_code == 0, result.output
    assert png.read_bytes().startswith(b"\x89PNG")


def test_one_run_file_is_enough_if_long_enough(tmp_path):
    voted, _ = write_two_runs(tmp_path, count=10)
    result = CliRunner().invoke(app, [str(voted), "--out", str(tmp_path / "c.json")])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["enough"] is False
    voted, _ = write_two_runs(tmp_path / "more")
    result = CliRunner().invoke(app, [str(voted), "--out", str(tmp_path / "c.json")])
    assert json.loads(result.stdout)["gain_over"] == {}


def test_run_files_of_two_judges_are_a_usage_error(tmp_path):
    for groups, message in [
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
        path = tmp_path / f"{len(message)}.jsonl"
        with run_file.open_run_file(path) as file:
            for group in groups:
                file.add(group)
        result = CliRunner().invoke(app, [str(path), "--out", str(tmp_path / "c.json")])
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["distinct_eval_groups", "r4p_style_eval_groups"])
def test_probabilities_of_real_patches_are_calibrated(large_data, name):
    judge = judge_catalog.build_consensus_judge(strict=False)
    judged = [judge.judge(group) for group in read_groups(large_data / f"{name}.jsonl.gz")]
    cases = collect_evidence(judged)
    fitted = fit_calibrator(list_rows(cases), fitted_at="now")
    shown = build_columns(judge_with_held_out(cases, fitted))
    assert METRICS["ece"](shown) <= 0.06
    assert METRICS["auroc"](shown) > 0.65
