"""A calibrator file is read back, is refused for another judge, and is used by `r4p verify`."""

import json
from dataclasses import asdict, replace
from importlib.resources import files

import jsonschema_rs
import pytest

from model.calibration import calibrator_file
from model.calibration.calibration import Calibrator, History
from model.calibration.calibrator_file import CalibratorFile
from model.domain import EngineInfo
from model.errors import IncompatibleOptions
from model.voting.thresholds import Thresholds
from tests.model.builders import build_diff, build_patch_options

FILE = CalibratorFile(
    "r4p",
    EngineInfo("scripted", "script", "0" * 12),
    Calibrator(
        "2026-11-21T00:00:00+00:00",
        History(60, 100, 100),
        weights={"votes": 1.0},
        intercept=-1.0,
        thresholds=Thresholds(0.9, 0.3),
    ),
    0.2,
)


@pytest.fixture
def judge(run):
    """Return the engine that judges, as a verdict document names it."""

    def read_engine(*options):
        ask = (*build_patch_options("a.diff", "b.diff"), "--json", *options)
        script = None if "consensus" in options else "script.jsonl"
        return EngineInfo(**json.loads(run(*ask, script=script).stdout)["engine"])

    return read_engine


def write_four_patches(folder):
    """Candidates of which three are alike."""
    for name, text in (("c", "solution a, or so"), ("d", "solution a, or thus")):
        (folder / f"{name}.diff").write_text(build_diff(text))
    return build_patch_options("a.diff", "b.diff", "c.diff", "d.diff")


def test_calibrator_file_survives_a_round_trip(tmp_path):
    calibrator_file.write(tmp_path / "c.json", FILE)
    assert calibrator_file.read(tmp_path / "c.json", "r4p") == FILE
    assert calibrator_file.read(tmp_path / "c.json") == FILE


def test_digest_ignores_the_date():
    later = replace(FILE, calibrator=replace(FILE.calibrator, fitted_at="later"))
    other = replace(FILE, calibrator=replace(FILE.calibrator, intercept=-1.1))
    assert later.digest == FILE.digest != other.digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read: No such file"),
        ("no", "is no calibrator .*; write one with: python -m training.calibrate RUN_FILE"),
        ("[]", "is no calibrator"),
        ('{"schema": "r4p.evaluate/1"}', "schema is 'r4p.evaluate/1', not 'r4p.calibrator/1'"),
        ({"rules": 1}, "rules is 1, not 2; fit again"),
        ({"judge": None}, "is no calibrator"),
        ({"judge": {"verifier": "r4p", "engine": {"name": "it"}}}, "is no calibrator"),
        (
            {"history": {"issues": 5, "correct": 8, "incorrect": 9}},
            "has not enough history: 5 issues, 8 correct and 9 incorrect patches; fit it on 30",
        ),
    ],
)
def test_unusable_file_is_refused_with_the_reason(tmp_path, content, message):
    path = tmp_path / "c.json"
    calibrator_file.write(path, FILE)
    if content is None:
        path.unlink()
    else:
        whole = json.loads(path.read_text())
        path.write_text(content if isinstance(content, str) else json.dumps(whole | content))
    with pytest.raises(IncompatibleOptions, match=message):
        calibrator_file.read(path)


def test_verify_reports_probabilities_and_calibrated_claims(run, judge, tmp_path):
    calibrator_file.write(tmp_path / "c.json", replace(FILE, engine=judge()))
    ask = (*build_patch_options("a.diff", "b.diff"), "--votes", "2", "--calibrator", "c.json")
    result = run(*ask, "--json")
    assert result.exit_code == 4, result.output  # uncalibrated, a is correct
    document = json.loads(result.stdout)
    schema = json.loads((files("model") / "verdict.schema.json").read_text())
    jsonschema_rs.validator_for(schema).validate(document)
    one, other = document["patches"]
    # two of two votes weigh as log 5, from which the intercept takes 1
    assert one["probability"] == pytest.approx(5 / (5 + 2.718282), abs=1e-6)
    assert (one["verdict"], other["verdict"]) == ("unsure", "incorrect")
    history = FILE.calibrator.history
    assert document["calibrator"] == {"fitted_at": FILE.calibrator.fitted_at, **asdict(history)}
    shown = run(*ask).stdout
    assert "probability" in shown
    assert "0.65" in shown


def test_verify_runs_consensus_when_the_calibrator_uses_it(run, judge, tmp_path):
    by_both = replace(FILE.calibrator, weights={"votes": 1.0, "consensus": 5.0})
    group, found = write_four_patches(tmp_path), []
    for calibrator in (FILE.calibrator, by_both):
        calibrator_file.write(
            tmp_path / "c.json", replace(FILE, engine=judge(), calibrator=calibrator)
        )
        said = json.loads(run(*group, "--calibrator", "c.json", "--json").stdout)["patches"]
        found.append([item["probability"] for item in said])
    assert found[0] != found[1]
    assert None not in found[1]


def test_consensus_verdicts_are_calibrated_for_their_fingerprint(run, judge, tmp_path):
    engine = judge("--verifier", "consensus")
    alone = replace(FILE.calibrator, weights={"consensus": 1.0})
    file = CalibratorFile("consensus", engine, alone, 0.2)
    calibrator_file.write(tmp_path / "c.json", file)
    ask = (*write_four_patches(tmp_path), "--verifier", "consensus", "--calibrator", "c.json")
    patches = json.loads(run(*ask, "--json", script=None).stdout)["patches"]
    assert all(0 < patch["probability"] < 1 for patch in patches)
    stranger = replace(file, engine=replace(engine, prompt_fingerprint="f" * 12))
    calibrator_file.write(tmp_path / "c.json", stranger)
    refused = run(*ask, script=None)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "fitted for prompt fingerprint 'ffffffffffff'" in refused.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verifier": "pointwise"}, "was fitted for verifier pointwise, not r4p"),
        ({"engine": EngineInfo("scripted", "other", "f")}, "was fitted for model 'other'"),
    ],
)
def test_calibrator_of_another_judge_is_refused(run, tmp_path, changes, message):
    calibrator_file.write(tmp_path / "c.json", replace(FILE, **changes))
    result = run(*build_patch_options("a.diff"), "--calibrator", "c.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
