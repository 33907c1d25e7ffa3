"""Training as a user starts it: plans, datasets and the command, for tests that train a tiny model."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tests.builders import tiny_model
from tests.services import ROOT
from training.datasets import dataset
from training.datasets.manifest import Manifest
from training.plans import plan_file

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"}
SMOKE = plan_file.load_plan("cpu-smoke")


def written_dataset(directory: Path, groups=None) -> Path:
    """A dataset of toy groups, or of these."""
    train = tiny_model.groups(64) if groups is None else groups
    dataset.write_dataset(
        directory, {"train": train}, Manifest(seed=0, as_of="2026-01-01T00:00:00Z", rules={})
    )
    return directory


def written_plan(path: Path, base: Path, *, optimiser=None, rollout=None, every_steps=2) -> Path:
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


def started(*words: object) -> subprocess.CompletedProcess[str]:
    """A Python module run to its end, from the root of the checkout."""
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
