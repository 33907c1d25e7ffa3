"""A language model that really learns: the reward of what it has not seen rises, and a run says how it ended."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from huggingface_hub import constants as hub_constants
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from model.prompts import prompt_template
from tests.builders.models import tiny_model, training_runs
from training.objective import policy_gradient, rewards
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.rollouts.group_rollouts import check_whole_groups
from training.runs import run_folder
from training.runs.run_folder import BadRun
from training.trl import grpo, train

pytestmark = [
    pytest.mark.timeout(600),  # each training is a minute of work on a busy machine
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def measure_rewards(base, adapter=None, *, count=48, replies=4):
    """The mean reward of each held-out group, by the base or with an adapter on it."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter)
    torch.manual_seed(0)
    found = []
    for group in tiny_model.build_groups(count, seed=77):
        ids = torch.tensor([tiny_model.tokenize_prompt(tokenizer, group)] * replies)
        said = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            top_k=0,
            max_new_tokens=16,
        )
        texts = tokenizer.batch_decode(said[:, ids.shape[1] :], skip_special_tokens=True)
        found.append(
            np.mean([rewards.reward_reply(one, range(1, 5), group.targets) for one in texts])
        )
    return np.array(found)


def bootstrap_mean(differences):
    """The mean difference of issues, with 95 % of those of issues drawn again."""
    draw = np.random.default_rng(0)
    means = draw.choice(differences, (2000, len(differences))).mean(axis=1)
    return differences.mean(), *np.quantile(means, (0.025, 0.975))


@pytest.mark.proof
def test_run_raises_the_reward_of_unseen_groups(tmp_path):
    base, folder = tiny_model.get_base(), tmp_path / "run"
    data = training_runs.write_dataset(tmp_path / "data")
    ended = training_runs.run_module(
        *("training", "run", "cpu-smoke", "--base", base, "--dataset", data),
        *("--run", folder, "--json"),
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    result = run_folder.read_result(folder)
    assert json.loads(ended.stdout)["adapter_sha256"] == result.adapter_sha256
    steps = run_folder.read_steps(folder)
    assert [one.step for one in steps] == list(
        range(1, training_runs.SMOKE.optimiser.max_steps + 1)
    )
    assert f"step {result.steps} of {result.planned_steps}  reward" in ended.stderr
    assert {one.name for one in (folder / "adapter").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
    before, after = measure_rewards(base), measure_rewards(base, folder / "adapter")
    _gain, low, _high = bootstrap_mean(after - before)
    assert low > 0.02, (before.mean(), after.mean(), _gain, low, _high)


def run_plan(tmp_path, plan, groups=None):
    data = training_runs.write_dataset(tmp_path / "data", groups)
    return train.train(train.TrainingJob(plan_file.load_plan(plan), data, tmp_path / "run"))


def test_loss_that_is_not_finite_fails_the_run_without_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(hub_constants, "HF_HUB_DISABLE_TELEMETRY", False)
    rate = {"learning_rate": 1e30}
    result = run_plan(
        tmp_path,
        training_runs.write_small_plan(
            tmp_path, steps=4, micro_batch=16, optimiser=rate, every_steps=4
        ),
    )
    assert result.status == run_folder.RunStatus.FAILED
    assert "a lower optimiser.learning_rate may help" in result.why
    assert run_folder.read_result(tmp_path / "run") == result
    assert not list((tmp_path / "run").glob("checkpoint-*"))
    assert not (tmp_path / "run" / "adapter").exists()
    assert hub_constants.HF_HUB_DISABLE_TELEMETRY, "TRL reports the training to the model hub"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "none of 0 groups has a labelled patch"),
        (
            [replace(one, targets=(None,) * 4) for one in tiny_model.build_groups(3)],
            "none of 3 groups has a labelled patch; add labels",
        ),
        (
            [replace(one, problem_statement="word " * 2000) for one in tiny_model.build_groups(2)],
            "left out: {'a prompt of more than 1024 tokens': 2}",
        ),
        (
            [replace(one, patches=("no diff",) * 4) for one in tiny_model.build_groups(2)],
            "left out: {'a patch that the bot could not judge': 2}",
        ),
    ],
)
def test_groups_without_a_usable_one_begin_no_run(tmp_path, groups, message):
    plan = training_runs.write_plan(tmp_path / "plan.toml", tiny_model.get_base())
    with pytest.raises(BadPlan) as refused:
        run_plan(tmp_path, plan, groups)
    assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_one_group_fills_a_round_and_the_repeats_are_counted(tmp_path):
    plan = training_runs.write_small_plan(tmp_path, steps=1, replies=2, optimiser={"epochs": 1})
    lone = replace(tiny_model.build_groups(1)[0], targets=(1.0, None, None, None))
    result = run_plan(tmp_path, plan, [lone])
    assert (result.status, result.filled, result.why) == (run_folder.RunStatus.FINISHED, 3, "")


def test_folder_of_another_run_is_refused_with_the_differences(tmp_path):
    plan = training_runs.write_plan(tmp_path / "plan.toml", tiny_model.get_base())
    data, folder = training_runs.write_dataset(tmp_path / "data"), tmp_path / "run"
    folder.mkdir()
    before = plan_file.load_plan(plan)
    text = plan_file.to_toml(replace(before, seed=7)).replace("kl = 0.0", "kl = 0.5")
    (folder / run_folder.PLAN).write_text(text)
    (folder / run_folder.DATASET).write_text(json.dumps({"digest": "ab" * 32, "material": "cd"}))
    job = train.TrainingJob(before, data, folder)
    with pytest.raises(BadRun, match="holds a run already; resume it with --resume"):
        train.train(job)
    with pytest.raises(BadRun) as refused:
        train.train(replace(job, resume=True))
    assert "started with other settings: seed was 7, is 0; policy.kl was 0.5, is 0.0; " in str(
        refused.value
    )
    assert "--dataset was abababababab, is " in str(refused.value)
    assert "--material was cd, is none; " in str(refused.value)
    (folder / run_folder.PLAN).write_text(text + "\n[of_old]\nkey = 1\n")
    with pytest.raises(BadRun, match=r"of_old.*; train in another folder"):
        train.train(replace(job, resume=True))


def test_plan_of_an_older_version_is_resumed(tmp_path):
    plan = training_runs.write_small_plan(tmp_path, steps=1, replies=2)
    folder = tmp_path / "run"
    folder.mkdir()
    lines = plan.read_text().splitlines(keepends=True)
    old = "".join(one for one in lines if not one.startswith(("adapter =", "top_p")))
    (folder / run_folder.PLAN).write_text(old)
    job = train.TrainingJob(
        plan_file.load_plan(plan), training_runs.write_dataset(tmp_path / "data"), folder, True
    )
    assert train.train(job).status == run_folder.RunStatus.FINISHED
    assert (folder / run_folder.PLAN).read_text() == plan.read_text()
    assert (folder / "prompt.j2").read_text() == prompt_template.load("r4p_group").source


def test_result_of_another_schema_is_refused(tmp_path):
    result = run_folder.RunResult(
        run_folder.RunStatus.FINISHED, "", "mine", "grpo", "base", 1, 1, 1.0, None
    )
    newer = replace(result, schema="r4p.run/2")
    run_folder.write_file(tmp_path / run_folder.RESULT, run_folder.format_json(newer))
    with pytest.raises(
        BadRun, match=r"its schema is 'r4p.run/2', but this version reads r4p.run/1"
    ):
        run_folder.read_result(tmp_path)
    run_folder.write_file(tmp_path / run_folder.RESULT, run_folder.format_json(result))
    assert run_folder.read_result(tmp_path) == result


def test_colocated_engine_without_vllm_is_refused_with_the_fix(tmp_path, monkeypatch):
    monkeypatch.setattr(grpo, "find_spec", lambda _name: None)
    plan = training_runs.write_plan(
        tmp_path / "plan.toml",
        tiny_model.write_random_model(tmp_path / "base"),
        rollout={"engine": "colocated"},
    )
    with pytest.raises(BadPlan, match=r"pip install 'vllm>=.*'server' and --engine-url"):
        run_plan(tmp_path, plan)
    assert not (tmp_path / "run").exists()


def test_unknown_reward_has_no_advantage():
    earned = [1.0, math.nan, 0.0, 0.5, 1.0, 1.0, 1.0, math.nan]
    found = grpo.compute_group_advantages(earned, 4, policy_gradient.subtract_leave_one_out)
    assert found == [0.75, 0.0, -0.75, 0.0, 0.0, 0.0, 0.0, 0.0]


def run_two_processes(tmp_path, module):
    """A run of two steps by this module, as it ended."""
    plan = training_runs.write_small_plan(tmp_path)
    return training_runs.run_module(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2),
        *("-m", "--", module, "run", plan, "--run", tmp_path / "run"),
        *("--dataset", training_runs.write_dataset(tmp_path / "data")),
    )


@pytest.mark.proof
def test_two_processes_train_one_model(tmp_path):
    ended, folder = run_two_processes(tmp_path, "training"), tmp_path / "run"
    assert ended.returncode == 0, ended.stderr[-3000:]
    result = run_folder.read_result(folder)
    assert (result.status, result.steps) == (run_folder.RunStatus.FINISHED, 2)
    assert [one.step for one in run_folder.read_steps(folder)] == [1, 2]
    assert any(one.loss for one in run_folder.read_steps(folder))
    assert (folder / "probe.json").exists()

    (folder / run_folder.RESULT).unlink()
    alone = train.TrainingJob(
        plan_file.load_plan(tmp_path / "plan.toml"), tmp_path / "data", folder, resume=True
    )
    with pytest.raises(
        BadRun, match="started with other settings: processes were 2, are 1; resume with"
    ):
        train.train(alone)


@pytest.mark.proof
def test_loss_that_is_not_finite_in_one_process_ends_both(tmp_path):
    ended = run_two_processes(tmp_path, "tests.training.trl.programs.one_sided_divergence")
    assert ended.returncode != 0
    result = run_folder.read_result(tmp_path / "run")
    assert result.status == run_folder.RunStatus.FAILED
    assert result.why.startswith("the loss of step 2 is no number in 1 of 2 processes")


def test_group_split_between_processes_is_refused():
    check_whole_groups(["a", "a", "b", "b"], 2)
    for split in (["a", "b", "b"], ["a", "b", "b", "a"], ["a", "a", "b"]):
        with pytest.raises(BadPlan, match="not 2 for each prompt"):
            check_whole_groups(split, 2)


@pytest.mark.proof
def test_round_is_learnt_in_several_steps_and_passes_with_clipping(
    tmp_path,
):
    plan = training_runs.write_small_plan(
        tmp_path, steps=8, batch=2, optimiser={"learning_rate": 2e-2}, rollout={"passes": 2}
    )
    assert run_plan(tmp_path, plan).status == run_folder.RunStatus.FINISHED
    steps = run_folder.read_steps(tmp_path / "run")
    drawn = [one.tokens for one in steps]
    assert len(set(drawn[:4])) == len(set(drawn[4:])) == 1
    assert drawn[4] > drawn[3]
    # the first step of a round is taken by the model that drew it; those after it may have left it too far
    assert [(one.clip_low, one.clip_high) for one in (steps[0], steps[4])] == [(0.0, 0.0)] * 2
    assert any(one.clip_low for one in steps)
    assert any(one.clip_high for one in steps)
