"""docs/training.md tells what each setting of a GRPO plan is called by TRL and by verl: as they are rendered."""

import re
from dataclasses import fields
from pathlib import PurePosixPath

from tests.services import ROOT
from training.plans import plan_file
from training.plans.plan import PolicySettings, RolloutSettings
from training.trl import grpo_config
from training.verl import hydra_overrides

PAPER = plan_file.load_plan("r4p-paper")
HEAD = "| plan | TRL 1.16 | verl 0.9 |"
OF_AN_ENGINE = {"engine", "url", "api_key_file", "task", "max_turns", "turn_tokens"}
"""Keys of `[rollout]` that say who samples, not how."""
BY_ALL_TRAINERS = {"per_device_train_batch_size", "max_steps"}


def rows():
    told = (ROOT / "docs" / "training.md").read_text().split(HEAD)[1].split("\n\n")[0]
    return [row.strip("|").split(" | ") for row in told.splitlines()[2:]]


def words(cell):
    return re.findall(r"`([^`]+)`", cell)


def keys(cell):
    """`policy.kl`, and of `policy.clip_low`, `clip_high` the section for both."""
    section = words(cell)[0].partition(".")[0]
    return {one if "." in one else f"{section}.{one}" for one in words(cell)}


def test_every_setting_of_the_policy_and_of_the_replies_is_in_the_table():
    told = set().union(*(keys(row[0]) for row in rows()))
    wanted = {f"policy.{one.name}" for one in fields(PolicySettings)}
    wanted |= {
        f"rollout.{one.name}" for one in fields(RolloutSettings) if one.name not in OF_AN_ENGINE
    }
    assert wanted <= told
    for key in told - {"adapter.rank", "adapter.alpha", "adapter.targets"}:
        section, name = key.split(".")
        assert hasattr(getattr(PAPER, section), name), key


def test_what_verl_calls_them_is_what_it_is_told():
    told = hydra_overrides.build_overrides(
        plan_file.load_plan("r4p-paper"), PurePosixPath("/run"), rounds=1
    )
    known = {one.removeprefix("actor_rollout_ref.") for one in told} | {"model.lora_rank"}
    names = [one for row in rows() for one in words(row[2]) if re.fullmatch(r"\w+(\.\w+)+", one)]
    assert len(names) > 15
    assert set(names) <= known


def test_what_trl_calls_them_is_what_it_is_told():
    told = grpo_config.build_grpo_settings(plan_file.load_plan("r4p-qwen2.5-coder-0.5b"), 1).keys()
    names = {one for row in rows() for one in words(row[1]) if "_" in one} - {"_clip_max"}
    of_peft = {"lora_alpha", "target_modules"}
    assert names - of_peft - BY_ALL_TRAINERS <= told | {"dr_grpo", "generation_batch_size"}
