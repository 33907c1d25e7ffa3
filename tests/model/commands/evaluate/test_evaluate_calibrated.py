"""`r4p evaluate --calibrator`: from a run to a calibrator to a run with probabilities, which stands for no other."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from model.calibration import calibrator_file
from model.calibration.calibration import Calibrator, History
from model.domain import EngineInfo
from model.evaluation import judge_catalog, run_file
from model.evaluation.labelled_group import read_groups
from model.evaluation.report.input_folder import read_report_input as read_folder
from tests.model.commands.evaluate.test_evaluate import document
from tests.model.evaluation.builders import build_row, format_lines
from training.calibrate import main
from training.calibrators.evidence import collect_evidence, list_rows

train = Typer()
train.command()(main)


@pytest.fixture
def learn(tmp_path):
    """Forty groups with two of each sort, and `learn(runs…)`: the calibrator fitted on run files, and its path."""
    (tmp_path / "many.jsonl").write_text(
        format_lines(*[build_row(n, True, False) for n in range(40)])
    )

    def learnt(*runs):
        fitted = CliRunner().invoke(train, [*runs, "--out", "c.json"])
        assert fitted.exit_code == 0, fitted.output
        return calibrator_file.read(tmp_path / "c.json")

    return learnt


def test_a_run_becomes_a_calibrator_and_a_run_with_probabilities(run, learn, tmp_path):
    ask = ("--votes", "2", "--out", "runs", "--json")
    plain = document(run(*ask, groups="many.jsonl"))
    kept = learn("runs/many.r4p.jsonl")
    assert (kept.verifier, kept.engine.model) == ("r4p", "script")
    made = document(run(*ask, "--calibrator", "c.json", groups="many.jsonl"))
    assert (plain["calibrated"], made["calibrated"]) == (False, True)
    assert made["verifier"] == f"r4p-calibrated-{kept.digest}"
    assert judge_catalog.strip_suffixes(made["verifier"]) == "r4p"
    assert made["brier"]["value"] > plain["brier"]["value"] == 0  # forty issues prove no certainty
    probabilities = {kept.calibrator.predict_probability(one.evidence) for one in _rows(tmp_path)}
    told = [one["belief"] for one in made["reliability"]]
    assert told == pytest.approx(sorted(probabilities), abs=1e-6)
    for name, _ in read_folder(tmp_path / "runs").runs:
        assert name in {"many.r4p.jsonl", f"many.r4p-calibrated-{kept.digest}.jsonl"}


def _rows(folder):
    return list_rows(collect_evidence(run_file.read_sorted(folder / "runs" / "many.r4p.jsonl")))


def test_runs_with_and_without_are_other_work_in_one_file(run, learn, tmp_path):
    ask = ("--votes", "1", "--out", "one.jsonl", "--json")
    document(run(*ask, groups="many.jsonl"))
    learn("one.jsonl")
    document(run(*ask, "--calibrator", "c.json", groups="many.jsonl"))
    assert len((tmp_path / "one.jsonl").read_text().splitlines()) == 80
    again = run(*ask, "--calibrator", "c.json", groups="many.jsonl", script="none.jsonl")
    assert again.exit_code == 2  # nobody answers: the script is missing
    refused = CliRunner().invoke(train, ["one.jsonl", "--out", "d.json"])
    assert (refused.exit_code, "was made with a calibrator" in refused.stderr) == (2, True)


def test_consensus_is_weighed_by_what_its_held_out_run_taught(run, learn, tmp_path):
    groups = [build_row(n, True, True, False, n % 2 == 0) for n in range(40)]
    (tmp_path / "many.jsonl").write_text(format_lines(*groups))
    ask = ("--out", "runs", "--json")
    document(run(*ask, verifier="consensus", groups="many.jsonl", script=None))
    kept = learn("runs/many.consensus.jsonl")
    assert kept.engine.model == "everything"  # as the bot and r4p verify know it
    made = document(
        run(*ask, "--calibrator", "c.json", verifier="consensus", groups="many.jsonl", script=None)
    )
    assert made["calibrated"] is made["strict"]["calibrated"] is True
    assert made["strict"]["verifier"] == f"consensus-calibrated-{kept.digest}-strict"


def test_consensus_beside_votes_never_saw_the_issue(run, real_group, tmp_path):
    (group,) = read_groups(tmp_path / real_group)
    for strict in (False, True):
        judge = judge_catalog.build_consensus_judge(strict=strict)
        by = calibrator_file.CalibratorFile(
            "consensus",
            judge_catalog.get_production_engine(judge.engine),
            _weighing("consensus"),
            0.2,
        )
        weighed = judge_catalog.calibrate_judge(judge, by, "consensus-calibrated-0")
        believed = [one.belief for one in weighed.judge(group).patches]
        raw = [one.belief for one in judge.judge(group).patches]
        assert believed == pytest.approx(raw, abs=0.01)
        assert weighed.verifier == "consensus-calibrated-0" + judge_catalog.STRICT_SUFFIX * strict


def _weighing(*names):
    return Calibrator("now", History(60, 90, 90), weights=dict.fromkeys(names, 1.0))


def test_another_judges_calibrator_is_a_usage_error(run, tmp_path):
    engine = EngineInfo("scripted", "another", "f" * 12)
    kept = calibrator_file.CalibratorFile("r4p", engine, _weighing("votes"), 0.2)
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
