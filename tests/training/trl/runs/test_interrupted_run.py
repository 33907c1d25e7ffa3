"""A run that is not to blame for its end has none: it goes on later, and comes to what it would have come to."""

from datetime import UTC, datetime, timedelta

import pytest
import torch
from safetensors import SafetensorError
from transformers import AutoTokenizer

from model.errors import EngineDown, EngineError
from tests.builders.models import tiny_model, training_runs
from tests.model.chat_server import MODELS, Reply, serve_chat
from training.plans import plan_file
from training.rollouts import tokenization
from training.runs import run_folder
from training.trl import train

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
STEPS, PROMPTS, REPLIES = 4, 4, 4
COMPLETIONS = "/v1/completions"


@pytest.fixture
def server(base):
    """Serves what vLLM would, and samples each time the same: every second reply boxes all patches."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    said = [
        tokenization.tokenize_reply(tokenizer, f"\\boxed{{{one}}}") for one in ("", "1, 2, 3, 4")
    ]
    choices = [
        {
            "index": at,
            "token_ids": said[at % 2],
            "logprobs": {"token_logprobs": [-1.0] * len(said[at % 2])},
        }
        for at in range(PROMPTS * REPLIES)
    ]
    with serve_chat(models=[MODELS]) as found:
        found.routes["/v1/load_lora_adapter"] = [Reply({})]
        found.routes["/v1/unload_lora_adapter"] = [Reply({})]
        found.routes[COMPLETIONS] = [Reply({"choices": choices})]
        yield found


@pytest.fixture
def start(tmp_path, base, server):
    """`start(folder, broken=error)`: a run of four steps, of which the third one breaks."""
    served = {"engine": "server", "url": server.url}
    plan = training_runs.write_small_plan(
        tmp_path, base=base, steps=STEPS, micro_batch=16, rollout=served
    )
    data = training_runs.write_dataset(tmp_path / "data", tiny_model.build_groups(16))

    def run_training(folder, broken=None):
        def on_step(step):
            if broken and step.step == 3:
                raise broken

        job = train.TrainingJob(plan_file.load_plan(plan), data, tmp_path / folder, resume=True)
        return train.train(job, on_step)

    return run_training


def list_results(run):
    """Checkpoints, and whether it says how it ended, or has an adapter."""
    kept = [one.name for one in run.glob("checkpoint-*")]
    return kept, *((run / name).exists() for name in (run_folder.RESULT, run_folder.ADAPTER))


def test_lost_engine_or_memory_leaves_a_run_that_can_be_resumed(tmp_path, server, start):
    lost = tmp_path / "lost"
    (sampled,) = server.routes[COMPLETIONS]
    server.routes[COMPLETIONS] = [sampled, sampled, Reply({"error": "starting"}, 503)]
    with pytest.raises(EngineDown, match="answered HTTP 503 to a round"):
        start("lost")
    assert list_results(lost) == (["checkpoint-2"], False, False)
    server.routes[COMPLETIONS] = [sampled]
    full = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        start("lost", full)
    assert list_results(lost) == (["checkpoint-2"], False, False)

    ends = [start("lost"), start("whole")]
    assert [(one.status, one.resumed_from) for one in ends] == [("finished", 2), ("finished", None)]
    assert ends[0].adapter_sha256 == ends[1].adapter_sha256
    steps = run_folder.read_steps(lost)
    assert [one.step for one in steps] == [1, 2, 3, 4]
    assert any(one.loss for one in steps)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left on device"),
        (SafetensorError("header too large"), "SafetensorError: header too large"),
        (EngineError("no token ids"), "EngineError: no token ids"),
    ],
)
def test_final_failure_is_recorded_in_the_folder(tmp_path, start, broken, why):
    result = start("run", broken)
    assert (result.status, result.why, result.steps) == (run_folder.RunStatus.FAILED, why, 3)
    assert run_folder.read_result(tmp_path / "run") == result


def test_resumed_run_removes_earlier_decisions(tmp_path, start):
    start("run", OSError(28, "No space left on device"))
    told = [tmp_path / "run" / name for name in (run_folder.EVALUATION, run_folder.GATE)]
    for path in told:
        path.write_text("{}")
    ended = start("run")
    assert not any(path.exists() for path in told)
    age = datetime.now(UTC) - datetime.fromisoformat(ended.ended_at)
    assert timedelta(0) <= age < timedelta(minutes=10)


def test_unexpected_exception_is_raised_and_ends_no_run(tmp_path, start):
    with pytest.raises(KeyError):
        start("run", KeyError("loss"))
    assert list_results(tmp_path / "run") == (["checkpoint-2"], False, False)


def test_server_that_refuses_a_round_ends_the_run_with_its_message(server, start):
    server.routes[COMPLETIONS] = [Reply({"error": "too long"}, 400)]
    result = start("run")
    assert result.status == run_folder.RunStatus.FAILED
    assert "answered HTTP 400 to a round" in result.why
