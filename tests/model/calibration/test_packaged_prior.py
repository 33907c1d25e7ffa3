"""The packaged prior gives consensus a probability before there is any history, and says where it comes from."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema_rs
import pytest

from model.calibration.calibration import Evidence
from model.catalog import load_prior
from model.domain import EngineInfo
from model.verifiers import consensus
from tests.model.builders import build_diff, build_patch_options

VERDICT = jsonschema_rs.validator_for(
    json.loads((files("model") / "verdict.schema.json").read_text())
)
GROUP = build_patch_options("a.diff", "b.diff")


@pytest.fixture
def rivals(tmp_path):
    """Options for three patches of which two are alike."""
    (tmp_path / "c.diff").write_text(build_diff("solution a, or so"))
    (tmp_path / "d.diff").write_text(build_diff("else: raise"))
    return build_patch_options("a.diff", "c.diff", "d.diff")


def test_prior_is_the_score_of_the_shipped_model():
    prior = load_prior("consensus")
    assert prior.engine == consensus.build_shipped().engine
    assert prior.calibrator.history.is_enough
    for score in (0.03, 0.31, 0.5, 0.92):
        believed = prior.calibrator.predict_probability(Evidence(consensus=score))
        assert believed == pytest.approx(score)


def test_prior_belongs_to_the_shipped_model_only():
    engine = consensus.build_shipped().engine
    assert load_prior("consensus", engine) == load_prior("consensus")
    assert load_prior("consensus", replace(engine, prompt_fingerprint="0" * 12)) is None
    assert load_prior("r4p", EngineInfo("scripted", "script", "0" * 12)) is None


def test_verify_names_the_prior_and_claims_what_consensus_claims(run, rivals):
    document = json.loads(run(*rivals, "--verifier", "consensus", "--json", script=None).stdout)
    VERDICT.validate(document)
    assert document["calibrator"]["origin"] == "packaged"
    assert document["calibrator"]["issues"] > 100
    for patch in document["patches"]:
        assert patch["probability"] == pytest.approx(patch["score"], abs=1e-4)
    shown = run(*rivals, "--verifier", "consensus", script=None).stdout
    assert "benchmark issues (packaged prior)" in shown


def test_other_verifiers_have_no_prior(run):
    document = json.loads(run(*GROUP, "--json").stdout)
    assert "calibrator" not in document
    assert {patch["probability"] for patch in document["patches"]} == {None}
