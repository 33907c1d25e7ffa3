"""Replies by a vLLM server that is given the adapter anew for each round, under a name that is never used again.

The server may stand on other GPUs, or on a CPU; it needs `--enable-lora`, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and the
run's folder. What it samples is a little off from what the trainer would (rounding above all): the log-probabilities
it tells are what `policy.importance` corrects by.
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
from model.adapters.adapter_server import Replica, Servable
from model.commands import key_file
from model.engines.connection import http_client
from model.errors import EngineDown, EngineError
from training.plans.plan import BadPlan, TrainPlan

ROUNDS = "rounds"
"""Folder of a run that holds the adapter of the round at hand, and of the one before."""
_REPLY_SECONDS = 3600.0
_REFUSALS = frozenset({400, 422})
"""HTTP statuses that speak of what was asked; any other that is no success may pass, as that of a server started anew."""

Sampled = tuple[list[list[int]], list[list[float]]]
"""Replies as token ids, and the natural log-probability of each token."""


@dataclass(slots=True)
class Server(TrainerCallback):
    """A vLLM and what is asked of it; as a callback of its trainer it forgets the last rounds."""

    replica: Replica
    plan: TrainPlan
    folder: Path
    served: list[Servable] = field(default_factory=list)
    """The adapters of this round and of the one before."""

    def replies(self, prompts: Sequence[Sequence[int]], trainer: Any, count: int) -> Sampled:
        """One for each prompt; each is there `count` times, one beside the other. Raises EngineDown and EngineError."""
        name = self._published(trainer)
        asked = [list(prompts[at]) for at in range(0, len(prompts), count)]
        seed = self.plan.seed + 7919 * trainer.state.global_step + trainer.accelerator.process_index
        return sampled(self.replica, {**self._body(name, asked, seed), "n": count})

    def _body(self, name: str, asked: list[list[int]], seed: int) -> dict[str, Any]:
        rollout = self.plan.rollout
        return {
            "model": name,
            "prompt": asked,
            "max_tokens": rollout.max_tokens,
            "temperature": rollout.temperature,
            "top_p": rollout.top_p,
            "seed": seed,
            "logprobs": 0,
            "return_token_ids": True,
        }

    def _published(self, trainer: Any) -> str:
        """The name under which the adapter as it is now is served."""
        directory = self.folder / ROUNDS / f"step-{trainer.state.global_step}"
        if self.served and self.served[-1].directory == directory.resolve():
            return self.served[-1].name
        if trainer.is_world_process_zero():
            _write(trainer, directory)
        trainer.accelerator.wait_for_everyone()
        sha256 = adapter_files.sha256_of(directory)
        mark = hashlib.sha256(f"{directory.resolve()} {sha256}".encode()).hexdigest()[:12]
        now = Servable(f"r4p-round-{mark}", self.plan.model.base, directory.resolve(), sha256)
        if trainer.is_world_process_zero():
            adapter_server.bring(self.replica, now)
        trainer.accelerator.wait_for_everyone()
        self.served.append(now)
        old = self.served[:-2]
        del self.served[:-2]
        if trainer.is_world_process_zero():
            self._forget(old)
        return now.name

    def _forget(self, old: Sequence[Servable]) -> None:
        """Adapters that no request can be about any more."""
        adapter_server.unload_those(self.replica, old)
        for one in old:
            shutil.rmtree(one.directory)

    def on_train_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_more: Any
    ) -> None:
        """What the last rounds were sampled by is of no more use."""
        del args, control
        if state.is_world_process_zero:
            with suppress(EngineError):  # the run is done, whether its server lives or not
                self._forget(self.served)
        self.served.clear()


def named(plan: TrainPlan, folder: Path, *, sharded: bool) -> Server:
    """The plan's server. Raises BadPlan where it can't be one."""
    if not plan.rollout.url:
        raise BadPlan("rollout.engine = 'server' needs rollout.url, or --engine-url")
    if plan.adapter is None:
        raise BadPlan(
            "rollout.engine = 'server' is given adapters: add [adapter], or use 'colocated'"
        )
    if sharded:
        raise BadPlan(
            "rollout.engine = 'server' needs the adapter whole in each process: leave FSDP out"
        )
    key = plan.rollout.api_key_file
    return Server(
        Replica(plan.rollout.url, key_file.read(Path(key)) if key else None), plan, folder
    )


def sampled(replica: Replica, body: dict[str, Any]) -> Sampled:
    """What a server says to a completion request about token ids. Raises EngineDown and EngineError."""
    try:
        with http_client(replica.url, replica.api_key, _REPLY_SECONDS) as client:
            answer = client.post("completions", json=body)
    except httpx.HTTPError as error:
        raise EngineDown(f"no engine answers at {replica.url}: {error}") from error
    if not answer.is_success:
        said = " ".join(answer.text.split())[:200]
        fails = EngineError if answer.status_code in _REFUSALS else EngineDown
        raise fails(f"{replica.url} answered HTTP {answer.status_code} to a round: {said}")
    try:
        choices = sorted(answer.json()["choices"], key=lambda one: int(one["index"]))
        ids = [[int(token) for token in one["token_ids"]] for one in choices]
        worth = [[float(of) for of in one["logprobs"]["token_logprobs"]] for one in choices]
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{replica.url} tells no token ids of replies ({error!r}); vLLM does"
        ) from error
    expected = len(body["prompt"]) * body["n"]
    if len(ids) != expected or any(
        len(a) != len(b) or not a for a, b in zip(ids, worth, strict=True)
    ):
        raise EngineError(f"{replica.url} gave {len(ids)} replies and not {expected}, or torn ones")
    return ids, worth


def _write(trainer: Any, directory: Path) -> None:
    """The two files of the adapter as it is now."""
    if all((directory / name).exists() for name in adapter_files.FILES):
        shutil.rmtree(directory)
    trainer.accelerator.unwrap_model(trainer.model).save_pretrained(str(directory))
