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
    "no-such-plan": "shipped are boxed-sft",
}


def changed(part, **values):
    return replace(SMALL, **{part: replace(getattr(SMALL, part), **values)})


@pytest.mark.parametrize(("plan", "said"), REFUSED.items())
def test_a_plan_that_cannot_be_served_is_refused_at_once(plan, said, tmp_path):
    run = tmp_path / "run"
    asked = [plan, "--to-serve", "--dataset", str(tmp_path), "--run", str(run)]
    done = CliRunner().invoke(run_cli.app, asked)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not run.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        *((plan, said) for plan, said in REFUSED.items()),
        ("cpu-smoke --bse DIR", "No such option: --bse"),
        ("r4p-qwen2.5-coder-0.5b", "none.jsonl"),
        ("guided-dpo --material attempts.jsonl", "none.jsonl"),
    ],
)
def test_before_a_dataset_is_built_for_it(arguments, said, tmp_path):
    used = f"--for-run={arguments} --to-serve --dataset {shlex.quote(str(tmp_path))} --run run"
    asked = ["build", "--out", str(tmp_path / "d"), "--groups", str(tmp_path / "none.jsonl"), used]
    done = CliRunner().invoke(datasets.app, asked)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (changed("adapter", rank=1024), "its rank is 1024; vLLM serves 512 at most"),
        (changed("adapter", targets=("q_proj", "lm_head")), "it adapts lm_head"),
        (changed("rollout", engine=RolloutEngine.SERVER), "--engine-url URL"),
        (changed("rollout", task=RolloutTask.REPAIR), "an agent resolve issues"),
        (changed("rollout", task=RolloutTask.REPAIR), "reward.url is empty"),
        (changed("policy", drop_uniform_groups=True), "can't be trained with TRL"),
        (changed("rollout", prompts=7), "no multiple of optimiser.batch"),
    ],
)
def test_what_stands_against_a_plan_is_said(plan, said):
    servable_plan.require_servable_plan(SMALL, None)
    with pytest.raises(BadPlan, match=plan.name) as refused:
        servable_plan.require_servable_plan(plan, None)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
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
def test_a_plan_that_cannot_be_followed_leaves_no_run(name, old, new, said, tmp_path):
    written = (plan_file.SHIPPED / f"{name}.toml").read_text()
    (tmp_path / "plan.toml").write_text(written.replace(old, new))
    asked = ["--dataset", str(tmp_path), "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(run_cli.app, [str(tmp_path / "plan.toml"), *asked])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()
