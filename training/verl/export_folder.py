"""Export a folder that verl trains from: rows, reward function, overrides and start scripts."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import model
import training
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Message
from training.datasets import dataset, verifier_prompts
from training.datasets.groups import TrainingGroup
from training.datasets.schedule import permute_patches, schedule_rounds
from training.plans import plan_file
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import group_rollouts
from training.verl import hydra_overrides, reward_function

VERL = "0.9.1"
"""The verl version that the overrides are tested with."""

_TRAIN = """\
#!/usr/bin/env bash
# Trains on the Ray cluster that this runs on. More overrides may follow as arguments.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mapfile -t overrides < "$here/overrides.txt"
exec python3 -m verl.trainer.main_ppo "${overrides[@]}" "$@"
"""
_SUBMIT = """\
#!/usr/bin/env bash
# Hands the training to a Ray cluster of @NODES@ x @GPUS@ GPUs and follows it. This folder has to lie under the same
# path on every node. Start the cluster with verl @VERL@ installed on each:
#   first node:  ray start --head --dashboard-host=0.0.0.0 --num-gpus=@GPUS@
#   the others:  ray start --address=FIRST:6379 --num-gpus=@GPUS@
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${RAY_ADDRESS:?set it to the cluster, as in http://FIRST:8265}"
exec ray job submit --address "$RAY_ADDRESS" --runtime-env "$here/runtime_env.json" -- bash "$here/train.sh" "$@"
"""


@dataclass(frozen=True, slots=True)
class VerlExport:
    """Contents of a folder that verl trains from, as in its `export.json`."""

    plan: str
    dataset: str
    """Digest of the dataset's manifest."""
    verl: str
    rounds: int
    """Sampling rounds."""
    steps: int
    """Optimiser steps."""
    prompts: int
    """Training prompts of all rounds."""
    filled: int
    """Prompts at the end that are repeated to fill the last round."""
    validation: int
    """Validation prompts."""
    left_out: Mapping[str, int]
    """Unused groups by reason."""


def write_export(plan: TrainPlan, source: Path, out: Path, tokenizer: Any) -> VerlExport:
    """Write the new folder `out` that verl trains from, complete or not at all, and return its description.

    It holds the plan and the training and validation groups of the dataset in the folder `source`. Raises BadDataset,
    or BadPlan if `out` exists or verl cannot follow the plan.
    """
    out = out.resolve()
    if out.exists():
        raise BadPlan(f"{out} exists already; exports never change, so name a new folder")
    kept, left_out = group_rollouts.filter_askable(
        plan, dataset.read_split(source, "train"), tokenizer
    )
    if unknown := sum(not _has_label(group) for group in kept):
        left_out["no patch whose label is known"] = unknown
    schedule = schedule_rounds(kept, plan)
    validation = _read_validation(plan, source, tokenizer)
    exported = VerlExport(
        plan=plan.name,
        dataset=dataset.read_manifest(source).digest,
        verl=VERL,
        rounds=schedule.rounds,
        steps=schedule.steps,
        prompts=len(schedule.groups),
        filled=schedule.filled,
        validation=len(validation),
        left_out=dict(sorted(left_out.items())),
    )
    with dataset.create_atomically(out) as beside:
        _write_files(
            beside, plan, hydra_overrides.build_overrides(plan, out, schedule.rounds), exported
        )
        template = verifier_prompts.load_template(plan.prompt.template, "r4p")
        for split, groups in (("train", schedule.groups), ("validation", validation)):
            table = pa.Table.from_pylist(
                build_rows(template, groups, split, read_special_tokens(tokenizer))
            )
            pq.write_table(table, beside / f"{split}.parquet", compression="zstd")
    return exported


def _read_validation(plan: TrainPlan, source: Path, tokenizer: Any) -> Sequence[TrainingGroup]:
    """Return each validation group once. Raises BadPlan without any, because verl needs one to start."""
    groups = dataset.read_split(source, "validation")
    kept, _ = group_rollouts.filter_askable(
        plan, [group for group in groups if _has_label(group)], tokenizer
    )
    if not kept:
        raise BadPlan(
            f"plan {plan.name}: none of {len(groups)} groups of the validation split can be used, and verl needs at least one"
            "; build a dataset with more"
        )
    return [permute_patches(group, plan.seed, 0) for group in kept]


def _has_label(group: TrainingGroup) -> bool:
    return any(target is not None for target in group.targets)


def _write_files(
    folder: Path, plan: TrainPlan, settings: hydra_overrides.Settings, exported: VerlExport
) -> None:
    """Write everything but the rows."""
    shutil.copyfile(reward_function.__file__, folder / "reward.py")
    (folder / "plan.toml").write_text(plan_file.to_toml(plan))
    (folder / "overrides.txt").write_text(hydra_overrides.format_overrides(settings))
    (folder / "export.json").write_text(json.dumps(asdict(exported), indent=2) + "\n")
    # the reward is worked out by our own code, which Ray takes along to every node
    packages = [str(Path(package.__path__[0]).resolve()) for package in (model, training)]
    (folder / "runtime_env.json").write_text(json.dumps({"py_modules": packages}) + "\n")
    submit = (
        _SUBMIT.replace("@NODES@", str(plan.scale.nodes))
        .replace("@GPUS@", str(plan.scale.processes))
        .replace("@VERL@", VERL)
    )
    for name, script in (("train.sh", _TRAIN), ("submit.sh", submit)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)


Row = dict[str, Any]


def build_rows(
    template: Template, groups: Sequence[TrainingGroup], split: str, tokens: SpecialTokens
) -> list[Row]:
    """Return a row of verl's data for each group, in order: its prompt, targets, key and issue, and `split`.

    `split` is the name of the dataset's split. `tokens` are the special tokens of the model's tokenizer.
    """
    return [
        _build_prompt_row(
            verifier_prompts.render_group(template, group, tokens), group, split, index
        )
        for index, group in enumerate(groups)
    ]


def _build_prompt_row(
    messages: Sequence[Message], group: TrainingGroup, split: str, index: int
) -> Row:
    occupied = [seat for seat, patch in enumerate(group.patches, 1) if patch]
    return {
        "data_source": f"r4p/{group.source.value}",
        "prompt": [{"role": message.role, "content": message.content} for message in messages],
        "ability": "code-review",
        # as text, since Arrow would force one shape on the truths of all rows
        "reward_model": {
            "style": "rule",
            "ground_truth": json.dumps({"targets": group.targets, "occupied": occupied}),
        },
        "extra_info": {"index": index, "split": split, "key": group.key, "issue": group.issue},
    }
