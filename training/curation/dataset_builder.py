"""From pools of patches to the splits of a dataset, by a recipe; every drop is counted (pure)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from training.curation import deduplication, patch_filters, source_filters, statement_filters
from training.curation.balance import Balance, balanced
from training.curation.combinations import Shape, a_few, groups
from training.curation.deduplication import Measured
from training.curation.patch_filters import ChangeLimits
from training.curation.pools import Pool
from training.curation.splits import SPLITS, TRAIN, SplitPlan, split
from training.curation.statement_filters import StatementLimits
from training.curation.steps import AnyStep, IssueStep, PatchStep, WholeStep, curated
from training.datasets.groups import TrainingGroup
from training.datasets.manifest import Step
from training.labels.rules import RULE_VERSION

RULES = {"curation": 2, "labels": RULE_VERSION}
"""Versions: the first is raised with every change of what is kept here."""


_ENOUGH = "its issue has enough groups"


class NothingToLearn(ValueError):
    """No group is left to train on; says what was dropped, and why."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what a dataset holds."""

    seed: int = 1
    statements: StatementLimits = field(default_factory=StatementLimits)
    changes: ChangeLimits = field(default_factory=ChangeLimits)
    left_out: tuple[str, ...] = ()
    """Benchmark sources, as `family/*`."""
    licences: tuple[str, ...] = ()
    """Of which benchmarks are taken, by SPDX name; empty: whichever."""
    shape: Shape = field(default_factory=Shape)
    balance: Balance = Balance.EVEN
    split: SplitPlan = field(default_factory=SplitPlan)
    measured_groups: int = 3
    """Groups of one issue in the splits that are measured on."""


@dataclass(frozen=True, slots=True)
class Built:
    """The splits, and what was dropped on the way."""

    splits: Mapping[str, Sequence[TrainingGroup]]
    steps: tuple[Step, ...]


def steps(recipe: Recipe, measured: Measured | None) -> tuple[AnyStep, ...]:
    """What issues and patches go through, in order; decontamination looks at whole pools, so it comes first."""
    asked: list[AnyStep] = []
    if measured:
        asked.append(IssueStep("decontamination", measured.reason))
    if recipe.licences:
        asked.append(
            IssueStep("licence", lambda one: source_filters.unlicensed(one, recipe.licences))
        )
    if recipe.left_out:
        asked.append(
            PatchStep("source", lambda _, one: source_filters.unwanted(one, recipe.left_out))
        )
    return (
        *asked,
        IssueStep("statement", lambda pool: statement_filters.unfit(pool, recipe.statements)),
        WholeStep("one-sided sources", source_filters.without_one_sided),
        WholeStep("edits", patch_filters.only_edits),
        PatchStep("change", lambda _, one: patch_filters.unfit(one, recipe.changes)),
        WholeStep("copies of patches", deduplication.one_of_each_edit),
        WholeStep("copies of issues", deduplication.one_of_each_issue),
    )


def built(pools: Sequence[Pool], recipe: Recipe, measured: Measured | None = None) -> Built:
    """The dataset of these pools. Raises NothingToLearn."""
    kept, told = curated(pools, steps(recipe, measured))
    parts = split(kept, recipe.split)
    told.append(_step("split", _groupless(parts.pools), parts.reasons))
    made: dict[str, list[TrainingGroup]] = {}
    for name, of in parts.pools.items():
        formed, reasons = _formed(of, recipe)
        told.append(_step(f"combinations: {name}", formed, reasons))
        made[name] = formed
    made[TRAIN], reasons = balanced(made[TRAIN], recipe.balance, recipe.seed)
    told.append(_step(f"balance: {TRAIN}", made[TRAIN], reasons))
    for name in SPLITS[1:]:
        few = a_few(made[name], recipe.measured_groups, recipe.seed)
        reasons = [_ENOUGH] * (len(made[name]) - len(few))
        told.append(_step(f"enough: {name}", few, reasons))
        made[name] = few
    if not made[TRAIN]:
        raise NothingToLearn(_nothing(pools, told))
    return Built(made, tuple(told))


def _formed(pools: Sequence[Pool], recipe: Recipe) -> tuple[list[TrainingGroup], list[str]]:
    found = [groups(pool, recipe.shape, recipe.seed) for pool in pools]
    return (
        [one for formed, _ in found for one in formed],
        [one for _, reasons in found for one in reasons],
    )


def _groupless(parts: Mapping[str, Sequence[Pool]]) -> list[Pool]:
    return [pool for pools in parts.values() for pool in pools]


def _step(name: str, kept: Sequence[Pool | TrainingGroup], reasons: Sequence[str]) -> Step:
    issues = len({one.issue for one in kept})
    units = sum(len(one.patches) if isinstance(one, Pool) else 1 for one in kept)
    return Step(name, issues, units, dict(sorted(Counter(reasons).items())))


def _nothing(pools: Sequence[Pool], told: Sequence[Step]) -> str:
    if not pools:
        return (
            "there is no judged issue to learn from: let the bot judge where .github/r4p.yml says "
            "`training: on`, or give files with --groups"
        )
    reasons = Counter(
        {f"{step.name}: {why}": n for step in told for why, n in step.dropped.items()}
    )
    said = "; ".join(f"{why} ({count})" for why, count in reasons.most_common(3))
    return (
        f"no group is left to train on, of {len(pools)} issues; dropped mostly: {said or 'nothing'}. "
        "Wait for more labels, or ask for less: see r4p train dataset build --help"
    )
