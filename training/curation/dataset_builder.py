"""Build the splits of a dataset from pools of patches, counting every dropped item (pure)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from training.curation import deduplication, patch_filters, source_filters
from training.curation.balance import Balance, balance_groups
from training.curation.combinations import GroupShape, form_groups, limit_per_issue
from training.curation.deduplication import EvaluationSet
from training.curation.patch_filters import ChangeLimits
from training.curation.pools import Pool
from training.curation.source_filters import StatementLimits
from training.curation.splits import SPLITS, TRAIN, SplitPlan, split_pools
from training.curation.steps import Filter, count_step, filter_issues, filter_patches, run_steps
from training.datasets.groups import TrainingGroup
from training.datasets.manifest import CurationStep
from training.labels.rules import RULE_VERSION

RULE_VERSIONS = {"curation": 2, "labels": RULE_VERSION}
"""Versions of the rules in the manifest. Increase `curation` when a change here keeps other items."""


_ENOUGH = "its issue has enough groups"


class NothingToLearn(ValueError):
    """No training group is left. The message lists what was dropped and why."""


@dataclass(frozen=True, slots=True)
class DatasetRecipe:
    """All settings that determine a dataset."""

    seed: int = 1
    statements: StatementLimits = field(default_factory=StatementLimits)
    changes: ChangeLimits = field(default_factory=ChangeLimits)
    excluded_sources: tuple[str, ...] = ()
    """Benchmark sources to drop, as patterns such as `family/*`."""
    licences: tuple[str, ...] = ()
    """SPDX names of the accepted benchmark licences. Empty: all."""
    shape: GroupShape = field(default_factory=GroupShape)
    balance: Balance = Balance.EVEN
    split: SplitPlan = field(default_factory=SplitPlan)
    max_evaluation_groups: int = 3
    """Maximum groups of one issue in a split that is not trained on."""


@dataclass(frozen=True, slots=True)
class BuiltDataset:
    """The groups of each split and the counts of each curation step."""

    splits: Mapping[str, Sequence[TrainingGroup]]
    steps: tuple[CurationStep, ...]


def build_steps(
    recipe: DatasetRecipe, evaluation: EvaluationSet | None
) -> tuple[tuple[str, Filter], ...]:
    """Return a dataset's curation steps in order, as pairs of name and filter.

    `evaluation` holds what training must not use; None: no evaluation. This decontamination is the first step, because
    it needs all patches of an issue.
    """
    licences, sources = recipe.licences, recipe.excluded_sources
    optional: list[tuple[str, Filter]] = []
    if evaluation:
        optional.append(("decontamination", filter_issues(evaluation.find_overlap)))
    if licences:
        find_unlicensed = partial(source_filters.find_unlicensed, licences=licences)
        optional.append(("licence", filter_issues(find_unlicensed)))
    if sources:
        find_unwanted = partial(source_filters.find_unwanted, patterns=sources)
        optional.append(("source", filter_patches(find_unwanted)))
    find_bad_text = partial(source_filters.find_rejection, limits=recipe.statements)
    find_bad_change = partial(patch_filters.find_rejection, limits=recipe.changes)
    return (
        *optional,
        ("statement", filter_issues(find_bad_text)),
        ("one-sided sources", source_filters.drop_one_sided),
        ("edits", patch_filters.drop_rewrites),
        ("change", filter_patches(find_bad_change)),
        ("copies of patches", deduplication.drop_duplicate_edits),
        ("copies of issues", deduplication.drop_duplicate_issues),
    )


def build_dataset(
    pools: Sequence[Pool], recipe: DatasetRecipe, evaluation: EvaluationSet | None = None
) -> BuiltDataset:
    """Build the splits of a dataset from issues with their patches. Raises NothingToLearn.

    Items that occur in `evaluation` are dropped; None: nothing is dropped for that reason.
    """
    kept, counts = run_steps(pools, build_steps(recipe, evaluation))
    parts = split_pools(kept, recipe.split)
    counts.append(count_step("split", _flatten(parts.pools), parts.reasons))
    groups: dict[str, list[TrainingGroup]] = {}
    for name, split in parts.pools.items():
        formed, reasons = _form_all(split, recipe)
        counts.append(count_step(f"combinations: {name}", formed, reasons))
        groups[name] = formed
    groups[TRAIN], reasons = balance_groups(groups[TRAIN], recipe.balance, recipe.seed)
    counts.append(count_step(f"balance: {TRAIN}", groups[TRAIN], reasons))
    for name in SPLITS[1:]:
        few = limit_per_issue(groups[name], recipe.max_evaluation_groups, recipe.seed)
        reasons = [_ENOUGH] * (len(groups[name]) - len(few))
        counts.append(count_step(f"enough: {name}", few, reasons))
        groups[name] = few
    if not groups[TRAIN]:
        raise NothingToLearn(_explain_empty(pools, counts))
    return BuiltDataset(groups, tuple(counts))


def _form_all(
    pools: Sequence[Pool], recipe: DatasetRecipe
) -> tuple[list[TrainingGroup], list[str]]:
    results = [form_groups(pool, recipe.shape, recipe.seed) for pool in pools]
    return (
        [group for formed, _ in results for group in formed],
        [reason for _, reasons in results for reason in reasons],
    )


def _flatten(parts: Mapping[str, Sequence[Pool]]) -> list[Pool]:
    return [pool for pools in parts.values() for pool in pools]


def _explain_empty(pools: Sequence[Pool], steps: Sequence[CurationStep]) -> str:
    if not pools:
        return (
            "there is no judged issue to learn from: let the bot judge where .github/r4p.yml says "
            "`training: on`, or give files with --groups"
        )
    reasons = Counter(
        {f"{step.name}: {why}": n for step in steps for why, n in step.dropped.items()}
    )
    summary = "; ".join(f"{why} ({count})" for why, count in reasons.most_common(3))
    return (
        f"no group is left to train on, of {len(pools)} issues; dropped mostly: {summary or 'nothing'}. "
        "Wait for more labels, or ask for less: see r4p train dataset build --help"
    )
