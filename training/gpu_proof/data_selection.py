"""Select what the proof learns from and what it is measured on: never the same issue, and blocks held out as a whole.

The blocks are those of the consensus model (docs/consensus.md): whole repositories, and Django by issue number. So the
consensus fit that judges beside the trained model has not seen the evaluated issues either.
"""

import gzip
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.evaluation import evaluation_run, judge_catalog, labelled_group, run_file
from model.evaluation.labelled_group import LabelledGroup
from model.rivals import consensus_model
from training.curation import dataset_builder
from training.curation.balance import Balance
from training.curation.dataset_builder import BuiltDataset, DatasetRecipe
from training.curation.deduplication import EvaluationSet
from training.curation.pools import build_from_groups
from training.curation.splits import SplitPlan
from training.datasets import dataset
from training.datasets.manifest import Manifest

EVALUATED_BLOCKS = (
    "django 3",
    "django 4",
    "sphinx",
    "matplotlib",
    "xarray",
    "seaborn and flask",
)
"""Later half of Django, and five repositories that the training never sees."""
EVALUATED_FILES = {
    "distinct": "distinct_eval_groups.jsonl.gz",
    "r4p_style": "r4p_style_eval_groups.jsonl.gz",
}
LEARNT_FILES = ("swebench_patches.jsonl.gz", "multilang_patches.jsonl.gz")


class LeakedIssue(ValueError):
    """An issue would be trained on and measured on. The message names issues."""


@dataclass(frozen=True, slots=True)
class ProofData:
    """The groups to measure on, by the name of their file, and the dataset to learn from."""

    evaluated: Mapping[str, Sequence[LabelledGroup]]
    learnt: BuiltDataset


def is_evaluated(group: LabelledGroup, blocks: Collection[str] = EVALUATED_BLOCKS) -> bool:
    """Tell whether the group's issue lies in an evaluated block of the consensus model."""
    fit = consensus_model.load_shipped().select_fit(group.repo, group.instance_id)
    return fit.name in blocks


def select_data(
    measured: Mapping[str, Iterable[LabelledGroup]], pools: Iterable[LabelledGroup]
) -> ProofData:
    """Keep groups of evaluated blocks to measure on, and build a dataset from pools outside these blocks.

    Patches and texts that an evaluated issue has too are dropped as well. Raises LeakedIssue and NothingToLearn.
    """
    evaluated = {
        name: [group for group in groups if is_evaluated(group)]
        for name, groups in measured.items()
    }
    every = [group for groups in evaluated.values() for group in groups]
    outside = [group for group in pools if not is_evaluated(group)]
    recipe = DatasetRecipe(balance=Balance.MIRRORED, split=SplitPlan(validation=0.0, test=0.0))
    learnt = dataset_builder.build_dataset(
        build_from_groups(outside), recipe, EvaluationSet.from_pools(build_from_groups(every))
    )
    check_leaks(
        {group.issue for groups in learnt.splits.values() for group in groups},
        {group.instance_id for group in every},
    )
    return ProofData(evaluated, learnt)


def check_leaks(trained: Collection[str], measured: Collection[str]) -> None:
    """Raise LeakedIssue if an issue is in both."""
    if both := sorted(set(trained) & set(measured)):
        raise LeakedIssue(
            f"{len(both)} issues are trained on and measured on, such as {both[0]}; leave them out of the training"
        )


def write_data(data: Path, out: Path) -> ProofData:
    """Write the dataset, the evaluated groups and consensus' judgement of them to the folder `out`.

    `data` is the folder of the labelled groups. Raises BadGroups for a file that cannot be read.
    """
    measured = {
        name: list(labelled_group.read_groups(data / file))
        for name, file in EVALUATED_FILES.items()
    }
    pools = [group for name in LEARNT_FILES for group in labelled_group.read_groups(data / name)]
    selected = select_data(measured, pools)
    for name, groups in selected.evaluated.items():
        _copy_lines(
            data / EVALUATED_FILES[name],
            out / "data" / f"{name}.jsonl.gz",
            {g.instance_id for g in groups},
        )
        judge = judge_catalog.build_consensus_judge(strict=False)
        with run_file.open_run_file(out / "results" / f"{name}.consensus.jsonl") as kept:
            evaluation_run.judge_groups(evaluation_run.sample_groups(groups), judge, kept)
    sources = {
        hashlib.sha256((data / name).read_bytes()).hexdigest(): name
        for name in (*LEARNT_FILES, *EVALUATED_FILES.values())
    }
    rules = dataset_builder.RULE_VERSIONS
    manifest = Manifest(1, None, rules, sources=sources, steps=selected.learnt.steps)
    dataset.write_dataset(out / "data" / "dataset", selected.learnt.splits, manifest)
    return selected


def _copy_lines(source: Path, target: Path, issues: Collection[str]) -> None:
    """Copy the groups of the given issues, line by line, into a gzip file that is the same each time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        kept = [line for line in lines if json.loads(line)["instance_id"] in issues]
    target.write_bytes(gzip.compress("".join(kept).encode(), mtime=0))
