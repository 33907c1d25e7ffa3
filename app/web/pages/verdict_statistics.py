"""Turn counts of verdicts into shares with intervals, and into the points of a reliability diagram (pure)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.db.store.pages.track_record import BINS, VerdictTally
from app.outcomes.judgement import Judge
from model.domain import EngineInfo
from model.evaluation.wilson import compute_wilson_interval


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95 % Wilson interval; `value` is None without cases."""

    hits: int
    cases: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1."""
        return self.hits / self.cases if self.cases else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval's bounds; 0 and 1 without cases."""
        return compute_wilson_interval(self.hits, self.cases)


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """Patches with similar probabilities: the mean probability, and the share that was correct."""

    bin: int
    """Bin of the probability, from 0."""
    mean: float
    observed: Share


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """How one model's verdicts in one repository came true."""

    repository: int
    model: str
    patches: int
    claims: Share
    """Patches judged correct or incorrect, of all judged patches: the coverage."""
    unsure: Share
    """Patches judged unsure: the abstention."""
    correct: Share
    """Patches judged correct that were, of those with a known result: the precision after reverts."""
    incorrect: Share
    """Patches judged incorrect that were, of those with a known result."""
    reliability: tuple[ReliabilityPoint, ...]
    judges: Mapping[tuple[Judge, int], Share] = field(default_factory=dict)
    """Patches that were correct, of those with a known result, by judge and by bin of the probability, from 0."""


def build_records(tallies: Iterable[VerdictTally]) -> tuple[ModelRecord, ...]:
    """Build one record per repository and model, those with most patches first."""
    groups: dict[tuple[int, str], list[VerdictTally]] = defaultdict(list)
    for tally in tallies:
        groups[tally.repository, tally.judge.engine.model].append(tally)
    records = [_build_record(*place, rows) for place, rows in groups.items()]
    return tuple(sorted(records, key=lambda record: (-record.patches, record.model)))


def find_observed(
    records: Iterable[ModelRecord],
    own: Iterable[ModelRecord],
    judge: Judge,
    probability: float | None,
) -> Share | None:
    """Return how many other patches to which `judge` gave about this probability were correct.

    `own` counts the patches of the same issue, which are left out. `records` may be older than `own`,
    and then the share may count a few patches too few. The result is None without a probability or a known result.
    """
    if probability is None:
        return None
    key = (judge, min(int(probability * BINS), BINS - 1))
    every, left_out = _add_shares(records, key), _add_shares(own, key)
    cases = max(0, every.cases - left_out.cases)
    hits = min(max(0, every.hits - left_out.hits), cases)
    return Share(hits, cases) if cases else None


def read_judge(document: Mapping[str, Any]) -> Judge:
    """Return the judge that an `r4p.verdict/1` document names, as the counts have it; what it leaves out is empty."""
    engine = document.get("engine", {})
    parts = [engine.get(name, "") for name in ("name", "model", "prompt_fingerprint")]
    return Judge(document.get("verifier", ""), EngineInfo(*parts))


def _add_shares(records: Iterable[ModelRecord], key: tuple[Judge, int]) -> Share:
    shares = [record.judges[key] for record in records if key in record.judges]
    return Share(sum(share.hits for share in shares), sum(share.cases for share in shares))


def _build_record(repository: int, model: str, rows: Sequence[VerdictTally]) -> ModelRecord:
    judged = _count(rows, {"correct", "incorrect", "unsure"})
    return ModelRecord(
        repository=repository,
        model=model,
        patches=sum(row.patches for row in rows),
        claims=Share(_count(rows, {"correct", "incorrect"}), judged),
        unsure=Share(_count(rows, {"unsure"}), judged),
        correct=_measure(rows, "correct", is_correct=True),
        incorrect=_measure(rows, "incorrect", is_correct=False),
        reliability=tuple(_build_points(rows)),
        judges=_count_judges(rows),
    )


def _count(rows: Iterable[VerdictTally], verdicts: set[str]) -> int:
    return sum(row.patches for row in rows if row.verdict in verdicts)


def _measure(rows: Iterable[VerdictTally], verdict: str, *, is_correct: bool) -> Share:
    decided = [row for row in rows if row.verdict == verdict and row.is_correct is not None]
    hits = sum(row.patches for row in decided if row.is_correct is is_correct)
    return Share(hits, sum(row.patches for row in decided))


def _build_points(rows: Iterable[VerdictTally]) -> list[ReliabilityPoint]:
    bins: dict[int, list[VerdictTally]] = defaultdict(list)
    for row in rows:
        if row.bin is not None and row.is_correct is not None:
            bins[row.bin].append(row)
    points = []
    for number, members in sorted(bins.items()):
        cases = sum(row.patches for row in members)
        hits = sum(row.patches for row in members if row.is_correct)
        mean = sum(row.probability_sum for row in members) / cases
        points.append(ReliabilityPoint(number, mean, Share(hits, cases)))
    return points


def _count_judges(rows: Iterable[VerdictTally]) -> dict[tuple[Judge, int], Share]:
    bins: dict[tuple[Judge, int], list[VerdictTally]] = defaultdict(list)
    for row in rows:
        if row.bin is not None and row.is_correct is not None:
            bins[row.judge, row.bin].append(row)
    return {
        key: Share(
            sum(row.patches for row in members if row.is_correct),
            sum(row.patches for row in members),
        )
        for key, members in bins.items()
    }
