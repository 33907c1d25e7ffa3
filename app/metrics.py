"""Counters of this process and the text that Prometheus scrapes."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

HELP: Final[Mapping[str, str]] = {
    "r4p_deliveries_total": "Webhook deliveries answered by this process, by event and outcome.",
    "r4p_doorbell_failures_total": "Rings that the broker did not take; the sweeper rings again.",
    "r4p_ignored_deliveries_total": "Deliveries of no interest that were not kept, by reason.",
    "r4p_jobs": "Jobs in the queue of record that wait, run or gave up, by queue and state.",
    "r4p_jobs_lag_seconds": "How long the oldest due job of a queue has waited.",
    "r4p_jobs_waiting": "Jobs that wait for somebody who is not ready, by whom.",
    "r4p_jobs_waiting_seconds": "How long the first of them has waited.",
    "r4p_training": "1 for the state and the stage that the newest training is in.",
    "r4p_training_beat_seconds": "How long ago somebody worked on it, while it runs.",
    "r4p_training_metric": "What its newest optimiser step was like, by name.",
}
_GAUGES: Final = frozenset(HELP) - frozenset(name for name in HELP if name.endswith("_total"))

_SERIES_LIMIT: Final = 2_000
"""Label values come from outside; further ones are counted together as `other`."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One number at one moment."""

    name: str
    value: float
    labels: Labels = ()


@dataclass(slots=True)
class Metrics:
    """Counts what happens. Safe to share by threads."""

    _counts: Counter[tuple[str, Labels]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Count something that HELP describes."""
        series = (name, tuple(sorted(labels.items())))
        with self._lock:
            if series not in self._counts and len(self._counts) >= _SERIES_LIMIT:
                series = (name, tuple((label, "other") for label in sorted(labels)))
            self._counts[series] += amount

    def samples(self) -> tuple[Sample, ...]:
        """What was counted so far."""
        with self._lock:
            return tuple(Sample(name, n, labels) for (name, labels), n in self._counts.items())


def render(samples: Iterable[Sample]) -> str:
    """Samples in Prometheus' text format, 0.0.4; each name must be one that HELP describes."""
    lines: list[str] = []
    last = ""
    for sample in sorted(samples, key=lambda sample: (sample.name, sample.labels)):
        if sample.name != last:
            kind = "gauge" if sample.name in _GAUGES else "counter"
            lines += [f"# HELP {sample.name} {HELP[sample.name]}", f"# TYPE {sample.name} {kind}"]
            last = sample.name
        pairs = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels)
        lines.append(f"{sample.name}{'{' + pairs + '}' if pairs else ''} {_number(sample.value)}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
