"""Say what a training changed: a gain, no gain, or a loss, by the interval of the difference (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from model.evaluation.bootstrap import Estimate

LOWER_IS_BETTER = frozenset({"brier"})


class Change(StrEnum):
    """What the 95 % interval of a difference says."""

    GAIN = "gain"
    NO_GAIN = "no gain"
    """The interval holds 0."""
    LOSS = "loss"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference in one metric on one set of groups, with what it says."""

    comparison: str
    """Such as `YES/NO after SFT, minus the base`."""
    group_set: str
    metric: str
    estimate: Estimate

    @property
    def change(self) -> Change:
        """What the interval says."""
        return classify_change(self.estimate, self.metric)

    @property
    def sentence(self) -> str:
        """The finding as one line of text."""
        return f"{self.comparison}, {self.group_set}: {describe_change(self.metric, self.estimate)}"


def classify_change(estimate: Estimate, metric: str) -> Change:
    """Classify a difference by its interval alone: a gain needs an interval without 0 on the better side."""
    if estimate.low is None or estimate.high is None:
        return Change.UNKNOWN
    sign = -1 if metric in LOWER_IS_BETTER else 1
    if min(sign * estimate.low, sign * estimate.high) > 0:
        return Change.GAIN
    return Change.LOSS if max(sign * estimate.low, sign * estimate.high) < 0 else Change.NO_GAIN


def describe_change(metric: str, estimate: Estimate) -> str:
    """Describe a difference in words and numbers, such as `no gain in auroc: +0.010 (-0.020 … +0.040)`."""
    change = classify_change(estimate, metric)
    if change is Change.UNKNOWN or estimate.value is None:
        return f"{metric} not measured: too few issues, or a slice has not finished"
    return f"{change.value} in {metric}: {estimate.value:+.3f} ({estimate.low:+.3f} … {estimate.high:+.3f})"


def build_findings(
    comparison: str, group_set: str, estimates: Mapping[str, Estimate]
) -> list[Finding]:
    """Return a finding for each metric of a comparison."""
    return [Finding(comparison, group_set, metric, item) for metric, item in estimates.items()]


def summarise(findings: Iterable[Finding]) -> str:
    """Return the first sentence of the report, which names gains and losses, or says that there is no gain."""
    by_change: dict[Change, list[Finding]] = {}
    for finding in findings:
        by_change.setdefault(finding.change, []).append(finding)
    if not set(by_change) - {Change.UNKNOWN}:
        return "Nothing was measured."
    counts = [
        f"{len(by_change.get(change, []))} {word}"
        for change, word in (
            (Change.GAIN, "gains"),
            (Change.NO_GAIN, "times no gain"),
            (Change.LOSS, "losses"),
        )
    ]
    start = "" if Change.GAIN in by_change else "No gain. "
    return f"{start}Of all differences: {', '.join(counts)}."
