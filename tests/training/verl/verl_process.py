"""What verl's own classes make of an export and of random numbers; runs in verl's environment.

    python verl_side.py EXPORT TOKENIZER < cases.json

Answers with one JSON object on standard output.
"""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import torch
import verl
from hydra import compose, initialize_config_dir
from transformers import AutoTokenizer
from verl import DataProto
from verl.trainer.ppo import core_algos, rollout_corr_helper
from verl.trainer.ppo.reward import get_custom_reward_fn, resolve_reward_manager_cls
from verl.utils import omega_conf_to_dataclass
from verl.utils.config import validate_config
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

CONFIG = str(Path(verl.__path__[0]) / "trainer" / "config")


def load_config(folder, *more):
    """The configuration as `main_ppo` gets it."""
    lines = (folder / "overrides.txt").read_text().splitlines()
    with initialize_config_dir(config_dir=CONFIG, version_base=None):
        return compose(config_name="ppo_trainer", overrides=[*lines, *more])


def settings(folder, config):
    """What verl's dataclasses hold, once its own checks passed."""
    # with an adapter it asks vLLM, which is not here, for the ranks that it takes
    plain = load_config(folder, "actor_rollout_ref.model.lora_rank=0")
    validate_config(plain, use_reference_policy=False, use_critic=False)
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    model = config.actor_rollout_ref.model
    algorithm = omega_conf_to_dataclass(config.algorithm)
    return {
        "prompts": config.data.train_batch_size,
        "replies": rollout.n,
        "batch": actor.ppo_mini_batch_size,
        "clip": [actor.clip_ratio_low, actor.clip_ratio_high, actor.clip_ratio_c],
        "loss": actor.loss_agg_mode,
        "kl": actor.use_kl_loss,
        "estimator": algorithm.adv_estimator,
        "correction": config.algorithm.rollout_correction.rollout_is,
        "learning_rate": actor.optim.lr,
        "warmup_rounds": actor.optim.lr_warmup_steps,
        "seed": config.data.seed,
        "targets": list(model.target_modules),
        "reward": config.reward.custom_reward_function.path,
    }


def rows(config, tokenizer):
    """What verl's data set hands to its rollouts."""
    data = RLHFDataset([config.data.train_files], tokenizer, config.data)
    batch = collate_fn([data[0], data[1]])
    shown = tokenizer.apply_chat_template(
        list(batch["raw_prompt"][0]), add_generation_prompt=True, tokenize=False
    )
    return data, {
        "count": len(data),
        "keys": [data[at]["extra_info"]["key"] for at in range(len(data))],
        "prompt": shown,
        "sources": [str(one) for one in batch["data_source"]],
    }


def scores(config, tokenizer, row, replies):
    """Rewards of replies to one row, by each reward manager."""
    found = {}
    for name in ("naive", "dapo"):
        config.reward.reward_manager.name = name
        manager = resolve_reward_manager_cls(config)(
            config, tokenizer, get_custom_reward_fn(config)
        )
        found[name] = [
            manager.loop.run_until_complete(manager.run_single(_item(tokenizer, row, reply)))[
                "reward_score"
            ]
            for reply in replies
        ]
    return found


def _item(tokenizer, row, reply):
    ids = torch.tensor([tokenizer(reply, add_special_tokens=False)["input_ids"]])
    return DataProto.from_dict(
        tensors={"responses": ids, "attention_mask": torch.ones_like(ids)},
        non_tensors={
            name: np.array([row[name]], dtype=object)
            for name in ("data_source", "reward_model", "extra_info")
        },
    )


def advantages(groups):
    """By each estimator that we export to, all groups in one batch."""
    rewards = torch.tensor([one for group in groups for one in group], dtype=torch.float64)
    index = np.array([at for at, group in enumerate(groups) for _ in group])
    mask = torch.ones(len(rewards), 1, dtype=torch.float64)

    def by(name, **more):
        estimate = core_algos.get_adv_estimator_fn(name)
        found, _ = estimate(
            token_level_rewards=rewards[:, None].clone(),
            response_mask=mask,
            index=index,
            **more,
        )
        return found[:, 0].tolist()

    return {
        "grpo": by("grpo", norm_adv_by_std_in_grpo=True),
        "without-deviation": by("grpo", norm_adv_by_std_in_grpo=False),
        "leave-one-out": by("rloo"),
    }


def losses(folder, case):
    """One policy loss for each way to average, as verl's actors are given the batch."""
    found = {}
    kept = torch.tensor(case["kept"])
    for name in ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"):
        is_norm = name == "seq-mean-token-sum-norm"
        config = load_config(
            folder,
            f"actor_rollout_ref.actor.loss_agg_mode={name}",
            f"actor_rollout_ref.actor.loss_scale_factor={case['longest'] if is_norm else 'null'}",
        )
        actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
        actor.global_batch_info.update(
            dp_size=1,
            batch_num_tokens=int(kept.sum()),
            global_batch_size=len(kept),
            loss_scale_factor=actor.loss_scale_factor,
        )
        new = torch.tensor(case["log_ratios"], dtype=torch.float64)
        advantage = torch.tensor(case["advantages"], dtype=torch.float64)
        loss, _ = core_algos.get_policy_loss_fn("vanilla")(
            old_log_prob=torch.zeros_like(new),
            log_prob=new,
            advantages=advantage[:, None].expand_as(new),
            response_mask=kept,
            loss_agg_mode=name,
            config=actor,
        )
        found[name] = loss.item()
    return found


def weights(case):
    """Importance weights by each mode that we export to."""
    ratio = torch.tensor(case["log_ratios"], dtype=torch.float64)
    kept = torch.tensor(case["kept"])
    found = {}
    for level in ("token", "sequence"):
        for name, threshold in (("truncate", 2.0), ("mask", "1e-30_2.0")):
            made, _ = rollout_corr_helper.compute_rollout_correction_weights(
                log_ratio=ratio,
                response_mask=kept,
                rollout_is=level,
                rollout_is_threshold=threshold,
            )
            found[f"{level}-{name}"] = made.tolist()
    return found


def main():
    folder, tokenizer = Path(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[2])
    cases = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        asyncio.set_event_loop(asyncio.new_event_loop())
        config = load_config(folder)
        held = settings(folder, config)
        data, seen = rows(config, tokenizer)
        answer = {
            "settings": held,
            "rows": seen,
            "scores": scores(config, tokenizer, data[0], cases["replies"]),
            "advantages": advantages(cases["groups"]),
            "losses": losses(folder, cases["losses"]),
            "weights": weights(cases["losses"]),
        }
    sys.stdout.write(json.dumps(answer))


main()
