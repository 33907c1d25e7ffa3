"""Training as a user starts it: plans, datasets and the command, for tests that train a tiny model."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tests.builders.models import tiny_model
from tests.services import ROOT
from training.datasets import dataset
from training.datasets.manifest import Manifest
from training.plans import plan_file
from training.plans.plan import TrainPlan

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"}
SMOKE = plan_file.load_plan("cpu-smoke")


def write_dataset(directory: Path, groups=None) -> Path:
    """A dataset of toy groups, or of these."""
    train = tiny_model.build_groups(64) if groups is None else groups
    dataset.write_dataset(
        directory, {"train": train}, Manifest(seed=0, as_of="2026-01-01T00:00:00Z", rules={})
    )
    return directory


def write_plan(path: Path, base: Path, *, optimiser=None, rollout=None, every_steps=2) -> Path:
    """The smoke plan on a base, with these settings changed."""
    plan = replace(
        SMOKE,
        model=replace(SMOKE.model, base=str(base)),
        optimiser=replace(SMOKE.optimiser, **(optimiser or {})),
        rollout=replace(SMOKE.rollout, **(rollout or {})),
        checkpoints=replace(SMOKE.checkpoints, every_steps=every_steps),
    )
    path.write_text(plan_file.to_toml(plan))
    return path


def build_plan(trainer: str, base: Path, **tables: object) -> TrainPlan:
    """Build a plan for a tiny model on a CPU, with these tables."""
    model = {"base": str(base), "dtype": "float32", "gradient_checkpointing": False}
    written = {"name": trainer, "trainer": trainer, "model": model} | tables
    return plan_file.parse_plan(written, "the test's plan")


def write_small_plan(
    folder: Path, *, base: Path | None = None, steps=2, batch=4, micro_batch=8, replies=4, **more
) -> Path:
    """Write a plan of few steps on rounds of four groups."""
    optimiser = {"max_steps": steps, "batch": batch, "micro_batch": micro_batch}
    return write_plan(
        folder / "plan.toml",
        base or tiny_model.get_base(),
        optimiser=optimiser | more.pop("optimiser", {}),
        rollout={"prompts": 4, "replies": replies} | more.pop("rollout", {}),
        **more,
    )


def run_module(*words: object) -> subprocess.CompletedProcess[str]:
    """A Python module run to its end, from the root of the checkout."""
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
