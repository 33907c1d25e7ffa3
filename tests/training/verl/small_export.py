"""A small plan and a small dataset for verl."""

from dataclasses import replace

from tests.builders.models import tiny_model
from training.datasets import dataset
from training.datasets.manifest import Manifest
from training.plans import plan_file
from training.plans.plan import CheckpointSettings, LoraSettings, OptimiserSettings

_PAPER = plan_file.load_plan("r4p-paper")
PLAN = replace(
    _PAPER,
    name="small",
    adapter=LoraSettings(rank=8, alpha=16),
    rollout=replace(_PAPER.rollout, prompts=4, replies=4, max_tokens=64),
    optimiser=OptimiserSettings(batch=2, epochs=2, micro_batch=2, warmup_steps=2),
    checkpoints=CheckpointSettings(every_steps=4),
    scale=replace(_PAPER.scale, nodes=2, processes=2, rollout_tensor_parallel=1),
)
_GROUPS = tiny_model.build_groups(15)
DATASET = {
    "train": [
        *_GROUPS[:10],
        *(replace(one, targets=(None,) * 4) for one in _GROUPS[10:12]),
    ],
    "validation": _GROUPS[12:],
}


def dataset_at(directory, **splits):
    """The dataset, written there."""
    manifest = Manifest(seed=0, as_of="2026-01-01T00:00:00+00:00", rules={})
    dataset.write_dataset(directory, {**DATASET, **splits}, manifest)
    return directory
