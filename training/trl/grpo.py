"""GRPO by TRL: replies from our rollouts, advantages from `training/objective/advantages.py`, a loss that is none stops it.

Loads TRL, which takes seconds.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from datasets import Dataset
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from training.datasets import schedule
from training.datasets.groups import TrainingGroup
from training.objective import advantages, importance_sampling
from training.plans.plan import Advantage, BadPlan, Engine, Importance, Task, TrainPlan
from training.rollouts import group_rollouts, vllm_rollouts
from training.rollouts.group_rollouts import Source
from training.trl import grpo_config, model_loading
from training.trl.checkpoints import LOWER, Complete, Diverged
from training.trl.training_arguments import common

_ADVANTAGES: dict[Advantage, Callable[[advantages.Rewards], advantages.Advantages]] = {
    Advantage.GRPO: partial(advantages.grpo, epsilon=advantages.TRL_EPSILON),
    Advantage.LEAVE_ONE_OUT: advantages.leave_one_out,
    Advantage.WITHOUT_DEVIATION: advantages.without_deviation,
}


class Trainer(Complete, GRPOTrainer):
    """TRL's trainer with our advantages and our replies."""

    left_out: dict[str, int]
    """How many groups are not asked about, by reason."""
    filled: int = 0
    """Groups that are asked about once more, so that the last round is whole."""

    def __init__(self, plan: TrainPlan, source: Source, **told: Any) -> None:
        super().__init__(reward_funcs=[source.reward], rollout_func=source.rollout, **told)
        self._advantage = _ADVANTAGES[plan.policy.advantage]
        self._plan = plan
        self._server = (
            vllm_rollouts.named(
                plan, Path(str(self.args.output_dir)), sharded=bool(self.is_fsdp_enabled)
            )
            if plan.rollout.engine == Engine.SERVER
            else None
        )
        if self._server:
            self.add_callback(self._server)
        self._rewards: torch.Tensor | None = None
        self.left_out = dict(source.left_out)

    def sampled(
        self, prompts: list[list[int]], each: int | None = None
    ) -> tuple[list[list[int]], Any]:
        """One reply to each prompt, both as token ids, with log-probabilities where another engine sampled it.

        `each`: how often a prompt is among them, one beside the other; None: as often as the plan says.
        """
        count = each or self._plan.rollout.replies
        if self._server:
            return self._server.replies(prompts, self, count)
        try:
            found: tuple[list[list[int]], Any] = self._generate_single_turn(  # type: ignore[no-untyped-call]
                prompts, None, {}, count
            )
        except RuntimeError as error:
            if "probability tensor" not in str(error):
                raise
            raise Diverged(
                f"after step {self.state.global_step} the model gives no probabilities any more, {LOWER}"
            ) from error
        return found

    def _calculate_rewards(self, *args: Any, **named: Any) -> torch.Tensor:
        self._rewards = super()._calculate_rewards(*args, **named)
        return self._rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Replies with our own advantages: one definition for every engine, also where rewards are unknown."""
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._rewards is None:
            raise RuntimeError("TRL scored replies without asking for their rewards")
        mine = slice(
            self.accelerator.process_index * len(inputs),
            (self.accelerator.process_index + 1) * len(inputs),
        )
        every = grouped(self._rewards[:, 0].tolist(), self._plan.rollout.replies, self._advantage)
        output["advantages"] = torch.tensor(every[mine], device=output["advantages"].device)
        if self._server and self._plan.policy.importance != Importance.OFF:
            output["advantages"] = output["advantages"].unsqueeze(1) * self._weights(output)
        return output

    def _weights(self, output: dict[str, Any]) -> torch.Tensor:
        """What each token of replies that a server sampled counts: an advantage times it is the loss times it."""
        trained = output.get("old_per_token_logps")
        if trained is None:
            kept = output["completion_ids"].size(1)
            ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
            seen = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
            with torch.no_grad():
                trained, _, _ = self._get_per_token_logps_and_entropies(
                    self.model, ids, seen, kept, batch_size=self.args.per_device_train_batch_size
                )
        loss = self._plan.policy
        mask = output["completion_mask"] * output.get("tool_mask", 1)
        found = importance_sampling.weights(
            trained,
            output["sampling_per_token_logps"],
            mask,
            loss.importance,
            loss.importance_ceiling or math.inf,
        )
        self._metrics["train"]["importance"].append(found[mask.bool()].mean().item())
        return found


def grouped(
    rewards: Sequence[float],
    replies: int,
    advantage: Callable[[advantages.Rewards], advantages.Advantages],
) -> list[float]:
    """Advantages of groups that follow one another; NaN is an unknown reward, and moves nothing."""
    known = [None if math.isnan(one) else one for one in rewards]
    parts = (known[at : at + replies] for at in range(0, len(known), replies))
    return [one or 0.0 for part in parts for one in advantage(part)]


def trainer(plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path) -> Trainer:
    """Ready to train; checkpoints go to `folder`. Raises BadPlan where nothing can be learnt by this plan."""
    settings = _settings(plan, folder)
    tokenizer = model_loading.tokenizer(plan)
    if plan.rollout.task == Task.REPAIR:
        raise BadPlan(
            "rollout.task = 'repair': episodes are no groups; see training/rollouts/agent_rollouts.py"
        )
    kept, left_out = group_rollouts.askable(plan, groups, tokenizer)
    asked = _asked(plan, kept, left_out)
    source = group_rollouts.judgements(plan, asked.groups, tokenizer)
    source.left_out = left_out
    settings["max_steps"] = asked.steps
    made = ready(plan, source, tokenizer, settings)
    made.filled = asked.filled
    return made


def _settings(plan: TrainPlan, folder: Path) -> dict[str, Any]:
    ours = grpo_config.policy(plan, PartialState().num_processes)
    return common(plan, folder, each=plan.rollout.replies) | ours


def ready(plan: TrainPlan, source: Source, tokenizer: Any, settings: dict[str, Any]) -> Trainer:
    """A trainer on any source of prompts, replies and rewards. Raises BadPlan."""
    if plan.rollout.engine == Engine.COLOCATED and find_spec("vllm") is None:
        raise BadPlan(
            "rollout.engine = 'colocated': vLLM is not installed here; install one that TRL knows (pip install "
            "'vllm>=0.22,<=0.31'), or name a server: rollout.engine = 'server' and --engine-url"
        )
    return Trainer(
        plan,
        source,
        **model_loading.trainable(plan),
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list(source.rows),
        processing_class=tokenizer,
    )


def _asked(
    plan: TrainPlan, groups: Sequence[TrainingGroup], left_out: Counter[str]
) -> schedule.Rounds:
    try:
        return schedule.laid_out(groups, plan)
    except ValueError as error:
        why = f"; left out: {dict(left_out)}" if left_out else ""
        raise BadPlan(f"{error}{why}") from error
