"""The catalog builds engines and verifiers by name, and explains unknown names."""

import re

import pytest

from model import catalog
from model.catalog import EngineChoice, VotingChoice
from model.engines.scripted import ScriptedEngine
from model.errors import (
    BadEngine,
    EngineDown,
    IncompatibleOptions,
    NoTests,
    TemplateError,
    UnknownVerifier,
)
from model.execution.evidence_record import RecordedTests
from tests.model.chat_server import MODELS, serve_chat


def test_loads_the_engine_of_a_server():
    with serve_chat(models=[MODELS]) as server:
        engine = catalog.load_engine(EngineChoice("openai_compatible", url=server.url))
    assert (engine.name, engine.model, engine.context_tokens) == ("openai_compatible", "r4p", 4096)


def test_loads_a_scripted_engine_and_verifies(tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text('{"reply": "\\\\boxed{}"}')
    engine = catalog.load_engine(EngineChoice("scripted", script=script))
    assert engine.name == "scripted"
    assert catalog.load_verifier("r4p", engine) is not None


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (EngineChoice("gpt"), "unknown engine 'gpt'"),
        (EngineChoice("openai_compatible"), "needs its url"),
        (EngineChoice("scripted"), "needs its script"),
        (EngineChoice("local_transformers"), "needs its cache"),
    ],
)
def test_names_the_missing_engine_setting(choice, message):
    with pytest.raises(EngineDown, match=message):
        catalog.load_engine(choice)


def test_unknown_embedded_model_is_refused(tmp_path):
    choice = EngineChoice("local_transformers", model="llama", cache=tmp_path)
    with pytest.raises(EngineDown, match=r"'llama'; choose qwen2\.5-coder"):
        catalog.load_engine(choice)


def test_unknown_verifier_or_prompt_is_refused(tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text("")
    engine = catalog.load_engine(EngineChoice("scripted", script=script))
    with pytest.raises(UnknownVerifier, match="'oracle'; choose r4p, r4p-two"):
        catalog.load_verifier("oracle", engine)
    with pytest.raises(TemplateError, match=r"own\.j2"):
        catalog.load_verifier("r4p", engine, prompt=tmp_path / "own.j2")


@pytest.mark.parametrize("name", ["r4p", "r4p-two-rounds", "hybrid", "hybrid:r4p+consensus"])
def test_leave_one_out_needs_groups_and_excludes_early_stopping(name):
    catalog.check_choice(name, VotingChoice(leave_one_out=True))
    catalog.check_choice(name, VotingChoice(stop_early=True))
    with pytest.raises(IncompatibleOptions, match=r"cannot stop early: .* choose one of the two"):
        catalog.check_choice(name, VotingChoice(stop_early=True, leave_one_out=True))


@pytest.mark.parametrize("name", ["pointwise", "pairwise", "yes-no", "consensus", "reward-model"])
def test_leave_one_out_is_refused_by_verifiers_without_groups(name):
    with pytest.raises(
        IncompatibleOptions, match=f"verifier {name} shows no groups.* r4p, r4p-two-rounds"
    ):
        catalog.check_choice(name, VotingChoice(leave_one_out=True))
    with pytest.raises(IncompatibleOptions, match=f"verifier {name} shows no groups"):
        catalog.load_verifier(name, ScriptedEngine([]), voting=VotingChoice(leave_one_out=True))


def test_hybrid_name_is_parsed_into_two_verifiers():
    assert catalog.parse_verifier_name("hybrid") == ("yes-no", "r4p")
    assert catalog.parse_verifier_name("hybrid:pairwise+r4p-two-rounds") == (
        "pairwise",
        "r4p-two-rounds",
    )
    assert catalog.parse_verifier_name("pointwise") == ("pointwise",)


@pytest.mark.parametrize("name", ["hybrid:reward-model+r4p", "hybrid:yes-no+reward-model"])
def test_reward_model_shares_no_engine_with_a_model_that_writes(name):
    with pytest.raises(UnknownVerifier, match="combine reward-model with consensus"):
        catalog.check_choice(name, VotingChoice())


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("r4p", True),
        ("hybrid", True),
        ("hybrid:consensus+yes-no", True),
        ("consensus", False),
        ("reward-model", False),
        ("hybrid:reward-model+consensus", False),
        ("hybrid:consensus+consensus", False),
    ],
)
def test_agents_write_with_the_engine_of_a_model_that_writes(name, writes):
    catalog.check_choice(name, VotingChoice())
    assert catalog.has_writing_model(name) is writes


def test_verifiers_have_different_fingerprints(tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text("")
    engine = catalog.load_engine(EngineChoice("scripted", script=script))
    names = catalog.VERIFIERS.keys() - catalog.SCORING_VERIFIERS
    tests = RecordedTests({}, "0" * 12)
    prints = {
        catalog.load_verifier(name, engine, evidence=tests).engine.prompt_fingerprint
        for name in names
    }
    with serve_chat(models=[MODELS]) as server:
        served = catalog.load_engine(EngineChoice("openai_compatible", url=server.url))
    prints |= {
        catalog.load_verifier(name, served).engine.prompt_fingerprint
        for name in catalog.SCORING_VERIFIERS
    }
    assert len(prints) == len(catalog.VERIFIERS)
    assert all(len(item) == 12 for item in prints)


@pytest.mark.parametrize("name", ["regression", "execution", "hybrid:consensus+regression"])
def test_verifier_that_judges_by_tests_needs_them(name):
    message = f"verifier {re.escape(name)} judges by tests.*--tree DIR"
    with pytest.raises(NoTests, match=message):
        catalog.check_choice(name, VotingChoice())
    with pytest.raises(NoTests):
        catalog.load_verifier(name, None)
    catalog.check_choice(name, VotingChoice(), has_tests=True)
    assert not catalog.needs_engine(name)
    assert not catalog.has_writing_model(name)
    assert catalog.load_verifier(name, None, evidence=RecordedTests({}, "0" * 12))


def test_verifier_that_asks_a_model_needs_an_engine():
    with pytest.raises(BadEngine, match="verifier yes-no asks a language model"):
        catalog.load_verifier("hybrid:yes-no+consensus", None)


def test_only_a_hybrid_has_a_shortlist():
    catalog.check_choice("hybrid", VotingChoice(shortlist=0))
    with pytest.raises(IncompatibleOptions, match="verifier r4p makes no shortlist"):
        catalog.check_choice("r4p", VotingChoice(shortlist=2))


def test_api_key_is_not_shown():
    assert "s3cret" not in repr(EngineChoice("openai_compatible", api_key="s3cret"))
