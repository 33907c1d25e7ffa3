"""A folder from which verl trains: rows, the reward's file, overrides, and the scripts that start it."""

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
from model.prompts import prompt_template
from training.datasets import atomic_folder, dataset
from training.datasets.groups import TrainingGroup
from training.datasets.permutation import permuted
from training.datasets.schedule import laid_out
from training.plans import plan_file
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import group_rollouts
from training.verl import hydra_overrides, prompt_rows, reward_function

VERL = "0.9.1"
"""The version that the overrides are checked with."""

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
class Exported:
    """What was laid out."""

    plan: str
    dataset: str
    """The digest of its manifest."""
    verl: str
    rounds: int
    steps: int
    """Of the optimiser."""
    prompts: int
    filled: int
    """Of them, those at the end that are asked once more than planned, so that the last round is whole."""
    validation: int
    left_out: Mapping[str, int]
    """Groups by reason."""


def write(plan: TrainPlan, source: Path, out: Path, tokenizer: Any) -> Exported:
    """Export a plan with a dataset's training and validation groups; the folder is written whole or not at all.

    Raises BadDataset, and BadPlan for what verl can't honour and where something stands already.
    """
    out = out.resolve()
    if out.exists():
        raise BadPlan(f"{out} is there already; an export is never changed, name a new folder")
    kept, left_out = group_rollouts.askable(plan, dataset.read(source, "train"), tokenizer)
    if unknown := sum(not _is_known(one) for one in kept):
        left_out["no patch whose label is known"] = unknown
    asked = laid_out(kept, plan)
    tested = _validation(plan, source, tokenizer)
    exported = Exported(
        plan=plan.name,
        dataset=dataset.manifest(source).digest,
        verl=VERL,
        rounds=asked.rounds,
        steps=asked.steps,
        prompts=len(asked.groups),
        filled=asked.filled,
        validation=len(tested),
        left_out=dict(sorted(left_out.items())),
    )
    with atomic_folder.appearing(out) as beside:
        _fill(beside, plan, hydra_overrides.overrides(plan, out, asked.rounds), exported)
        template = prompt_template.load(plan.prompt.template)
        for split, groups in (("train", asked.groups), ("validation", tested)):
            table = pa.Table.from_pylist(prompt_rows.of_groups(template, groups, split))
            pq.write_table(table, beside / f"{split}.parquet", compression="zstd")
    return exported


def _validation(plan: TrainPlan, source: Path, tokenizer: Any) -> Sequence[TrainingGroup]:
    """Each group once. Raises BadPlan without any, since verl does not start without."""
    groups = dataset.read(source, "validation")
    kept, _ = group_rollouts.askable(plan, [one for one in groups if _is_known(one)], tokenizer)
    if not kept:
        raise BadPlan(
            f"plan {plan.name}: none of {len(groups)} groups of the split validation can be asked, and verl wants one "
            "at least; build a dataset with more"
        )
    return [permuted(one, plan.seed, 0) for one in kept]


def _is_known(group: TrainingGroup) -> bool:
    return any(target is not None for target in group.targets)


def _fill(
    folder: Path, plan: TrainPlan, settings: hydra_overrides.Settings, exported: Exported
) -> None:
    """Everything but the rows."""
    shutil.copyfile(reward_function.__file__, folder / "reward.py")
    (folder / "plan.toml").write_text(plan_file.toml(plan))
    (folder / "overrides.txt").write_text(hydra_overrides.written(settings))
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
