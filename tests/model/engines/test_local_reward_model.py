"""The engine that scores prompts on this CPU, with a real tiny model: whole, and as an adapter of its base."""

import json
import shutil
from contextlib import closing

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue
from model.errors import BadEngine, EngineDown, EngineError
from model.protocols import Message, Request
from tests.builders.models import tiny_model, tiny_reward_model
from tests.model.builders import build_patch

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore::UserWarning")]

PROMPTS = [(Message("system", "judge"), Message("user", f"patch {name}")) for name in "abc"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_model.write_random_model(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return tiny_reward_model.write_reward_model(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory):
    return tiny_reward_model.write_adapter(tmp_path_factory.mktemp("adapter"), base)


def open_model(directory):
    return closing(catalog.load_engine(EngineChoice("local_transformers", model=str(directory))))


def compute_logits(model, tokenizer):
    """The scores by transformers' own forward pass, one prompt at a time."""
    with torch.no_grad():
        return [
            float(
                model(
                    **tokenizer.apply_chat_template(
                        [{"role": one.role, "content": one.content} for one in prompt],
                        add_generation_prompt=True,
                        return_dict=True,
                        return_tensors="pt",
                    )
                ).logits
            )
            for prompt in PROMPTS
        ]


def test_whole_model_gives_the_scores_of_transformers(whole):
    reference = AutoModelForSequenceClassification.from_pretrained(whole).eval()
    wanted = compute_logits(reference, AutoTokenizer.from_pretrained(whole))
    with open_model(whole) as engine:
        scores = engine.score(PROMPTS)
        assert [score.prompt_tokens for score in scores] == [
            len(engine.encode(prompt)) for prompt in PROMPTS
        ]
        assert (engine.name, engine.context_tokens) == ("local_reward_model", tiny_model.CONTEXT)
        assert engine.count_tokens("guard") == 1
        assert {"<|im_start|>", "<|im_end|>"} <= engine.special_tokens
    assert [score.value for score in scores] == pytest.approx(wanted, abs=1e-4)
    assert len(set(wanted)) == 3


def test_adapter_gives_the_scores_of_its_base_with_its_own_head(base, adapter):
    random_head = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    reference = PeftModel.from_pretrained(random_head, str(adapter)).eval()
    reference.config.pad_token_id = 0
    wanted = compute_logits(reference, AutoTokenizer.from_pretrained(base))
    with open_model(adapter) as engine:
        assert [score.value for score in engine.score(PROMPTS)] == pytest.approx(wanted, abs=1e-4)


def test_long_prompt_fails_alone_and_nothing_is_written(whole):
    long = (Message("user", "word " * 5000),)
    with open_model(whole) as engine:
        fine, too_long = engine.score([PROMPTS[0], long])
        assert isinstance(too_long, EngineError)
        assert "exceeds the context of 4096" in str(too_long)
        assert fine.prompt_tokens > 0
        with pytest.raises(EngineDown, match="is a reward model, which writes nothing; judge with"):
            engine.complete([Request(PROMPTS[0], 1, 0.0, 0)])
        with pytest.raises(EngineDown, match="is a reward model, which writes nothing"):
            catalog.load_verifier("r4p", engine).verify(
                Issue("It breaks", ""), [build_patch("a", "x = 1")], votes=1
            )


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (tiny_model.write_random_model, "has no trained head that scores a prompt"),
        (
            lambda folder: tiny_reward_model.write_reward_model(folder, labels=2),
            "has 2 labels, and a reward model has 1",
        ),
        (lambda folder: folder, "holds no readable model"),
    ],
)
def test_model_without_a_head_of_one_score_is_refused_with_the_fix(tmp_path, write, message):
    with pytest.raises(BadEngine, match=r"`r4p train run reward-model`") as refused:
        open_model(write(tmp_path))
    assert message in str(refused.value)
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("labels", "message"), [(None, "has no trained head"), (3, "has 3 labels, and a reward model")]
)
def test_adapter_without_a_head_of_one_score_is_refused(base, tmp_path, labels, message):
    with pytest.raises(BadEngine, match=message):
        open_model(tiny_reward_model.write_adapter(tmp_path, base, labels=labels))


def test_adapter_whose_base_is_gone_is_refused(adapter, tmp_path):
    copy = shutil.copytree(adapter, tmp_path / "adapter")
    config = json.loads((copy / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(tmp_path / "gone")
    (copy / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(BadEngine, match=r"can't be loaded: .*gone"):
        open_model(copy)


def test_tokenizer_without_a_chat_template_is_refused(whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "model")
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(BadEngine, match="has no chat template"):
        open_model(copy)
