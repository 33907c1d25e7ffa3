"""Render a plan as Hydra overrides of verl 0.9's `ppo_trainer` configuration (pure).

A setting that verl cannot follow is an error.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from training.datasets.schedule import count_steps_per_round
from training.plans.plan import (
    AdvantageEstimator,
    ImportanceCorrection,
    LossAggregation,
    PolicySettings,
    TrainPlan,
)
from training.verl.unsupported_settings import DTYPES, check_supported

Setting = str | int | float | bool | None | tuple[str, ...]
Settings = dict[str, Setting]

_ESTIMATORS: Final = {
    AdvantageEstimator.GRPO: "grpo",
    AdvantageEstimator.LEAVE_ONE_OUT: "rloo",
    AdvantageEstimator.WITHOUT_DEVIATION: "grpo",
}
_LOSSES: Final = {
    LossAggregation.TOKEN_MEAN: "token-mean",
    LossAggregation.SEQUENCE_MEAN: "seq-mean-token-mean",
    LossAggregation.CONSTANT_LENGTH: "seq-mean-token-sum-norm",
}
_ALL_RATIOS = 1e-30
"""A lower bound that keeps every ratio. verl requires a positive one."""
_SPARE_TOKENS = 64
"""Extra prompt tokens for seat orders other than the measured one."""


def build_overrides(plan: TrainPlan, folder: PurePath, rounds: int) -> Settings:
    """Return a plan as keys and values of verl's configuration. Raises BadPlan with all that verl cannot follow.

    `folder` holds the data and receives the checkpoints. `rounds` is the number of sampling rounds.
    """
    check_supported(plan)
    return (
        _build_data(plan, folder)
        | _build_model(plan)
        | _build_algorithm(plan.policy)
        | _build_loss(plan)
        | _build_optimiser(plan)
        | _build_rollout(plan)
        | _build_trainer(plan, folder, rounds)
    )


def format_overrides(settings: Mapping[str, Setting]) -> str:
    """Return Hydra overrides for verl as text, one `key=value` a line, quoted for Hydra's grammar."""
    return "".join(f"{key}={_quote(value)}\n" for key, value in settings.items())


def _build_data(plan: TrainPlan, folder: PurePath) -> Settings:
    """Return the data settings. The rows are ordered and short enough already."""
    return {
        "data.train_files": str(folder / "train.parquet"),
        "data.val_files": str(folder / "validation.parquet"),
        "data.train_batch_size": plan.rollout.prompts,
        "data.max_prompt_length": plan.prompt.max_tokens + _SPARE_TOKENS,
        "data.max_response_length": plan.rollout.max_tokens,
        "data.filter_overlong_prompts": False,
        "data.truncation": "error",
        "data.shuffle": False,
        "data.seed": plan.seed,
        "reward.custom_reward_function.path": str(folder / "reward.py"),
        "reward.custom_reward_function.name": "compute_score",
        "reward.reward_manager.name": "naive",
    }


def _build_model(plan: TrainPlan) -> Settings:
    model = "actor_rollout_ref.model."
    settings: Settings = {
        model + "path": plan.model.base,
        model + "enable_gradient_checkpointing": plan.model.gradient_checkpointing,
        "actor_rollout_ref.actor.fsdp_config.model_dtype": DTYPES[plan.model.dtype],
    }
    if plan.adapter is None:
        return settings
    return settings | {
        model + "lora_rank": plan.adapter.rank,
        model + "lora_alpha": plan.adapter.alpha,
        model + "target_modules": plan.adapter.targets,
        # vLLM reads the base from disk, since only the adapter is sent to it
        "actor_rollout_ref.rollout.load_format": "safetensors",
    }


def _build_algorithm(policy: PolicySettings) -> Settings:
    correction = "algorithm.rollout_correction."
    return {
        "algorithm.adv_estimator": _ESTIMATORS[policy.advantage],
        "algorithm.norm_adv_by_std_in_grpo": policy.advantage is AdvantageEstimator.GRPO,
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": policy.drop_uniform_groups,
        "algorithm.filter_groups.metric": "reward",
        correction + "rollout_is": _get_level(policy.importance),
        correction + "rollout_is_threshold": _get_threshold(policy),
        correction + "rollout_rs": None,
        correction + "bypass_mode": False,
    }


def _get_level(importance: ImportanceCorrection) -> str | None:
    return None if importance is ImportanceCorrection.OFF else importance.value.partition("-")[0]


def _get_threshold(policy: PolicySettings) -> float | str:
    """Return verl's ratio threshold: one number truncates, `LOWER_UPPER` masks ratios outside it."""
    ceiling = policy.importance_ceiling or 2.0
    masks = policy.importance in {
        ImportanceCorrection.TOKEN_MASK,
        ImportanceCorrection.SEQUENCE_MASK,
    }
    return f"{_ALL_RATIOS}_{ceiling}" if masks else ceiling


def _build_loss(plan: TrainPlan) -> Settings:
    policy, actor = plan.policy, "actor_rollout_ref.actor."
    is_constant = policy.loss is LossAggregation.CONSTANT_LENGTH
    return {
        actor + "policy_loss.loss_mode": "vanilla",
        actor + "clip_ratio": policy.clip_low,
        actor + "clip_ratio_low": policy.clip_low,
        actor + "clip_ratio_high": policy.clip_high,
        actor + "clip_ratio_c": policy.ratio_ceiling,
        actor + "loss_agg_mode": _LOSSES[policy.loss],
        actor + "loss_scale_factor": plan.rollout.max_tokens if is_constant else None,
        actor + "entropy_coeff": policy.entropy_bonus,
        actor + "use_kl_loss": policy.kl > 0,
        actor + "kl_loss_coef": policy.kl,
        actor + "kl_loss_type": "low_var_kl",
    }


def _build_optimiser(plan: TrainPlan) -> Settings:
    optimiser, actor = plan.optimiser, "actor_rollout_ref.actor."
    return {
        actor + "ppo_mini_batch_size": optimiser.batch,
        actor + "ppo_micro_batch_size_per_gpu": optimiser.micro_batch,
        actor + "ppo_epochs": plan.rollout.passes,
        actor + "grad_clip": optimiser.max_gradient_norm,
        actor + "optim.clip_grad": optimiser.max_gradient_norm,
        actor + "optim.lr": optimiser.learning_rate,
        actor + "optim.lr_scheduler_type": optimiser.schedule,
        actor + "optim.lr_warmup_steps": optimiser.warmup_steps // count_steps_per_round(plan),
        actor + "optim.weight_decay": optimiser.weight_decay,
        actor + "ulysses_sequence_parallel_size": plan.scale.sequence_parallel,
        actor + "fsdp_config.seed": plan.seed,
        actor + "data_loader_seed": plan.seed,
        actor + "checkpoint.save_contents": ("model", "optimizer", "extra", "hf_model"),
    }


def _build_rollout(plan: TrainPlan) -> Settings:
    rollout, prefix = plan.rollout, "actor_rollout_ref.rollout."
    return {
        prefix + "name": "vllm",
        prefix + "n": rollout.replies,
        prefix + "temperature": rollout.temperature,
        prefix + "top_p": rollout.top_p,
        prefix + "seed": plan.seed,
        prefix + "tensor_model_parallel_size": plan.scale.rollout_tensor_parallel,
        prefix + "gpu_memory_utilization": rollout.gpu_memory,
        prefix + "log_prob_micro_batch_size_per_gpu": plan.optimiser.micro_batch,
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": plan.optimiser.micro_batch,
    }


def _build_trainer(plan: TrainPlan, folder: PurePath, rounds: int) -> Settings:
    every = plan.checkpoints.every_steps // count_steps_per_round(plan)
    return {
        "trainer.project_name": "r4p",
        "trainer.experiment_name": plan.name,
        "trainer.logger": ("console",),
        "trainer.nnodes": plan.scale.nodes,
        "trainer.n_gpus_per_node": plan.scale.processes,
        "trainer.total_epochs": 1,  # all epochs are laid out in the rows, each in another order
        "trainer.total_training_steps": rounds,
        "trainer.save_freq": every,
        "trainer.test_freq": every,
        "trainer.max_actor_ckpt_to_keep": plan.checkpoints.keep,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(folder / "checkpoints"),
    }


def _quote(value: Setting) -> str:
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return f"[{','.join(map(_quote, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "\\'") + "'"
    return str(value)
