"""A plan of which nothing could come that judges is refused before anything is read or computed."""

import shlex
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from training.commands import datasets
from training.commands import run as run_cli
from training.plans import plan_file
from training.plans.plan import BadPlan, RolloutEngine, RolloutTask
from training.trl import servable_plan

SMALL = plan_file.load_plan("r4p-qwen2.5-coder-0.5b")
REFUSED = {
    "r4p-paper": "trains no adapter for judging",
    "mini-se-rl": "trains no adapter for judging",
    "reward-model": "trains no adapter for judging",
    "guided-dpo": "learns from attempts",
    "attempts-sft": "learns from attempts",
    "no-such-plan": "shipped are attempts-sft",
}


def change_plan(part, **values):
    return replace(SMALL, **{part: replace(getattr(SMALL, part), **values)})


@pytest.mark.parametrize(("plan", "message"), REFUSED.items())
def test_plan_that_cannot_be_served_is_refused_at_once(plan, message, tmp_path):
    run = tmp_path / "run"
    command = [plan, "--to-serve", "--dataset", str(tmp_path), "--run", str(run)]
    done = CliRunner().invoke(run_cli.app, command)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not run.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((plan, message) for plan, message in REFUSED.items()),
        ("cpu-smoke --bse DIR", "No such option: --bse"),
        ("r4p-qwen2.5-coder-0.5b", "none.jsonl"),
        ("guided-dpo --material attempts.jsonl", "none.jsonl"),
    ],
)
def test_plan_is_checked_before_its_dataset_is_built(arguments, message, tmp_path):
    used = f"--for-run={arguments} --to-serve --dataset {shlex.quote(str(tmp_path))} --run run"
    command = [
        "build",
        "--out",
        str(tmp_path / "d"),
        "--groups",
        str(tmp_path / "none.jsonl"),
        used,
    ]
    done = CliRunner().invoke(datasets.app, command)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (change_plan("adapter", rank=1024), "its rank is 1024; vLLM serves 512 at most"),
        (change_plan("adapter", targets=("q_proj", "lm_head")), "it adapts lm_head"),
        (change_plan("rollout", engine=RolloutEngine.SERVER), "--engine-url URL"),
        (change_plan("rollout", task=RolloutTask.REPAIR), "an agent resolve issues"),
        (change_plan("rollout", task=RolloutTask.REPAIR), "reward.url is empty"),
        (change_plan("rollout", task=RolloutTask.IMITATE), "trains a model that repairs"),
        (change_plan("policy", drop_uniform_groups=True), "can't be trained with TRL"),
        (change_plan("rollout", prompts=7), "no multiple of optimiser.batch"),
    ],
)
def test_objection_to_a_plan_is_reported(plan, message):
    servable_plan.require_servable_plan(SMALL, None)
    with pytest.raises(BadPlan, match=plan.name) as refused:
        servable_plan.require_servable_plan(plan, None)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "boxed-sft",
            "[supervised]",
            "[policy]\nkl = 0.5\n[supervised]",
            "policy.kl = 0.5 has an effect only",
        ),
        ("cpu-smoke", "[checkpoints]", "[scale]\nprocesses = 8\n[checkpoints]", "and 1 run"),
    ],
)
def test_plan_that_cannot_be_followed_leaves_no_run(name, old, new, message, tmp_path):
    written = (plan_file.SHIPPED / f"{name}.toml").read_text()
    (tmp_path / "plan.toml").write_text(written.replace(old, new))
    command = ["--dataset", str(tmp_path), "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(run_cli.app, [str(tmp_path / "plan.toml"), *command])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()
