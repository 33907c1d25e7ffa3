"""Train with GRPO in TRL, with our rollouts and the advantages of `training/objective/policy_gradient.py`.

Loading TRL takes seconds.
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
from training.datasets.merged_fixes import MergedFix
from training.objective import policy_gradient
from training.plans.plan import (
    AdvantageEstimator,
    BadPlan,
    ImportanceCorrection,
    RolloutEngine,
    RolloutTask,
    TrainPlan,
)
from training.rollouts import group_rollouts, imitation_rollouts, vllm_rollouts
from training.rollouts.group_rollouts import RolloutSource
from training.trl import grpo_config, model_loading
from training.trl.checkpoints import LOWER_RATE_ADVICE, CheckpointingTrainer, TrainingDiverged
from training.trl.training_arguments import build_common_arguments

_ADVANTAGES: dict[
    AdvantageEstimator, Callable[[policy_gradient.Rewards], policy_gradient.Advantages]
] = {
    AdvantageEstimator.GRPO: partial(
        policy_gradient.normalise_by_group, epsilon=policy_gradient.TRL_EPSILON
    ),
    AdvantageEstimator.LEAVE_ONE_OUT: policy_gradient.subtract_leave_one_out,
    AdvantageEstimator.WITHOUT_DEVIATION: policy_gradient.subtract_mean,
}


class GroupGRPOTrainer(CheckpointingTrainer, GRPOTrainer):
    """TRL's GRPO trainer with the replies and rewards of a RolloutSource, and the advantages of our plan."""

    left_out: dict[str, int]
    """Unused groups by reason."""
    filled: int = 0
    """Groups repeated to fill the last round."""

    def __init__(self, plan: TrainPlan, source: RolloutSource, **kwargs: Any) -> None:
        super().__init__(reward_funcs=[source.reward], rollout_func=source.rollout, **kwargs)
        self._advantage = _ADVANTAGES[plan.policy.advantage]
        self._plan = plan
        # A server holds one whole adapter, and FSDP would give each process a shard only.
        self._server = (
            vllm_rollouts.connect_server(
                plan, Path(str(self.args.output_dir)), sharded=bool(self.is_fsdp_enabled)
            )
            if plan.rollout.engine == RolloutEngine.SERVER
            else None
        )
        # The callback unloads the last adapters from the server when training ends.
        if self._server:
            self.add_callback(self._server)
        # TRL does not return the rewards. `_calculate_rewards` keeps them for our advantages.
        self._rewards: torch.Tensor | None = None
        self.left_out = dict(source.left_out)

    def sample(
        self, prompts: list[list[int]], copies: int | None = None
    ) -> tuple[list[list[int]], Any]:
        """Return one reply to each prompt as token ids, and the log-probabilities of these tokens.

        `prompts` are token ids, each prompt in `copies` adjacent places; None means the plan's number of replies. The
        log-probabilities are None if the trainer's own model sampled the replies.
        """
        count = copies or self._plan.rollout.replies
        if self._server:
            return self._server.request_replies(prompts, self, count)
        try:
            sampled: tuple[list[list[int]], Any] = self._generate_single_turn(  # type: ignore[no-untyped-call]
                prompts, None, {}, count
            )
        except RuntimeError as error:
            # torch.multinomial reports NaN weights as an invalid "probability tensor".
            if "probability tensor" not in str(error):
                raise
            raise TrainingDiverged(
                f"after step {self.state.global_step} the model returns invalid probabilities, {LOWER_RATE_ADVICE}"
            ) from error
        return sampled

    def _calculate_rewards(self, *args: Any, **named: Any) -> torch.Tensor:
        # Shape (replies of all processes, 1): TRL gathers rewards, because groups may span processes.
        self._rewards = super()._calculate_rewards(*args, **named)
        return self._rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Replace TRL's advantages by ours, which also handle unknown rewards."""
        # TRL computes advantages as well, without a definition for unknown rewards. They are discarded.
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._rewards is None:
            raise RuntimeError("TRL scored replies without asking for their rewards")
        # The rewards are those of all processes in rank order. This process trains on its own slice.
        mine = slice(
            self.accelerator.process_index * len(inputs),
            (self.accelerator.process_index + 1) * len(inputs),
        )
        every = compute_group_advantages(
            self._rewards[:, 0].tolist(), self._plan.rollout.replies, self._advantage
        )
        output["advantages"] = torch.tensor(every[mine], device=output["advantages"].device)
        if self._plan.policy.importance != ImportanceCorrection.OFF:
            # (replies,) -> (replies, 1) * (replies, tokens): TRL's loss accepts an advantage for each token.
            output["advantages"] = output["advantages"].unsqueeze(1) * self._compute_weights(output)
        return output

    def _compute_weights(self, output: dict[str, Any]) -> torch.Tensor:
        """Return importance weights of shape (replies, tokens). Scaling the advantages scales the loss."""
        trainer_logprobs = output.get("old_per_token_logps")
        # TRL computes these only if it needs them for its own ratio. (replies, completion tokens), in nats.
        if trainer_logprobs is None:
            completion_tokens = output["completion_ids"].size(1)
            # The model reads prompt and completion, (replies, prompt + completion tokens), and scores the last part.
            ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
            seen = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
            # These weights are constants: a gradient through them would change the estimator.
            with torch.no_grad():
                trainer_logprobs, _, _ = self._get_per_token_logps_and_entropies(
                    self.model,
                    ids,
                    seen,
                    completion_tokens,
                    batch_size=self.args.per_device_train_batch_size,
                )
        loss = self._plan.policy
        # tool_mask is 0 for tool outputs, which no engine sampled.
        mask = output["completion_mask"] * output.get("tool_mask", 1)
        weights = compute_weights(
            trainer_logprobs,
            output["sampling_per_token_logps"],
            mask,
            loss.importance,
            loss.importance_ceiling or math.inf,
        )
        # The mean shows drift between the two engines: 1 means none.
        self._metrics["train"]["importance"].append(weights[mask.bool()].mean().item())
        return weights


def compute_group_advantages(
    rewards: Sequence[float],
    replies: int,
    advantage: Callable[[policy_gradient.Rewards], policy_gradient.Advantages],
) -> list[float]:
    """Compute one advantage for each reward, in consecutive groups of `replies` rewards.

    `advantage` computes the advantages of one group. A NaN reward is unknown, and its advantage is 0.
    """
    # TRL stores unknown rewards as NaN.
    scored = [None if math.isnan(value) else value for value in rewards]
    parts = (scored[start : start + replies] for start in range(0, len(scored), replies))
    # An advantage of None becomes 0, so that the reply has no gradient.
    return [value or 0.0 for part in parts for value in advantage(part)]


def build_trainer(
    plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path
) -> GroupGRPOTrainer:
    """Build the GRPO trainer that teaches a model to judge groups, with checkpoints in `folder`.

    Raises BadPlan if no group is left to learn from, or if TRL cannot follow the plan.
    """
    settings = _build_settings(plan, folder)
    tokenizer = model_loading.load_tokenizer(plan)
    if plan.rollout.task != RolloutTask.JUDGE:
        raise BadPlan(
            f"rollout.task = {plan.rollout.task.value!r}: this trainer takes groups; use the one of its task"
        )
    kept, left_out = group_rollouts.filter_askable(plan, groups, tokenizer)
    rounds = _schedule_rounds(plan, kept, left_out)
    source = group_rollouts.build_group_rollouts(plan, rounds.groups, tokenizer)
    source.left_out = left_out
    return _build_on_rounds(plan, source, tokenizer, settings, rounds)


def build_imitation_trainer(
    plan: TrainPlan, fixes: Sequence[MergedFix], folder: Path
) -> GroupGRPOTrainer:
    """Build the GRPO trainer that teaches a model to repair like merged fixes (SWE-RL), with checkpoints in `folder`.

    Raises BadPlan if no fix is left to learn from, or if TRL cannot follow the plan.
    """
    settings = _build_settings(plan, folder)
    tokenizer = model_loading.load_tokenizer(plan)
    rows, left_out = imitation_rollouts.build_rows(plan, fixes, tokenizer)
    rounds = _schedule_rounds(plan, [fix.group for fix in fixes if fix.issue in rows], left_out)
    ordered = [rows[group.issue] for group in rounds.groups]
    source = imitation_rollouts.build_imitation_rollouts(plan, ordered, tokenizer)
    source.left_out = left_out
    return _build_on_rounds(plan, source, tokenizer, settings, rounds)


def _build_on_rounds(
    plan: TrainPlan,
    source: RolloutSource,
    tokenizer: Any,
    settings: dict[str, Any],
    rounds: schedule.RoundSchedule,
) -> GroupGRPOTrainer:
    # The schedule already contains all epochs, so TRL must not repeat it.
    settings["max_steps"] = rounds.steps
    trainer = build_trainer_on_source(plan, source, tokenizer, settings)
    trainer.filled = rounds.filled
    return trainer


def _build_settings(plan: TrainPlan, folder: Path) -> dict[str, Any]:
    grpo_settings = grpo_config.build_grpo_settings(plan, PartialState().num_processes)
    return (
        build_common_arguments(plan, folder, sequences_per_example=plan.rollout.replies)
        | grpo_settings
    )


def build_trainer_on_source(
    plan: TrainPlan, source: RolloutSource, tokenizer: Any, settings: dict[str, Any]
) -> GroupGRPOTrainer:
    """Build a GRPO trainer on any source of prompts, replies and rewards. `settings` are those of TRL's `GRPOConfig`.

    Raises BadPlan if the plan's model cannot be loaded, or if the plan needs vLLM and it is not installed.
    """
    # Checked here, because TRL fails late and without naming the setting.
    if plan.rollout.engine == RolloutEngine.COLOCATED and find_spec("vllm") is None:
        raise BadPlan(
            "rollout.engine = 'colocated': vLLM is not installed here; install one that TRL knows (pip install "
            "'vllm>=0.22,<=0.31'), or name a server: rollout.engine = 'server' and --engine-url"
        )
    return GroupGRPOTrainer(
        plan,
        source,
        **model_loading.load_trainable_model(plan),
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list(source.rows),
        processing_class=tokenizer,
    )


def _schedule_rounds(
    plan: TrainPlan, groups: Sequence[TrainingGroup], left_out: Counter[str]
) -> schedule.RoundSchedule:
    try:
        return schedule.schedule_rounds(groups, plan)
    except ValueError as error:
        why = f"; left out: {dict(left_out)}" if left_out else ""
        raise BadPlan(f"{error}{why}") from error


_SEQUENCES = (ImportanceCorrection.SEQUENCE_TRUNCATE, ImportanceCorrection.SEQUENCE_MASK)
_MASKED = (ImportanceCorrection.TOKEN_MASK, ImportanceCorrection.SEQUENCE_MASK)


def compute_weights(
    trainer_logprobs: torch.Tensor,
    sampler_logprobs: torch.Tensor,
    mask: torch.Tensor,
    mode: ImportanceCorrection,
    ceiling: float,
) -> torch.Tensor:
    """Compute importance weights of shape (replies, tokens) from two natural log-probabilities of that shape.

    They multiply the loss. A weight is the ratio of trainer to sampler, of a token or of its whole reply, as `mode`
    says. Tokens with `mask` 0 do not count in a reply's ratio. A weight above `ceiling` is cut to it, or set to 0 in
    the `*-mask` modes.
    """
    # Log-ratio of each token, (replies, tokens). Masked tokens become 0, that is a ratio of 1. So does a
    # log-probability that vLLM could not report: TRL passes it as NaN, which would spread over the reply.
    apart = ((trainer_logprobs - sampler_logprobs) * mask).nan_to_num(nan=0.0)
    if mode in _SEQUENCES:
        # The ratio of a sequence is the product of its tokens' ratios: sum the logs, then spread them again.
        apart = apart.sum(dim=-1, keepdim=True).expand_as(apart)
    ratio = apart.exp()
    if mode in _MASKED:
        # Masking drops the token instead of trusting a ratio that one engine's rounding may have caused.
        return ratio.masked_fill(ratio > ceiling, 0.0)
    return ratio.clamp(max=ceiling)
