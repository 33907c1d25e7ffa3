"""A model is loaded for a plan only where it reads sequences as long as the plan allows."""

import pytest
from transformers import AutoConfig

from tests.builders import tiny_model
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.trl import model_loading

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_model.random_model(tmp_path_factory.mktemp("base"))


def plan(base, trainer, **tables):
    model = {"base": str(base), "dtype": "float32"}
    return plan_file.parse_plan(
        {"name": "mine", "trainer": trainer, "model": model} | tables, "mine"
    )


def stretched(base, directory, factor):
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
    ("trainer", "fitting", "said"),
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
def test_sequences_may_be_no_longer_than_the_model_reads(base, trainer, fitting, said):
    model_loading.load_causal_model(plan(base, trainer, **fitting))
    section = list(fitting)[-1]
    longer = fitting | {section: {"max_tokens": fitting[section]["max_tokens"] + 1}}
    with pytest.raises(BadPlan, match=said):
        model_loading.load_causal_model(plan(base, trainer, **longer))


def test_a_stretched_model_reads_more(base, tmp_path):
    longest_read = 2 * tiny_model.CONTEXT
    long = stretched(base, tmp_path, 2.0)
    model_loading.load_causal_model(plan(long, "sft", supervised={"max_tokens": longest_read}))
    with pytest.raises(BadPlan, match=f"more than the {longest_read} tokens"):
        model_loading.load_causal_model(
            plan(long, "sft", supervised={"max_tokens": longest_read + 1})
        )
