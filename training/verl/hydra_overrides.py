"""A plan as verl 0.9 is told it: Hydra overrides of its `ppo_trainer` configuration (pure).

Whatever verl can't do as the plan says is an error.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from training.datasets.schedule import steps_of_round
from training.plans.plan import Advantage, Importance, Loss, Policy, TrainPlan
from training.verl.unsupported_settings import DTYPES, check

Setting = str | int | float | bool | None | tuple[str, ...]
Settings = dict[str, Setting]

_ESTIMATORS: Final = {
    Advantage.GRPO: "grpo",
    Advantage.LEAVE_ONE_OUT: "rloo",
    Advantage.WITHOUT_DEVIATION: "grpo",
}
_LOSSES: Final = {
    Loss.TOKEN_MEAN: "token-mean",
    Loss.SEQUENCE_MEAN: "seq-mean-token-mean",
    Loss.CONSTANT_LENGTH: "seq-mean-token-sum-norm",
}
_ALL_RATIOS = 1e-30
"""A lower bound that keeps every ratio; verl wants one above 0."""
_MORE = 64
"""Tokens that a prompt may have more with its patches in another order than that in which it was measured."""


def overrides(plan: TrainPlan, folder: PurePath, rounds: int) -> Settings:
    """Keys of verl's configuration with their values; `folder` holds the data and gets the checkpoints.

    `rounds` is how often replies are drawn. Raises BadPlan with everything that verl can't honour.
    """
    check(plan)
    return (
        _data(plan, folder)
        | _model(plan)
        | _algorithm(plan.policy)
        | _loss(plan)
        | _optimiser(plan)
        | _rollout(plan)
        | _trainer(plan, folder, rounds)
    )


def written(settings: Mapping[str, Setting]) -> str:
    """One override a line, quoted as Hydra's grammar wants it."""
    return "".join(f"{key}={_value(value)}\n" for key, value in settings.items())


def _data(plan: TrainPlan, folder: PurePath) -> Settings:
    """The rows come in their order, and none is too long: that was seen to when they were written."""
    return {
        "data.train_files": str(folder / "train.parquet"),
        "data.val_files": str(folder / "validation.parquet"),
        "data.train_batch_size": plan.rollout.prompts,
        "data.max_prompt_length": plan.prompt.max_tokens + _MORE,
        "data.max_response_length": plan.rollout.max_tokens,
        "data.filter_overlong_prompts": False,
        "data.truncation": "error",
        "data.shuffle": False,
        "data.seed": plan.seed,
        "reward.custom_reward_function.path": str(folder / "reward.py"),
        "reward.custom_reward_function.name": "compute_score",
        "reward.reward_manager.name": "naive",
    }


def _model(plan: TrainPlan) -> Settings:
    model = "actor_rollout_ref.model."
    found: Settings = {
        model + "path": plan.model.base,
        model + "enable_gradient_checkpointing": plan.model.gradient_checkpointing,
        "actor_rollout_ref.actor.fsdp_config.model_dtype": DTYPES[plan.model.dtype],
    }
    if plan.adapter is None:
        return found
    return found | {
        model + "lora_rank": plan.adapter.rank,
        model + "lora_alpha": plan.adapter.alpha,
        model + "target_modules": plan.adapter.targets,
        # vLLM reads the base from disk, since only the adapter is sent to it
        "actor_rollout_ref.rollout.load_format": "safetensors",
    }


def _algorithm(policy: Policy) -> Settings:
    correction = "algorithm.rollout_correction."
    return {
        "algorithm.adv_estimator": _ESTIMATORS[policy.advantage],
        "algorithm.norm_adv_by_std_in_grpo": policy.advantage is Advantage.GRPO,
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": policy.drop_uniform_groups,
        "algorithm.filter_groups.metric": "reward",
        correction + "rollout_is": _level(policy.importance),
        correction + "rollout_is_threshold": _threshold(policy),
        correction + "rollout_rs": None,
        correction + "bypass_mode": False,
    }


def _level(importance: Importance) -> str | None:
    return None if importance is Importance.OFF else importance.value.partition("-")[0]


def _threshold(policy: Policy) -> float | str:
    """One number cuts the ratio off; two, as `LOWER_UPPER`, set one to 0 that is not between them."""
    ceiling = policy.importance_ceiling or 2.0
    masks = policy.importance in {Importance.TOKEN_MASK, Importance.SEQUENCE_MASK}
    return f"{_ALL_RATIOS}_{ceiling}" if masks else ceiling


def _loss(plan: TrainPlan) -> Settings:
    policy, actor = plan.policy, "actor_rollout_ref.actor."
    is_constant = policy.loss is Loss.CONSTANT_LENGTH
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


def _optimiser(plan: TrainPlan) -> Settings:
    optimiser, actor = plan.optimiser, "actor_rollout_ref.actor."
    return {
        actor + "ppo_mini_batch_size": optimiser.batch,
        actor + "ppo_micro_batch_size_per_gpu": optimiser.micro_batch,
        actor + "ppo_epochs": plan.rollout.passes,
        actor + "grad_clip": optimiser.max_gradient_norm,
        actor + "optim.clip_grad": optimiser.max_gradient_norm,
        actor + "optim.lr": optimiser.learning_rate,
        actor + "optim.lr_scheduler_type": optimiser.schedule,
        actor + "optim.lr_warmup_steps": optimiser.warmup_steps // steps_of_round(plan),
        actor + "optim.weight_decay": optimiser.weight_decay,
        actor + "ulysses_sequence_parallel_size": plan.scale.sequence_parallel,
        actor + "fsdp_config.seed": plan.seed,
        actor + "data_loader_seed": plan.seed,
        actor + "checkpoint.save_contents": ("model", "optimizer", "extra", "hf_model"),
    }


def _rollout(plan: TrainPlan) -> Settings:
    rollout, at = plan.rollout, "actor_rollout_ref.rollout."
    return {
        at + "name": "vllm",
        at + "n": rollout.replies,
        at + "temperature": rollout.temperature,
        at + "top_p": rollout.top_p,
        at + "seed": plan.seed,
        at + "tensor_model_parallel_size": plan.scale.rollout_tensor_parallel,
        at + "gpu_memory_utilization": rollout.gpu_memory,
        at + "log_prob_micro_batch_size_per_gpu": plan.optimiser.micro_batch,
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": plan.optimiser.micro_batch,
    }


def _trainer(plan: TrainPlan, folder: PurePath, rounds: int) -> Settings:
    every = plan.checkpoints.every_steps // steps_of_round(plan)
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


def _value(value: Setting) -> str:
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return f"[{','.join(map(_value, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "\\'") + "'"
    return str(value)
