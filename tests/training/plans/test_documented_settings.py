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
OF_AN_ENGINE = {"engine", "url", "api_key_file", "task", "max_turns", "turn_tokens", "imitation"}
"""Keys of `[rollout]` that say who samples what, not how."""
BY_ALL_TRAINERS = {"per_device_train_batch_size", "max_steps"}


def read_rows():
    rendered = (ROOT / "docs" / "training.md").read_text().split(HEAD)[1].split("\n\n")[0]
    return [row.strip("|").split(" | ") for row in rendered.splitlines()[2:]]


def list_names(cell):
    return re.findall(r"`([^`]+)`", cell)


def list_keys(cell):
    """`policy.kl`, and of `policy.clip_low`, `clip_high` the section for both."""
    section = list_names(cell)[0].partition(".")[0]
    return {one if "." in one else f"{section}.{one}" for one in list_names(cell)}


def test_page_documents_every_policy_and_rollout_setting():
    rendered = set().union(*(list_keys(row[0]) for row in read_rows()))
    wanted = {f"policy.{one.name}" for one in fields(PolicySettings)}
    wanted |= {
        f"rollout.{one.name}" for one in fields(RolloutSettings) if one.name not in OF_AN_ENGINE
    }
    assert wanted <= rendered
    for key in rendered - {"adapter.rank", "adapter.alpha", "adapter.targets"}:
        section, name = key.split(".")
        assert hasattr(getattr(PAPER, section), name), key


def test_documented_verl_names_are_rendered():
    rendered = hydra_overrides.build_overrides(
        plan_file.load_plan("r4p-paper"), PurePosixPath("/run"), rounds=1
    )
    names_of_verl = {one.removeprefix("actor_rollout_ref.") for one in rendered} | {
        "model.lora_rank"
    }
    names = [
        one
        for row in read_rows()
        for one in list_names(row[2])
        if re.fullmatch(r"\w+(\.\w+)+", one)
    ]
    assert len(names) > 15
    assert set(names) <= names_of_verl


def test_documented_trl_names_are_rendered():
    rendered = grpo_config.build_grpo_settings(
        plan_file.load_plan("r4p-qwen2.5-coder-0.5b"), 1
    ).keys()
    names = {
        one
        for row in read_rows()
        for one in list_names(row[1])
        if re.fullmatch(r"[a-z_]*_[a-z_]*", one)
    }
    of_peft = {"lora_alpha", "target_modules"}
    assert names - of_peft - BY_ALL_TRAINERS <= rendered | {"dr_grpo", "generation_batch_size"}
