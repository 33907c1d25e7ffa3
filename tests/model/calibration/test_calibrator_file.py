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

KEPT = CalibratorFile(
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
    """Who judges in these tests, as a verdict's document names it."""

    def known(*options):
        ask = (*build_patch_options("a.diff", "b.diff"), "--json", *options)
        return EngineInfo(**json.loads(run(*ask, script=script_of(options)).stdout)["engine"])

    return known


def four(folder):
    """Candidates of which three are alike."""
    for name, text in (("c", "solution a, or so"), ("d", "solution a, or thus")):
        (folder / f"{name}.diff").write_text(build_diff(text))
    return build_patch_options("a.diff", "b.diff", "c.diff", "d.diff")


def script_of(options):
    return None if "consensus" in options else "script.jsonl"


def test_calibrator_file_survives_a_round_trip(tmp_path):
    calibrator_file.write(tmp_path / "c.json", KEPT)
    assert calibrator_file.read(tmp_path / "c.json", "r4p") == KEPT
    assert calibrator_file.read(tmp_path / "c.json") == KEPT


def test_digest_ignores_the_date():
    later = replace(KEPT, calibrator=replace(KEPT.calibrator, fitted_at="later"))
    other = replace(KEPT, calibrator=replace(KEPT.calibrator, intercept=-1.1))
    assert later.digest == KEPT.digest != other.digest


@pytest.mark.parametrize(
    ("content", "said"),
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
def test_refuses_an_unusable_file_with_the_reason(tmp_path, content, said):
    path = tmp_path / "c.json"
    calibrator_file.write(path, KEPT)
    if content is None:
        path.unlink()
    else:
        whole = json.loads(path.read_text())
        path.write_text(content if isinstance(content, str) else json.dumps(whole | content))
    with pytest.raises(IncompatibleOptions, match=said):
        calibrator_file.read(path)


def test_refuses_another_judge_with_the_difference(tmp_path):
    calibrator_file.write(tmp_path / "c.json", KEPT)
    with pytest.raises(IncompatibleOptions, match="was fitted for verifier r4p, not pointwise"):
        calibrator_file.read(tmp_path / "c.json", "pointwise")
    with pytest.raises(
        IncompatibleOptions, match="fitted for model 'script', and 'R4P-32B' would judge"
    ):
        KEPT.check_engine(replace(KEPT.engine, model="R4P-32B"))
    with pytest.raises(IncompatibleOptions, match=r"fitted for prompt fingerprint '0{12}', and"):
        KEPT.check_engine(replace(KEPT.engine, prompt_fingerprint="1" * 12))


def test_verify_reports_probabilities_and_calibrated_claims(run, judge, tmp_path):
    calibrator_file.write(tmp_path / "c.json", replace(KEPT, engine=judge()))
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
    history = KEPT.calibrator.history
    assert document["calibrator"] == {"fitted_at": KEPT.calibrator.fitted_at, **asdict(history)}
    shown = run(*ask).stdout
    assert "probability" in shown
    assert "0.65" in shown


def test_verify_runs_consensus_when_the_calibrator_uses_it(run, judge, tmp_path):
    by_both = replace(KEPT.calibrator, weights={"votes": 1.0, "consensus": 5.0})
    group, found = four(tmp_path), []
    for calibrator in (KEPT.calibrator, by_both):
        calibrator_file.write(
            tmp_path / "c.json", replace(KEPT, engine=judge(), calibrator=calibrator)
        )
        said = json.loads(run(*group, "--calibrator", "c.json", "--json").stdout)["patches"]
        found.append([item["probability"] for item in said])
    assert found[0] != found[1]
    assert None not in found[1]


def test_calibrates_the_consensus_verifier(run, judge, tmp_path):
    engine = judge("--verifier", "consensus")
    alone = replace(KEPT.calibrator, weights={"consensus": 1.0})
    kept = CalibratorFile("consensus", engine, alone, 0.2)
    calibrator_file.write(tmp_path / "c.json", kept)
    ask = (*four(tmp_path), "--verifier", "consensus", "--calibrator", "c.json")
    patches = json.loads(run(*ask, "--json", script=None).stdout)["patches"]
    assert all(0 < patch["probability"] < 1 for patch in patches)
    stranger = replace(kept, engine=replace(engine, prompt_fingerprint="f" * 12))
    calibrator_file.write(tmp_path / "c.json", stranger)
    refused = run(*ask, script=None)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "fitted for prompt fingerprint 'ffffffffffff'" in refused.stderr


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verifier": "pointwise"}, "was fitted for verifier pointwise, not r4p"),
        ({"engine": EngineInfo("scripted", "other", "f")}, "was fitted for model 'other'"),
    ],
)
def test_verify_refuses_the_calibrator_of_another_judge(run, tmp_path, changes, said):
    calibrator_file.write(tmp_path / "c.json", replace(KEPT, **changes))
    result = run(*build_patch_options("a.diff"), "--calibrator", "c.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
