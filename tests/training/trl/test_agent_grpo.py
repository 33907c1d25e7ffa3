"""`mini-se-rl`, for real: Mini-SE on a tree, its model being trained, a verifier's verdicts for rewards."""

import json
import math
from dataclasses import replace

import pytest
import torch

from model.agents.trajectories.trajectory import StopReason
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import EngineDown
from model.prompts import prompt_template
from model.verifiers.vote_schemes import R4PVerifier
from tests.builders import guided_attempts
from tests.builders.models import tiny_model, training_runs
from tests.model.agents.builders import ISSUE
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.training.trl.programs import tiny_agent
from training.datasets import agent_tasks, dataset
from training.datasets.agent_tasks import AgentTask
from training.datasets.manifest import Manifest
from training.objective import policy_gradient
from training.plans.plan import (
    BadPlan,
    ImportanceCorrection,
)
from training.rollouts import agent_rollouts, chat_encoding
from training.trl import agent_grpo, train
from training.trl.grpo import GroupGRPOTrainer

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def build_plan(base, **changes):
    rollout = {"task": "repair", "prompts": 1, "replies": 8, "max_turns": 3, "max_tokens": 1024}
    tables = {
        "prompt": {"template": "mini_se", "max_tokens": 1024},
        "rollout": rollout | {"turn_tokens": 24},
        "policy": {"advantage": "leave-one-out", "loss": "constant-length", "overlong": "mask"},
        "optimiser": {"learning_rate": 3e-3, "batch": 1, "micro_batch": 8, "epochs": 8},
    }
    return training_runs.build_plan("grpo", base, **tables | changes)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("apprentice")
    torch.set_num_threads(1)
    return tiny_agent.base(folder / "base", folder)


@pytest.fixture
def task(tmp_path):
    return AgentTask("octo/pie#1", ISSUE, tiny_agent.tree(tmp_path / "tree"))


def build_verifier(*lines):
    """Boxes the patches that divide."""
    script = lines or (ScriptLine(box_containing=(tiny_agent.RIGHT,), repeat=True),)
    return R4PVerifier(ScriptedEngine(script), prompt_template.load("r4p_group"))


def compute_chance_of_right(trainer, tmp_path) -> float:
    """How likely the model is to mend rightly, of the two ways it knows."""
    ways = [
        chat_encoding.encode_attempt(
            trainer.processing_class,
            guided_attempts.run_attempt(tmp_path / "tree", guided_attempts.script_fix(new)),
        )
        for new in (tiny_agent.RIGHT, tiny_agent.WRONG)
    ]
    logs = []
    for way in ways:
        ids = torch.tensor([way.prompt + way.completion])
        with torch.no_grad():
            scores = trainer.model(input_ids=ids).logits[0, :-1].log_softmax(-1)
        chances = scores.gather(1, ids[0, 1:, None])[len(way.prompt) - 1 :, 0]
        logs.append(chances[torch.tensor(way.own_mask) == 1].sum())
    return float(torch.stack(logs).softmax(0)[0])


def test_agent_learns_what_the_verifier_rates_correct(base, task, tmp_path):
    trainer = agent_grpo.build_trainer(build_plan(base), [task], tmp_path / "run", build_verifier())
    before = compute_chance_of_right(trainer, tmp_path)
    trainer.train()
    assert 0.2 < before < 0.8
    assert compute_chance_of_right(trainer, tmp_path) > 0.9
    told = [one for one in trainer.state.log_history if "reward" in one]
    assert len(told) == 8
    assert max(one["reward"] for one in told[-3:]) > told[0]["reward"]
    assert min(one["format_valid"] for one in told) >= 0.5


def test_episode_is_learnt_as_sampled_without_tool_answers(base, task, tmp_path):
    trainer = agent_grpo.build_trainer(build_plan(base), [task], tmp_path / "run", build_verifier())
    source = trainer.rollout_func.__self__
    found = source.rollout([source.rows[0]["prompt"]] * 8, trainer)
    assert len(found["completion_ids"]) == 8
    assert {one is not None for one in found["earned"]} == {True}
    for ids, mask, stop in zip(
        found["completion_ids"], found["env_mask"], found["stop"], strict=True
    ):
        assert len(ids) == len(mask)
        own = [token for token, is_own in zip(ids, mask, strict=True) if is_own]
        told = [token for token, is_own in zip(ids, mask, strict=True) if not is_own]
        said = trainer.processing_class.decode(own)
        if stop == StopReason.SUBMITTED.value:
            assert said.endswith("<|im_end|>")
            assert "patch_submission" in said
            assert "Result of edit_tool" in trainer.processing_class.decode(told)
        assert "Result of" not in said
    opening = trainer.processing_class.decode(found["prompt_ids"][0])
    assert opening == source.rows[0]["prompt"]


def test_failing_verifier_changes_no_weight(base, task, tmp_path):
    failing = build_verifier(ScriptLine(fail="the server is on fire", repeat=True))
    one = build_plan(
        base, optimiser={"learning_rate": 1.0, "batch": 1, "micro_batch": 8, "max_steps": 1}
    )
    trainer = agent_grpo.build_trainer(one, [task], tmp_path / "run", failing)
    before = {name: weight.clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    assert trainer.state.global_step == 1
    for name, weight in trainer.model.named_parameters():
        assert torch.equal(weight, before[name]), name


@pytest.mark.parametrize(
    ("temperature", "replies"),
    [
        (1.0, 2),  # a whole reply is one token of this model: an edit and a submission
        (1e6, 5),  # replies at random: malformed
    ],
)
def test_episode_whose_last_reply_was_cut_is_learnt(base, task, tmp_path, temperature, replies):
    rollout = {"task": "repair", "prompts": 1, "replies": 2, "max_turns": 9, "max_tokens": 1024}
    plan = build_plan(
        base,
        rollout=rollout | {"turn_tokens": 1, "temperature": temperature},
        optimiser={"batch": 1, "micro_batch": 2, "max_steps": 1},
    )
    trainer = agent_grpo.build_trainer(plan, [task], tmp_path / "run", build_verifier())
    scored = trainer._generate_and_score_completions([trainer.train_dataset[0]] * 2)
    # Tokens with a loss: one of each reply. TRL's mask of cut replies would leave none.
    assert (scored["completion_mask"] * scored["tool_mask"]).sum(1).tolist() == [replies] * 2


class OtherEngineTrainer(GroupGRPOTrainer):
    """Samples with the model in training, as an engine that held each sampled token half as likely."""

    def sample(self, prompts, copies=None):
        replies, _ = super().sample(prompts, copies)
        pairs = zip(prompts, replies, strict=True)
        return replies, [self._compute_halved(list(prompt), list(ids)) for prompt, ids in pairs]

    def _compute_halved(self, prompt, ids):
        with torch.no_grad():
            scores = self.model(input_ids=torch.tensor([prompt + ids])).logits[0, :-1]
        logs = scores.log_softmax(-1).gather(1, torch.tensor(prompt + ids)[1:, None])[:, 0]
        return (logs[len(prompt) - 1 :] - math.log(2)).tolist()


@pytest.mark.parametrize(("ceiling", "weight"), [(3.0, 2.0), (1.5, 1.5)])
def test_sampled_log_probabilities_weigh_own_tokens_alone(base, task, tmp_path, ceiling, weight):
    built = agent_grpo.build_trainer(build_plan(base), [task], tmp_path / "run", build_verifier())
    built.__class__ = OtherEngineTrainer
    plain = built._generate_and_score_completions([built.train_dataset[0]] * 8)
    policy = replace(
        built._plan.policy,
        importance=ImportanceCorrection.TOKEN_TRUNCATE,
        importance_ceiling=ceiling,
    )
    built._plan = replace(built._plan, policy=policy)
    plain_mask = plain["completion_mask"] * plain["tool_mask"]
    assert torch.equal(
        plain["sampling_per_token_logps"] != 0, plain_mask.bool()
    )  # kept for every token that the model wrote, 0 for the others
    weights = built._compute_weights(plain)
    assert torch.allclose(weights[plain_mask.bool()], torch.tensor(weight), atol=1e-4)
    assert (weights[~plain_mask.bool()] == 1).all()
    scored = built._generate_and_score_completions([built.train_dataset[0]] * 8)
    own = (scored["completion_mask"] * scored["tool_mask"]).bool()
    rewards = built._rewards[:, 0].tolist()
    advantages = torch.tensor(policy_gradient.subtract_leave_one_out(rewards))[:, None]
    expected = advantages * torch.where(own, weight, 1.0)
    assert torch.allclose(scored["advantages"], expected, atol=1e-4)


def test_episode_gets_its_tokens_beside_its_own_prompt(base):
    plan = build_plan(base)
    assert agent_rollouts.build_limits(plan, 100).tokens == 100 + 1024


def test_prompt_is_the_opening_of_the_agent(base, task, tmp_path):
    trainer = agent_grpo.build_trainer(build_plan(base), [task], tmp_path / "run", build_verifier())
    text = agent_rollouts.render_opening(trainer.processing_class, ISSUE)
    assert trainer.train_dataset[0]["prompt"] == text
    assert "### edit_tool" in text


def test_tasks_with_too_long_a_prompt_are_refused(base, task, tmp_path):
    short = build_plan(base, prompt={"template": "mini_se", "max_tokens": 8})
    with pytest.raises(BadPlan, match="a prompt of more than 8 tokens"):
        agent_grpo.build_trainer(short, [task], tmp_path / "run", build_verifier())


def test_unsupported_agent_settings_are_refused(base, task, tmp_path):
    served = {"task": "repair", "engine": "server", "url": "http://127.0.0.1:9/v1"}
    with pytest.raises(BadPlan, match="engine = 'server': an agent's turns"):
        agent_grpo.build_trainer(
            build_plan(base, rollout=served), [task], tmp_path, build_verifier()
        )


def test_second_task_of_the_same_text_is_left_out(base, task, tmp_path):
    twin = AgentTask("octo/pie#2", task.statement, task.tree)
    trainer = agent_grpo.build_trainer(
        build_plan(base), [task, twin], tmp_path / "run", build_verifier()
    )
    assert trainer.left_out == {"the same text as another issue": 1}


def test_plan_without_a_verifier_is_refused(base, task, tmp_path):
    with pytest.raises(BadPlan, match=r"reward\.url is empty"):
        agent_grpo.build_trainer(build_plan(base), [task], tmp_path / "run")
    nowhere = build_plan(base, reward={"url": "http://127.0.0.1:9/v1", "model": "m"})
    with pytest.raises(EngineDown, match=r"no engine answers at http://127\.0\.0\.1:9/v1"):
        agent_grpo.build_trainer(nowhere, [task], tmp_path / "run")


def test_verifier_of_the_reward_asks_with_the_plans_prompt(base):
    with serve_chat(models=[MODELS], chat=[build_completion("yes")]) as server:
        reward = {"url": server.url, "prompt": "r4p_appendix_b"}
        verifier = agent_grpo.build_verifier(build_plan(base, reward=reward))
    shipped = prompt_template.load("r4p_appendix_b")
    assert verifier.engine.prompt_fingerprint == shipped.fingerprint


def test_run_asks_the_verifier_at_its_url(base, task, tmp_path):
    line = {
        "format": agent_tasks.FORMAT,
        "issue": task.issue,
        "title": ISSUE.title,
        "body": ISSUE.body,
        "tree": "tree",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line) + "\n")
    about = Manifest(seed=0, as_of=None, rules={})
    dataset.write_dataset(
        tmp_path / "data", {"train": tiny_model.build_groups(2), "test": []}, about
    )
    with serve_chat(models=[MODELS], chat=[build_completion("It divides. \\boxed{1}")]) as server:
        small = build_plan(
            base,
            reward={"url": server.url, "votes": 1},
            adapter={"rank": 4, "alpha": 8},
            optimiser={"batch": 1, "micro_batch": 8, "max_steps": 1},
        )
        job = train.TrainingJob(
            small, tmp_path / "data", tmp_path / "run", material=tmp_path / "tasks.jsonl"
        )
        result = train.train(job)
    assert (result.status, result.why, result.steps) == ("finished", "", 1)
    step = json.loads((tmp_path / "run" / "metrics.jsonl").read_text())
    assert 0 < step["reward"] <= 1
    assert "<patch-4>" in server.list_bodies("/v1/chat/completions")[0]["messages"][1]["content"]
    assert step["format_valid"] > 0
