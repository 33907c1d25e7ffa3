"""A model is loaded for a plan only where it reads sequences as long as the plan allows."""

import pytest
from transformers import AutoConfig

from tests.builders.models import tiny_model, training_runs
from training.plans.plan import BadPlan
from training.trl import model_loading

pytestmark = pytest.mark.model


def write_stretched_model(base, directory, factor):
    """The same model with its positions stretched."""
    config = AutoConfig.from_pretrained(base)
    config.rope_parameters |= {
        "rope_type": "yarn",
        "factor": factor,
        "original_max_position_embeddings": tiny_model.CONTEXT,
    }
    config.save_pretrained(directory)
    (directory / "model.safetensors").symlink_to(base / "model.safetensors")
    return directory


@pytest.mark.parametrize(
    ("trainer", "fitting", "message"),
    [
        (
            "grpo",
            {"prompt": {"max_tokens": 1096}, "rollout": {"max_tokens": 3000}},
            r"prompt.max_tokens = 1096 \+ rollout.max_tokens = 3001 is more than the 4096 tokens",
        ),
        ("sft", {"supervised": {"max_tokens": 4096}}, "supervised.max_tokens = 4097 is more"),
        ("dpo", {"pairs": {"max_tokens": 4096}}, "pairs.max_tokens = 4097 is more"),
    ],
)
def test_sequences_longer_than_the_context_are_refused(base, trainer, fitting, message):
    model_loading.load_causal_model(training_runs.build_plan(trainer, base, **fitting))
    section = list(fitting)[-1]
    longer = fitting | {section: {"max_tokens": fitting[section]["max_tokens"] + 1}}
    with pytest.raises(BadPlan, match=message):
        model_loading.load_causal_model(training_runs.build_plan(trainer, base, **longer))


def test_stretched_context_allows_longer_sequences(base, tmp_path):
    longest_read = 2 * tiny_model.CONTEXT
    long = write_stretched_model(base, tmp_path, 2.0)
    model_loading.load_causal_model(
        training_runs.build_plan("sft", long, supervised={"max_tokens": longest_read})
    )
    with pytest.raises(BadPlan, match=f"more than the {longest_read} tokens"):
        model_loading.load_causal_model(
            training_runs.build_plan("sft", long, supervised={"max_tokens": longest_read + 1})
        )
