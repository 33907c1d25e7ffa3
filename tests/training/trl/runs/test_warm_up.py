"""A warm-up by given answers, and GRPO that goes on with its adapter: as the documented commands do it."""

import json
from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from typer.testing import CliRunner

from model.adapters import adapter_files
from tests.builders.models import tiny_model, training_runs
from training.commands import run as run_cli
from training.datasets import dataset
from training.datasets.manifest import Manifest
from training.evaluation.evaluation_replies import ReplySettings
from training.gate import run_evaluation
from training.gate.gate_decision import Rules
from training.plans import plan_file
from training.plans.plan import (
    BadPlan,
    LoraSettings,
    PromptSettings,
    RolloutSettings,
    TrainingMethod,
)
from training.runs import provenance, run_folder
from training.trl import grpo, model_loading, train

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]
SHOWN, ASKED = tiny_model.build_groups(8), tiny_model.build_groups(16)[8:]
"""What the warm-up is shown, and what GRPO asks about."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A base, a plan for each of the two trainings, what both learn from, and the run of the warm-up."""
    home = tmp_path_factory.mktemp("home")
    tiny_model.write_random_model(home / "base")
    few = {"max_steps": 4, "batch": 4, "micro_batch": 4, "learning_rate": 1e-2}
    plan = plan_file.load_plan(
        training_runs.write_plan(
            home / "grpo.toml",
            home / "base",
            optimiser=few,
            rollout={"prompts": 4, "replies": 2},
        )
    )
    warm = replace(
        plan,
        name="warm-up",
        trainer=TrainingMethod.SFT,
        prompt=PromptSettings(),
        rollout=RolloutSettings(),
        supervised=replace(plan.supervised, max_tokens=2048),
    )
    (home / "sft.toml").write_text(plan_file.to_toml(warm))
    training_runs.write_dataset(home / "shown", SHOWN)
    splits = {"train": ASKED, "test": [*SHOWN[:1], *tiny_model.build_groups(17)[16:]]}
    dataset.write_dataset(home / "asked", splits, Manifest(0, None, {}))
    run_command(home, "sft.toml", "--dataset", "shown", "--run", "warm")
    return home


@pytest.fixture
def plan(home):
    """GRPO from the warm-up's adapter."""
    before = plan_file.load_plan(home / "grpo.toml")
    return replace(before, model=replace(before.model, adapter=str(home / "warm" / "adapter")))


def run_command(home, *words):
    """`r4p train run` with paths in `home`; how it ended has to be well."""
    changed_plan = [one if one.startswith("--") else str(home / one) for one in words]
    done = CliRunner().invoke(run_cli.app, changed_plan)
    assert done.exit_code == 0, done.output
    return done


def compute_log_probs(model, ids):
    model.eval()
    with torch.no_grad():
        return model(input_ids=ids).logits.log_softmax(-1)


def test_grpo_starts_from_the_warm_up_adapter(home, plan, tmp_path):
    trainer = grpo.build_trainer(plan, ASKED, tmp_path)
    ids = torch.tensor([tiny_model.tokenize_prompt(trainer.processing_class, ASKED[0])])
    base = model_loading.load_causal_model(plan)
    before = compute_log_probs(base, ids)
    warm = compute_log_probs(PeftModel.from_pretrained(base, plan.model.adapter), ids)
    assert torch.equal(compute_log_probs(trainer.model, ids), warm)
    assert (warm - before).abs().max() > 0.1
    learnt = [name for name, one in trainer.model.named_parameters() if one.requires_grad]
    assert learnt
    assert all("lora_" in name for name in learnt)


def test_warmed_up_run_has_one_adapter_and_notes_both_datasets(home):
    run_command(
        home, "grpo.toml", "--dataset", "asked", "--run", "both", "--adapter", "warm/adapter"
    )
    directory = home / "both" / "adapter"
    assert adapter_files.find_objections(directory) == ()
    config, before = (
        json.loads((one / "adapter_config.json").read_text())
        for one in (directory, home / "warm" / "adapter")
    )
    assert config["base_model_name_or_path"] == str(home / "base")
    assert (config["r"], config["lora_alpha"]) == (before["r"], before["lora_alpha"])
    noted = provenance.read_provenance(home / "both")
    assert noted.adapter == run_folder.read_result(home / "warm").adapter_sha256
    assert set(noted.issues) == {one.issue for one in (*SHOWN, *ASKED)}
    wanted = run_evaluation.EvaluationRequest(
        home / "both",
        home / "asked",
        reply_tokens=4,
        reply_settings=ReplySettings(1, 1),
        rules=Rules(least_issues=2),
    )
    (leak,) = [one for one in run_evaluation.evaluate_run(wanted).findings if one.check == "leak"]
    assert not leak.passed, "the warm-up was shown an issue that is measured on"
    assert "octo/toy#0" in leak.answer


def test_kl_reference_is_the_warm_up_also_after_a_resume(home, plan, tmp_path):
    # who knows nothing earns nothing: entropy is what moves the adapter here
    near = replace(plan, policy=replace(plan.policy, kl=0.1, entropy_bonus=0.1))
    whole, broken = (
        train.TrainingJob(near, home / "asked", tmp_path / name) for name in ("whole", "broken")
    )
    moved = train.train(whole).adapter_sha256
    assert moved != run_folder.read_result(home / "warm").adapter_sha256

    def breaks(step):
        if step.step == 3:
            raise KeyError("power")

    with pytest.raises(KeyError):
        train.train(broken, breaks)
    copy = broken.folder / "checkpoint-2" / "ref" / adapter_files.WEIGHTS
    warm = home / "warm" / "adapter" / adapter_files.WEIGHTS
    assert copy.read_bytes() == warm.read_bytes()
    result = train.train(replace(broken, resume=True))
    assert result.resumed_from == 2
    assert result.adapter_sha256 == moved


def test_shipped_warm_up_fits_its_following_plan():
    warm, following = (
        plan_file.load_plan(name) for name in ("boxed-sft", "r4p-qwen2.5-coder-0.5b")
    )
    assert (warm.model.base, warm.adapter) == (following.model.base, following.adapter)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"adapter": LoraSettings(4, 16)}, "its adapter.rank is 8, the plan's 4; give the same"),
        ({"adapter": LoraSettings(8, 8)}, "its adapter.alpha is 16, the plan's 8; give the same"),
        (
            {"adapter": LoraSettings(8, 16, targets=("q_proj",))},
            "the plan's ['q_proj']; give the same",
        ),
        ({"adapter": None}, "add [adapter] as it was trained with"),
        (
            {
                "trainer": TrainingMethod.REWARD_MODEL,
                "prompt": PromptSettings("yes_no"),
                "rollout": RolloutSettings(),
            },
            "begins with an adapter of its own",
        ),
    ],
)
def test_plan_that_does_not_fit_the_adapter_is_refused(home, plan, tmp_path, parts, message):
    with pytest.raises(BadPlan) as refused:
        train.train(train.TrainingJob(replace(plan, **parts), home / "asked", tmp_path / "run"))
    assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_adapter_without_its_run_is_refused(home, plan, tmp_path):
    def refusal(adapter, base=plan.model.base):
        changed_plan = replace(
            plan, model=replace(plan.model, adapter=str(adapter), base=str(base))
        )
        with pytest.raises(BadPlan) as refused:
            train.train(train.TrainingJob(changed_plan, home / "asked", tmp_path / "run"))
        return str(refused.value)

    assert "adapter_config.json can't be read" in refusal(home / "nowhere")
    copy = tmp_path / "copied" / "adapter"
    copy.mkdir(parents=True)
    for name in adapter_files.FILES:
        (copy / name).write_bytes((home / "warm" / "adapter" / name).read_bytes())
    assert "does not name the run" in refusal(copy)
    (copy.parent / run_folder.DATASET).write_text('{"digest": "ab"}')
    assert "did not end with this adapter, so its training data is unknown" in refusal(copy)
    other = tiny_model.write_random_model(tmp_path / "other", seed=1)
    assert f"model.base = {other}; give the same base" in refusal(plan.model.adapter, other)


def test_adapter_in_place_of_a_base_is_refused(home, plan, tmp_path):
    changed_plan = replace(plan, model=replace(plan.model, base=plan.model.adapter, adapter=""))
    with pytest.raises(BadPlan, match="is an adapter, not a model: give its base with --base"):
        train.train(train.TrainingJob(changed_plan, home / "asked", tmp_path / "run"))
