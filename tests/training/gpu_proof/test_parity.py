"""Padded, cached scoring gives the log-probabilities of plain whole sequences, and a wrong adapter is seen."""

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM

from model.adapters.adapter_probe import Passage
from training.gpu_proof import parity
from training.trl import adapter_probe

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("one_thread")]
PROMPTS = [(5, 9, 11), (7,), (4, 4, 8, 15, 16, 23)]


@pytest.fixture(scope="module")
def peft_model(base):
    """The tiny model with a random adapter."""
    torch.manual_seed(1)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    return peft.get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)


def score_plainly(model, passage):
    """One whole sequence at a time, without padding or cache."""
    ids = torch.tensor([[*passage.prompt, *passage.continuation]])
    chances = model(input_ids=ids).logits[0].log_softmax(-1)
    start = len(passage.prompt)
    return [float(chances[start + at - 1, word]) for at, word in enumerate(passage.continuation)]


def test_a_padded_batch_scores_as_whole_sequences(peft_model):
    passages = [Passage(prompt, (3, 1, 4), (0.0,) * 3, (0.0,) * 3) for prompt in PROMPTS]
    with torch.inference_mode():
        rows = parity.score_in_batch(peft_model, passages)
        for row, passage in zip(rows, passages, strict=True):
            assert row == pytest.approx(score_plainly(peft_model, passage), abs=1e-5)


def test_the_trainers_probe_is_met_and_another_adapter_is_not(peft_model, base):
    probe = adapter_probe.measure_probe(peft_model, PROMPTS, "0" * 64, tokens=8)
    document = parity.measure_parity(peft_model, probe)
    assert document["objections"] == []
    assert document["mean_distance"] < 1e-5
    assert document["effect"] == pytest.approx(1, abs=1e-4)
    torch.manual_seed(2)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    foreign = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    assert parity.measure_parity(foreign, probe)["objections"]
