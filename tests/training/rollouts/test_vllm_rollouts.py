"""Rounds that a real vLLM samples, with the adapter as it is in the trainer."""

from dataclasses import replace

import httpx
import pytest
import torch
from typer.testing import CliRunner

from model.errors import BadEngine, EngineDown
from tests.builders.models import tiny_adapters, tiny_model, training_runs
from tests.model.chat_server import MODELS, Reply, serve_chat
from training.commands.cli import main
from training.plans import plan_file
from training.plans.plan import BadPlan, ImportanceCorrection
from training.rollouts import tokenization, vllm_rollouts
from training.runs import run_folder
from training.trl import grpo, train

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
CORRECTED = 'importance = "token-truncate"\nimportance_ceiling = 2.0'


def write_server_plan(folder, url):
    served = {"engine": "server", "url": url}
    path = training_runs.write_small_plan(folder, steps=3, micro_batch=16, rollout=served)
    path.write_text(path.read_text().replace('importance = "off"', CORRECTED))
    return plan_file.load_plan(path)


def write_keyed_plan(folder, url):
    """A plan whose server wants a key, which lies in a file."""
    (folder / "key").write_text("s3cret\n")
    plan = write_server_plan(folder, url)
    write_keyed_plan = replace(
        plan, rollout=replace(plan.rollout, api_key_file=str(folder / "key"))
    )
    (folder / "plan.toml").write_text(plan_file.to_toml(write_keyed_plan))
    return write_keyed_plan


def compute_log_probabilities(model, prompt, reply):
    """Natural log-probabilities of a reply's tokens, by the trainer's own model."""
    ids = torch.tensor([[*prompt, *reply]])
    with torch.no_grad():
        chances = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
    return chances.gather(-1, torch.tensor(reply)[:, None])[:, 0]


def list_served_names(server):
    return {one["id"] for one in httpx.get(f"{server.url}/models", trust_env=False).json()["data"]}


@pytest.mark.vllm
@pytest.mark.timeout(600)
def test_server_samples_with_the_trainers_adapter(tmp_path):
    with tiny_adapters.serve_tiny_model() as server:
        plan = write_server_plan(tmp_path, server.url)
        assert plan.policy.importance == ImportanceCorrection.TOKEN_TRUNCATE
        trainer = grpo.build_trainer(plan, tiny_model.build_groups(16), tmp_path / "alone")
        for name, weights in trainer.model.named_parameters():
            if "lora_B" in name:
                weights.data.normal_(0, 0.2)
        texts = trainer.train_dataset["prompt"]
        prompts = [tokenization.tokenize_text(trainer.processing_class, one) for one in texts]
        asked = [one for one in prompts[:4] for _ in range(4)]
        replies, said = trainer.sample(asked)
        trainer.model.eval()
        for prompt, reply, told in zip(asked, replies, said, strict=True):
            believed = compute_log_probabilities(trainer.model, prompt, reply)
            assert torch.allclose(believed, torch.tensor(told), atol=0.05)
        assert len({tuple(one) for one in replies}) > 1

        data = training_runs.write_dataset(tmp_path / "data")
        result = train.train(train.TrainingJob(plan, data, tmp_path / "run"))
        assert (result.status, result.why) == (run_folder.RunStatus.FINISHED, "")
        assert any(one.loss for one in run_folder.read_steps(tmp_path / "run"))
        rounds = {one for one in list_served_names(server) if one.startswith("r4p-round-")}
        assert len(rounds) == 1  # of the trainer that sampled without a run; a run leaves none
        assert list((tmp_path / "run" / vllm_rollouts.ROUNDS_FOLDER).iterdir()) == []


def test_server_that_is_down_leaves_no_result(tmp_path):
    data = training_runs.write_dataset(tmp_path / "data")
    plan = write_server_plan(tmp_path, "http://127.0.0.1:9/v1")
    with pytest.raises(EngineDown, match="no engine answers at http"):
        train.train(train.TrainingJob(plan, data, tmp_path / "run"))
    assert not (tmp_path / "run" / "result.json").exists()


def test_server_plan_without_a_url_is_refused(tmp_path):
    plan = write_server_plan(tmp_path, "")
    with pytest.raises(BadPlan, match=r"needs rollout\.url, or --engine-url"):
        grpo.build_trainer(plan, tiny_model.build_groups(8), tmp_path)


def test_server_needs_whole_adapters(tmp_path):
    plan = write_server_plan(tmp_path, "http://127.0.0.1:9/v1")
    with pytest.raises(BadPlan, match="turn FSDP off"):
        vllm_rollouts.connect_server(plan, tmp_path, sharded=True)
    with pytest.raises(BadPlan, match="serves adapters"):
        vllm_rollouts.connect_server(replace(plan, adapter=None), tmp_path, sharded=False)


def test_server_without_adapters_is_refused_at_once(tmp_path):
    data = training_runs.write_dataset(tmp_path / "data")
    with serve_chat(models=[MODELS]) as server:
        server.routes["/v1/load_lora_adapter"] = [Reply({"detail": "Not Found"}, 404)]
        write_keyed_plan(tmp_path, server.url)
        given = ["run", tmp_path / "plan.toml", "--dataset", data, "--run", tmp_path / "run"]
        ended = CliRunner().invoke(main, [str(one) for one in given])
    assert ended.exit_code == 2
    assert "start vLLM with --enable-lora" in ended.stderr
    assert {headers.get("Authorization") for _, headers, _ in server.seen} == {"Bearer s3cret"}
    assert "s3cret" not in (tmp_path / "run" / run_folder.PLAN).read_text()


def test_unreadable_key_file_is_refused_before_any_request(tmp_path):
    plan = write_keyed_plan(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "key").unlink()
    with pytest.raises(BadEngine, match=r"API key file .*key can't be read: No such file"):
        vllm_rollouts.connect_server(plan, tmp_path, sharded=False)
