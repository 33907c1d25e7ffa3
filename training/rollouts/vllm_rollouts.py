"""Sample replies from a vLLM server that loads the current adapter before each round, under a new name.

The server needs `--enable-lora`, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and access to the run's folder. Rounding
makes its probabilities differ from the trainer's. `policy.importance` corrects for that with the returned
log-probabilities.
"""

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from transformers import TrainerCallback, TrainerControl, TrainerState

from model.adapters import adapter_files, adapter_server
from model.adapters.adapter_server import NamedAdapter, Replica
from model.commands import key_file
from model.engines.connection import create_client
from model.errors import EngineDown, EngineError
from training.plans.plan import BadPlan, TrainPlan

ROUNDS_FOLDER = "rounds"
"""Folder of a run with the adapters of the last two rounds."""
_REPLY_SECONDS = 3600.0
_REFUSALS = frozenset({400, 422})
"""HTTP statuses that blame the request. All other failures may be temporary, as after a server restart."""

SampledReplies = tuple[list[list[int]], list[list[float]]]
"""Token ids of replies, and the natural log-probability of each token."""


@dataclass(slots=True)
class RolloutServer(TrainerCallback):
    """A vLLM server that samples the replies of a run. As a trainer callback, it unloads the last adapters."""

    replica: Replica
    plan: TrainPlan
    folder: Path
    """Folder of the run."""
    served: list[NamedAdapter] = field(default_factory=list)
    """Adapters of this round and the one before."""

    def request_replies(
        self, prompts: Sequence[Sequence[int]], trainer: Any, count: int
    ) -> SampledReplies:
        """Sample a reply to each prompt on the server, with the trainer's current adapter.

        `prompts` holds `count` adjacent copies of each prompt, as token ids. Returns the replies in order, with
        log-probabilities. Raises EngineDown or EngineError.
        """
        name = self._publish_adapter(trainer)
        distinct = [list(prompts[start]) for start in range(0, len(prompts), count)]
        # 7919 exceeds any number of processes, so every step and process has a seed of its own.
        seed = self.plan.seed + 7919 * trainer.state.global_step + trainer.accelerator.process_index
        return request_completions(
            self.replica, {**self._build_body(name, distinct, seed), "n": count}
        )

    def _build_body(self, name: str, prompts: list[list[int]], seed: int) -> dict[str, Any]:
        rollout = self.plan.rollout
        return {
            "model": name,
            "prompt": prompts,
            "max_tokens": rollout.max_tokens,
            "temperature": rollout.temperature,
            "top_p": rollout.top_p,
            "seed": seed,
            "logprobs": 0,
            "return_token_ids": True,
        }

    def _publish_adapter(self, trainer: Any) -> str:
        """Return the served name of the current adapter.

        All processes must call it together, because each waits for the others.
        """
        directory = self.folder / ROUNDS_FOLDER / f"step-{trainer.state.global_step}"
        if self.served and self.served[-1].directory == directory.resolve():
            return self.served[-1].name
        if trainer.is_world_process_zero():
            _write_adapter(trainer, directory)
        # Every process hashes the files that process 0 wrote, to build the same name.
        trainer.accelerator.wait_for_everyone()
        sha256 = adapter_files.hash_adapter(directory)
        mark = hashlib.sha256(f"{directory.resolve()} {sha256}".encode()).hexdigest()[:12]
        now = NamedAdapter(f"r4p-round-{mark}", self.plan.model.base, directory.resolve(), sha256)
        if trainer.is_world_process_zero():
            adapter_server.load_on_replica(self.replica, now)
        trainer.accelerator.wait_for_everyone()
        self.served.append(now)
        old = self.served[:-2]
        del self.served[:-2]
        if trainer.is_world_process_zero():
            self._unload(old)
        return now.name

    def _unload(self, old: Sequence[NamedAdapter]) -> None:
        """Unload and delete adapters that no request uses any more."""
        adapter_server.unload_unused(self.replica, old)
        for adapter in old:
            shutil.rmtree(adapter.directory)

    def on_train_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_more: Any
    ) -> None:
        """Unload the adapters of the last rounds from the server, and delete their files."""
        del args, control
        if state.is_world_process_zero:
            with suppress(EngineError):  # the run is done, whether its server lives or not
                self._unload(self.served)
        self.served.clear()


def connect_server(plan: TrainPlan, folder: Path, *, sharded: bool) -> RolloutServer:
    """Return the vLLM server that samples a plan's replies, without a request to it.

    `folder` is the run's folder, and `sharded` says whether FSDP splits the weights. Raises BadPlan if the plan cannot
    use a server.
    """
    if not plan.rollout.url:
        raise BadPlan("rollout.engine = 'server' needs rollout.url, or --engine-url")
    if plan.adapter is None:
        raise BadPlan(
            "rollout.engine = 'server' serves adapters: add [adapter], or use 'colocated'"
        )
    if sharded:
        raise BadPlan(
            "rollout.engine = 'server' needs a complete adapter in each process: turn FSDP off"
        )
    key = plan.rollout.api_key_file
    return RolloutServer(
        Replica(plan.rollout.url, key_file.read_key(Path(key)) if key else None), plan, folder
    )


def request_completions(replica: Replica, body: dict[str, Any]) -> SampledReplies:
    """Ask a vLLM server for the replies to prompts of token ids, and return the replies in order.

    `body` is the JSON body of the request. Raises EngineDown or EngineError.
    """
    try:
        with create_client(replica.url, replica.api_key, _REPLY_SECONDS) as client:
            answer = client.post("completions", json=body)
    except httpx.HTTPError as error:
        raise EngineDown(f"no engine answers at {replica.url}: {error}") from error
    if not answer.is_success:
        body_text = " ".join(answer.text.split())[:200]
        fails = EngineError if answer.status_code in _REFUSALS else EngineDown
        raise fails(f"{replica.url} answered HTTP {answer.status_code} to a round: {body_text}")
    try:
        choices = sorted(answer.json()["choices"], key=lambda choice: int(choice["index"]))
        ids = [[int(token) for token in choice["token_ids"]] for choice in choices]
        logprobs = [
            [float(logprob) for logprob in choice["logprobs"]["token_logprobs"]]
            for choice in choices
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{replica.url} returns no token ids of replies ({error!r}); use a vLLM server"
        ) from error
    expected = len(body["prompt"]) * body["n"]
    if len(ids) != expected or any(
        len(a) != len(b) or not a for a, b in zip(ids, logprobs, strict=True)
    ):
        raise EngineError(
            f"{replica.url} gave {len(ids)} replies, expected {expected}, or some without log-probabilities"
        )
    return ids, logprobs


def _write_adapter(trainer: Any, directory: Path) -> None:
    """Write the current adapter's two files."""
    # A resumed run repeats steps, so the folder may hold the adapter of the killed start. The server may still
    # read a complete adapter: delete its files instead of overwriting them. An incomplete one was never served.
    if all((directory / name).exists() for name in adapter_files.FILES):
        shutil.rmtree(directory)
    trainer.accelerator.unwrap_model(trainer.model).save_pretrained(str(directory))
