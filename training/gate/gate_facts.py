"""Facts that the gate decides by, and its findings (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.learning.gate_rules import Rules
from model.errors import EngineError
from model.evaluation.bootstrap import Estimate
from training.datasets.groups import LabelSource
from training.evaluation import metrics, significance
from training.evaluation.metrics import CONSTANTS, SHARES, GroupReplies


@dataclass(frozen=True, slots=True)
class StepHealth:
    """The health metrics of one optimiser step; None where a metric was not measured."""

    loss: float | None
    entropy: float | None = None
    clipped: float | None = None
    """Share of clipped tokens, from 0 to 1."""
    not_finite: tuple[str, ...] = ()
    """Names of metrics that were NaN or infinite; their fields are None."""


@dataclass(frozen=True, slots=True)
class ProvenanceCheck:
    """What a run says it trained on, and the same facts measured again at the evaluation."""

    status: str
    """Status of the run: finished, or failed with a reason."""
    steps: tuple[StepHealth, ...]
    adapter: str
    """SHA-256 of the adapter, noted by the run."""
    adapter_now: str
    """SHA-256 of the adapter today."""
    dataset: str
    """Digest of the training dataset, noted by the run."""
    dataset_now: str
    """Digest of the training dataset today."""
    label_rule: int | None
    """Version of the label rules of the measured dataset; None for labels by tests."""
    label_rule_now: int
    """Version of today's label rules."""
    trained_on: frozenset[str]
    """Issues that the run trained on."""
    measured_on: frozenset[str]
    """Issues of the groups to measure on."""
    samples: bool = False
    """The run trained on its own replies, so every step has an entropy and a share of clipped tokens."""


@dataclass(frozen=True, slots=True)
class ChampionComparison:
    """Metrics of candidate and champion on the same groups, with the same prompts and sampler."""

    name: str
    """Name of the set: the source of its labels, and its split."""
    issues: int
    groups: int
    patches: int
    candidate: Mapping[str, Estimate]
    champion: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    """Candidate minus champion, paired by issue."""
    constants: Mapping[str, Mapping[str, float | None]]
    """Metrics of constant judges, by name."""
    only_candidate: int
    """Issues that only the candidate decides right."""
    only_champion: int
    p_worse: float
    """One-sided p-value of McNemar's exact test; small when the champion is better."""
    p_differs: float
    """Two-sided p-value of the same test; small when either is better."""
    unanswered: int = 0
    """Groups left out because the engine failed for one of the two."""

    @property
    def by_outcomes(self) -> bool:
        """Whether the labels of the compared groups come from maintainers' outcomes."""
        return self.name.partition(",")[0] == LabelSource.OUTCOMES


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One check of the gate, and its result in words."""

    check: str
    passed: bool
    answer: str = field(metadata={"key": "said"})


def compare_answered(
    name: str, pairs: Sequence[tuple[GroupReplies, GroupReplies]], rules: Rules
) -> ChampionComparison:
    """Compare candidate and champion on the groups that both answered (pure). `name` is the name of the set of groups.

    `pairs` holds for each group the replies of the candidate, then of the champion. Raises EngineError when `rules` do
    not allow so many unanswered groups.
    """
    # a group without rewards had only failed requests
    both = [pair for pair in pairs if all(replies.rewards for replies in pair)]
    unanswered = len(pairs) - len(both)
    if unanswered > rules.most_unanswered * len(pairs):
        raise EngineError(
            f"{unanswered} of the {len(pairs)} groups of {name} have no answer of one model; at most {rules.most_unanswered:.0%} "
            "may lack one, so nothing is decided; see the engine's log and measure again"
        )
    return replace(compare_groups(name, both), unanswered=unanswered)


def compare_groups(
    name: str, pairs: Sequence[tuple[GroupReplies, GroupReplies]]
) -> ChampionComparison:
    """Compare candidate and champion on one set of answered groups (pure). `name` is the name of the set.

    `pairs` holds for each group the replies of the candidate, then of the champion.
    """
    candidate, champion = ([pair[index] for pair in pairs] for index in (0, 1))
    issue_rows = metrics.index_issues(candidate)
    candidate_statistics, champion_statistics = (
        metrics.build_statistics(candidate),
        metrics.build_statistics(champion),
    )
    right, before = (
        list(metrics.list_correct_issues(replies).values()) for replies in (candidate, champion)
    )
    only_candidate, only_champion = significance.count_discordant(right, before)
    return ChampionComparison(
        name=name,
        issues=len(issue_rows.groups),
        groups=len(candidate),
        patches=sum(len(heard.places_with_label) for heard in candidate),
        candidate=significance.bootstrap_estimates(candidate_statistics, issue_rows, shares=SHARES),
        champion=significance.bootstrap_estimates(champion_statistics, issue_rows, shares=SHARES),
        difference=significance.bootstrap_differences(
            candidate_statistics, champion_statistics, issue_rows
        ),
        constants={
            name: _measure_constant(candidate, belief) for name, belief in CONSTANTS.items()
        },
        only_candidate=only_candidate,
        only_champion=only_champion,
        p_worse=significance.compute_worse_p(only_candidate, only_champion),
        p_differs=significance.compute_mcnemar_p(only_candidate, only_champion),
    )


def _measure_constant(
    all_replies: Sequence[GroupReplies], belief: float
) -> dict[str, float | None]:
    same = metrics.build_constant_judge(all_replies, belief)
    rows = [
        np.concatenate(item)
        for item in (metrics.index_issues(same).patches, metrics.index_issues(same).groups)
    ]
    values = {name: item(rows[0], rows[1]) for name, item in metrics.build_statistics(same).items()}
    return {name: None if np.isnan(value) else value for name, value in values.items()}
