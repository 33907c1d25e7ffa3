"""Facts that the gate decides by, and its findings (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.evaluation.bootstrap import Estimate
from training.datasets.groups import LabelSource


@dataclass(frozen=True, slots=True)
class StepHealth:
    """The health metrics of one optimiser step; None where a metric was not measured."""

    loss: float | None
    entropy: float | None = None
    clipped: float | None = None
    not_finite: tuple[str, ...] = ()
    """Names of metrics that were NaN or infinite; their fields are None."""


@dataclass(frozen=True, slots=True)
class ProvenanceCheck:
    """What a candidate was trained on, noted by the run and found again today."""

    status: str
    """Status of the run: finished, or failed with a reason."""
    steps: tuple[StepHealth, ...]
    adapter: str
    """SHA-256 of the adapter, noted by the run."""
    adapter_now: str
    dataset: str
    """Digest of the training dataset, noted by the run."""
    dataset_now: str
    """Digest of the training dataset today."""
    label_rule: int | None
    """Version of the label rules of the measured dataset; None for labels by tests."""
    label_rule_now: int
    trained_on: frozenset[str]
    """Issues that the run trained on."""
    measured_on: frozenset[str]
    samples: bool = False
    """The run trained on its own replies, so every step has an entropy and a share of clipped tokens."""


@dataclass(frozen=True, slots=True)
class ChampionComparison:
    """Candidate and champion on the same groups, with the same prompts and sampler."""

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
    unanswered: int = 0
    """Groups left out because the engine failed for one of the two."""

    @property
    def by_outcomes(self) -> bool:
        """Whether the labels come from maintainers."""
        return self.name.partition(",")[0] == LabelSource.OUTCOMES


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One check and its result in words."""

    check: str
    passed: bool
    said: str
