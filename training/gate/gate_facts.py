"""What the gate decides by, and what it finds (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.evaluation.bootstrap import Estimate
from training.datasets.groups import LabelSource


@dataclass(frozen=True, slots=True)
class Step:
    """What a run said of one optimiser step; None: nothing of that kind."""

    loss: float | None
    entropy: float | None = None
    clipped: float | None = None
    not_finite: tuple[str, ...] = ()
    """Which of these was measured and is no finite number; it is None then."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a candidate was made from, and whether that still stands."""

    status: str
    """Of the run: finished, or failed."""
    steps: tuple[Step, ...]
    adapter: str
    """SHA-256 that the run noted."""
    adapter_now: str
    dataset: str
    """Digest of the manifest that the run noted."""
    dataset_now: str
    """Of the dataset that it is measured on."""
    label_rule: int | None
    """Version by which that was labelled; None: by tests."""
    label_rule_now: int
    trained_on: frozenset[str]
    """Issues."""
    measured_on: frozenset[str]
    samples: bool = False
    """It learnt from replies of its own, so every step has an entropy and a share of clipped tokens."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Candidate and champion on the same groups, by the same prompts and sampler."""

    name: str
    """Of the set: who labelled it, and which part of a dataset it is."""
    issues: int
    groups: int
    patches: int
    candidate: Mapping[str, Estimate]
    champion: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    """Candidate less champion, paired by issue."""
    constants: Mapping[str, Mapping[str, float | None]]
    """What somebody reaches who says the same of every patch."""
    only_candidate: int
    """Issues that it alone decides rightly."""
    only_champion: int
    p_worse: float
    """Exact one-sided McNemar: small when the champion alone is right more often."""
    p_differs: float
    unanswered: int = 0
    """Groups of the set that are left out, for the engine failed one of the two."""

    @property
    def by_outcomes(self) -> bool:
        """Whether maintainers labelled it."""
        return self.name.partition(",")[0] == LabelSource.OUTCOMES


@dataclass(frozen=True, slots=True)
class Finding:
    """One question, and its answer for people."""

    check: str
    passed: bool
    said: str
