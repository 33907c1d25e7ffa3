"""`r4p evaluate --calibrator`: from a run to a calibrator to a run with probabilities, which stands for no other."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.calibration import calibrator_file
from model.calibration.calibration import Calibrator, History
from model.domain import EngineInfo
from model.evaluation import judge_catalog, run_file, run_name
from model.evaluation.labelled_group import read_groups
from model.evaluation.report.input_folder import read_report_input as read_folder
from tests.model.commands.evaluate.test_evaluate import read_document
from tests.model.evaluation.builders import build_row, format_lines
from training.calibrate import main
from training.calibrators.evidence import collect_evidence, list_rows

train = Typer()
train.command()(main)


@pytest.fixture
def fit_calibrator(tmp_path):
    """Forty groups with two of each sort, and `learn(runs…)`: the calibrator fitted on run files, and its path."""
    (tmp_path / "many.jsonl").write_text(
        format_lines(*[build_row(n, True, False) for n in range(40)])
    )

    def fit(*runs):
        fitted = CliRunner().invoke(train, [*runs, "--out", "c.json"])
        assert fitted.exit_code == 0, fitted.output
        return calibrator_file.read(tmp_path / "c.json")

    return fit


def test_calibrated_run_has_probabilities(run, fit_calibrator, tmp_path):
    ask = ("--votes", "2", "--out", "runs", "--json")
    plain = read_document(run(*ask, groups="many.jsonl"))
    kept = fit_calibrator("runs/many.r4p.jsonl")
    assert (kept.verifier, kept.engine.model) == ("r4p", "script")
    made = read_document(run(*ask, "--calibrator", "c.json", groups="many.jsonl"))
    assert (plain["calibrated"], made["calibrated"]) == (False, True)
    assert made["verifier"] == f"r4p-calibrated-{kept.digest}"
    assert run_name.strip_suffixes(made["verifier"]) == "r4p"
    assert made["brier"]["value"] > plain["brier"]["value"] == 0  # forty issues prove no certainty
    probabilities = {
        kept.calibrator.predict_probability(one.evidence) for one in _list_rows(tmp_path)
    }
    beliefs = [one["belief"] for one in made["reliability"]]
    assert beliefs == pytest.approx(sorted(probabilities), abs=1e-6)
    for name, _ in read_folder(tmp_path / "runs").runs:
        assert name in {"many.r4p.jsonl", f"many.r4p-calibrated-{kept.digest}.jsonl"}


def _list_rows(folder):
    return list_rows(collect_evidence(run_file.read_sorted(folder / "runs" / "many.r4p.jsonl")))


def test_calibrated_and_plain_runs_share_a_file(run, fit_calibrator, tmp_path):
    ask = ("--votes", "1", "--out", "one.jsonl", "--json")
    read_document(run(*ask, groups="many.jsonl"))
    fit_calibrator("one.jsonl")
    read_document(run(*ask, "--calibrator", "c.json", groups="many.jsonl"))
    assert len((tmp_path / "one.jsonl").read_text().splitlines()) == 80
    again = run(*ask, "--calibrator", "c.json", groups="many.jsonl", script="none.jsonl")
    assert again.exit_code == 2  # nobody answers: the script is missing
    refused = CliRunner().invoke(train, ["one.jsonl", "--out", "d.json"])
    assert (refused.exit_code, "was made with a calibrator" in refused.stderr) == (2, True)


def test_consensus_is_calibrated_by_its_held_out_run(run, fit_calibrator, tmp_path):
    groups = [build_row(n, True, True, False, n % 2 == 0) for n in range(40)]
    (tmp_path / "many.jsonl").write_text(format_lines(*groups))
    ask = ("--out", "runs", "--json")
    read_document(run(*ask, verifier="consensus", groups="many.jsonl", script=None))
    kept = fit_calibrator("runs/many.consensus.jsonl")
    assert kept.engine.model == "everything"  # as the bot and r4p verify know it
    made = read_document(
        run(*ask, "--calibrator", "c.json", verifier="consensus", groups="many.jsonl", script=None)
    )
    assert made["calibrated"] is made["strict"]["calibrated"] is True
    assert made["strict"]["verifier"] == f"consensus-calibrated-{kept.digest}-strict"


def test_calibrated_consensus_never_saw_the_issue(run, real_group, tmp_path):
    (group,) = read_groups(tmp_path / real_group)
    for strict in (False, True):
        judge = judge_catalog.build_consensus_judge(strict=strict)
        by = calibrator_file.CalibratorFile(
            "consensus",
            judge_catalog.get_production_engine(judge.engine),
            _build_calibrator("consensus"),
            0.2,
        )
        weighed = judge_catalog.calibrate_judge(judge, by, "consensus-calibrated-0")
        believed = [one.belief for one in weighed.judge(group).patches]
        raw = [one.belief for one in judge.judge(group).patches]
        assert believed == pytest.approx(raw, abs=0.01)
        assert weighed.verifier == "consensus-calibrated-0" + run_name.STRICT_SUFFIX * strict


def _build_calibrator(*names):
    return Calibrator("now", History(60, 90, 90), weights=dict.fromkeys(names, 1.0))


def test_calibrator_of_another_judge_is_a_usage_error(run, tmp_path):
    engine = EngineInfo("scripted", "another", "f" * 12)
    kept = calibrator_file.CalibratorFile("r4p", engine, _build_calibrator("votes"), 0.2)
    calibrator_file.write(tmp_path / "c.json", kept)
    for verifier, said in (
        ("r4p", "fitted for model 'another'"),
        ("pointwise", "fitted for verifier r4p"),
    ):
        result = run("--calibrator", "c.json", "--out", "runs", verifier=verifier)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
