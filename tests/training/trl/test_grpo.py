"""A language model that really learns: the reward of what it has not seen rises, and a run says how it ended."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from huggingface_hub.utils import _telemetry
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.builders import tiny_model, training_runs
from training.objective import policy_gradient, rewards
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.rollouts.group_rollouts import check_whole_groups
from training.runs import run_folder
from training.runs.run_folder import BadRun
from training.trl import grpo, train

pytestmark = [
    pytest.mark.timeout(
        600
    ),  # each training is a minute of work, on machines that have other things to do
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def rewards_of(base, adapter=None, *, count=48, replies=4):
    """The mean reward of each held-out group, by the base or with an adapter on it."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter)
    torch.manual_seed(0)
    found = []
    for group in tiny_model.groups(count, seed=77):
        ids = torch.tensor([tiny_model.prompt_ids(tokenizer, group)] * replies)
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


def interval(differences):
    """The mean difference of issues, with 95 % of those of issues drawn again."""
    draw = np.random.default_rng(0)
    means = draw.choice(differences, (2000, len(differences))).mean(axis=1)
    return differences.mean(), *np.quantile(means, (0.025, 0.975))


@pytest.mark.proof
def test_the_command_raises_the_reward_of_groups_that_were_not_learnt_from(tmp_path):
    base, folder = tiny_model.kept_base(), tmp_path / "run"
    data = training_runs.written_dataset(tmp_path / "data")
    ended = training_runs.started(
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
    assert f"step {result.steps} of {result.of}  reward" in ended.stderr
    assert {one.name for one in (folder / "adapter").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
    before, after = rewards_of(base), rewards_of(base, folder / "adapter")
    _gain, low, _high = interval(after - before)
    assert low > 0.02, (before.mean(), after.mean(), _gain, low, _high)


def ran(tmp_path, plan, groups=None):
    data = training_runs.written_dataset(tmp_path / "data", groups)
    return train.train(train.TrainingJob(plan_file.load_plan(plan), data, tmp_path / "run"))


def test_a_loss_that_is_no_number_fails_the_run_and_leaves_no_checkpoint_of_it(tmp_path):
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser={"learning_rate": 1e30, "max_steps": 4, "batch": 4, "micro_batch": 16},
        rollout={"prompts": 4, "replies": 4},
        every_steps=4,
    )
    result = ran(tmp_path, plan)
    assert result.status == run_folder.RunStatus.FAILED
    assert "a lower optimiser.learning_rate may help" in result.why
    assert run_folder.read_result(tmp_path / "run") == result
    assert not list((tmp_path / "run").glob("checkpoint-*"))
    assert not (tmp_path / "run" / "adapter").exists()
    assert _telemetry._TELEMETRY_THREAD is None, "TRL reports the training to the model hub"


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([], "none of 0 groups has a labelled patch"),
        (
            [replace(one, targets=(None,) * 4) for one in tiny_model.groups(3)],
            "none of 3 groups has a labelled patch; add labels",
        ),
        (
            [replace(one, problem_statement="word " * 2000) for one in tiny_model.groups(2)],
            "left out: {'a prompt of more than 1024 tokens': 2}",
        ),
        (
            [replace(one, patches=("no diff",) * 4) for one in tiny_model.groups(2)],
            "left out: {'a patch that the bot could not judge': 2}",
        ),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused_and_begins_no_run(tmp_path, groups, said):
    plan = training_runs.written_plan(tmp_path / "plan.toml", tiny_model.kept_base())
    with pytest.raises(BadPlan) as refused:
        ran(tmp_path, plan, groups)
    assert said in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_one_group_with_one_known_label_is_learnt_from_and_the_repeats_are_said(tmp_path):
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser={"max_steps": 1, "epochs": 1, "batch": 4, "micro_batch": 8},
        rollout={"prompts": 4, "replies": 2},
    )
    lone = replace(tiny_model.groups(1)[0], targets=(1.0, None, None, None))
    result = ran(tmp_path, plan, [lone])
    assert (result.status, result.filled, result.why) == (run_folder.RunStatus.FINISHED, 3, "")


def test_a_folder_that_holds_another_run_is_left_alone(tmp_path):
    plan = training_runs.written_plan(tmp_path / "plan.toml", tiny_model.kept_base())
    data, folder = training_runs.written_dataset(tmp_path / "data"), tmp_path / "run"
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


def test_a_plan_of_before_a_key_was_known_goes_on(tmp_path):
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser={"max_steps": 1, "batch": 4, "micro_batch": 8},
        rollout={"prompts": 4, "replies": 2},
    )
    folder = tmp_path / "run"
    folder.mkdir()
    lines = plan.read_text().splitlines(keepends=True)
    old = "".join(one for one in lines if not one.startswith(("adapter =", "top_p")))
    (folder / run_folder.PLAN).write_text(old)
    job = train.TrainingJob(
        plan_file.load_plan(plan), training_runs.written_dataset(tmp_path / "data"), folder, True
    )
    assert train.train(job).status == run_folder.RunStatus.FINISHED
    assert (folder / run_folder.PLAN).read_text() == plan.read_text()


def test_a_result_of_another_schema_is_refused(tmp_path):
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


def test_without_vllm_a_colocated_one_is_refused_with_its_fix(tmp_path, monkeypatch):
    monkeypatch.setattr(grpo, "find_spec", lambda _name: None)
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.random_model(tmp_path / "base"),
        rollout={"engine": "colocated"},
    )
    with pytest.raises(BadPlan, match=r"pip install 'vllm>=.*'server' and --engine-url"):
        ran(tmp_path, plan)
    assert not (tmp_path / "run").exists()


def test_an_unknown_reward_moves_nobody():
    earned = [1.0, math.nan, 0.0, 0.5, 1.0, 1.0, 1.0, math.nan]
    found = grpo.compute_group_advantages(earned, 4, policy_gradient.subtract_leave_one_out)
    assert found == [0.75, 0.0, -0.75, 0.0, 0.0, 0.0, 0.0, 0.0]


def two_processes(tmp_path, module):
    """A run of two steps by this module, as it ended."""
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser={"max_steps": 2, "batch": 4, "micro_batch": 8},
        rollout={"prompts": 4, "replies": 4},
    )
    return training_runs.started(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2),
        *("-m", "--", module, "run", plan, "--run", tmp_path / "run"),
        *("--dataset", training_runs.written_dataset(tmp_path / "data")),
    )


@pytest.mark.proof
def test_two_processes_train_one_model_and_keep_each_group_whole(tmp_path):
    ended, folder = two_processes(tmp_path, "training"), tmp_path / "run"
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
def test_a_loss_that_is_no_number_in_one_of_two_processes_ends_both_with_that_reason(tmp_path):
    ended = two_processes(tmp_path, "tests.training.trl.programs.one_sided_divergence")
    assert ended.returncode != 0
    result = run_folder.read_result(tmp_path / "run")
    assert result.status == run_folder.RunStatus.FAILED
    assert result.why.startswith("the loss of step 2 is no number in 1 of 2 processes")


def test_replies_to_one_prompt_that_were_split_between_processes_are_refused():
    check_whole_groups(["a", "a", "b", "b"], 2)
    for split in (["a", "b", "b"], ["a", "b", "b", "a"], ["a", "a", "b"]):
        with pytest.raises(BadPlan, match="not 2 for each prompt"):
            check_whole_groups(split, 2)


@pytest.mark.proof
def test_a_round_is_learnt_from_in_several_steps_and_passes_and_clipped_where_it_moved_too_far(
    tmp_path,
):
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser={"learning_rate": 2e-2, "max_steps": 8, "batch": 2, "micro_batch": 8},
        rollout={"prompts": 4, "replies": 4, "passes": 2},
    )
    assert ran(tmp_path, plan).status == run_folder.RunStatus.FINISHED
    steps = run_folder.read_steps(tmp_path / "run")
    drawn = [one.tokens for one in steps]
    assert len(set(drawn[:4])) == len(set(drawn[4:])) == 1
    assert drawn[4] > drawn[3]
    # the first step of a round is taken by the model that drew it; those after it may have left it too far
    assert [(one.clip_low, one.clip_high) for one in (steps[0], steps[4])] == [(0.0, 0.0)] * 2
    assert any(one.clip_low for one in steps)
    assert any(one.clip_high for one in steps)
