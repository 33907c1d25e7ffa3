"""`mini-se-rl`, for real: Mini-SE on a tree, its model being trained, a verifier's verdicts for rewards."""

import json

import pytest
import torch

from model.agents.trajectories.trajectory import Attempt, StopReason
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import EngineDown
from model.prompts import prompt_template
from model.verifiers.vote_schemes import R4PVerifier
from tests.builders import guided_attempts, tiny_model, training_runs
from tests.model.agents.builders import ISSUE
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.training.trl.programs import tiny_agent
from training.datasets import agent_tasks, dataset
from training.datasets.agent_tasks import AgentTask
from training.datasets.manifest import Manifest
from training.plans.plan import BadPlan, OverlongHandling, RewardSettings
from training.rollouts import agent_rollouts, chat_encoding, episode_judgement
from training.trl import agent_grpo, train

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


def test_verifier_that_is_down_leaves_the_reward_unknown(tmp_path):
    done, silent = (
        Attempt(guided_attempts.run_attempt(tmp_path / "tree", lines), 1.0)
        for lines in (
            guided_attempts.script_fix("n / 2"),
            [guided_attempts.script_call("nothing")] * 5,
        )
    )
    down = build_verifier(ScriptLine(down="gone", repeat=True))
    assert judge(down, [done, silent]) == [None, 0.0]
    assert judge(build_verifier(), [silent]) == [0.0]


def judge(verifier, attempts, **settings):
    rewards = episode_judgement.judge_episodes(
        verifier, ISSUE, attempts, RewardSettings(**{"votes": 5} | settings), OverlongHandling.MASK
    )
    return [one.reward for one in rewards]


def run_fixes(tmp_path, *fixes):
    return [
        Attempt(
            guided_attempts.run_attempt(tmp_path / "tree", guided_attempts.script_fix(new)), 1.0
        )
        for new in fixes
    ]


READS = ScriptLine(box_containing=(tiny_agent.RIGHT,))
BABBLES = ScriptLine(reply="No idea \\boxed{many}.")
FAILS = ScriptLine(fail="the server is on fire")


@pytest.mark.parametrize(
    ("lines", "binary", "share"),
    [
        ([READS] * 5, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([READS] * 2 + [ScriptLine(box_containing=())] * 3, [0.0, 0.0, 0.0], [0.4, 0.4, 0.0]),
        ([READS] + [BABBLES] * 4, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([BABBLES] * 5, [0.0, 0.0, 0.0], [None, None, None]),
        ([READS] * 3 + [FAILS] * 2, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([READS] * 2 + [FAILS] * 3, [None, None, None], [1.0, 1.0, 0.0]),
    ],
)
def test_binary_reward_is_the_majority_of_the_readable_votes(tmp_path, lines, binary, share):
    episodes = run_fixes(tmp_path, tiny_agent.RIGHT, tiny_agent.RIGHT, tiny_agent.WRONG)
    assert judge(build_verifier(*lines), episodes, binary=True) == binary
    assert judge(build_verifier(*lines), episodes) == share


def test_short_patch_has_no_reward_and_is_not_shown(tmp_path):
    line, fix = run_fixes(tmp_path, tiny_agent.RIGHT, "n / 2 + 0\n    # exactly")
    # the first edits two lines, the second three
    shown = build_verifier(ScriptLine(box_containing=("exactly",), repeat=True))
    assert judge(shown, [line, fix], binary=True, edited_lines=2) == [0.0, 1.0]
    assert judge(shown, [line, fix], binary=True, edited_lines=3) == [None, 1.0]
    assert judge(build_verifier(), [line], edited_lines=3) == [None]


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
    weighed = {"importance": "token-truncate", "importance_ceiling": 2.0}
    with pytest.raises(BadPlan, match=r"engine = 'server': .*; policy\.importance = token-tr"):
        agent_grpo.build_trainer(
            build_plan(base, rollout=served, policy=weighed), [task], tmp_path, build_verifier()
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
    assert "<patch-4>" in server.sent_to("/v1/chat/completions")[0]["messages"][1]["content"]
    assert step["format_valid"] > 0
