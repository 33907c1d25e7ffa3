"""Metrics of verdicts that Prometheus reads from the database: quality, speed and cost of the last day.

They are gauges over a window and no counters, because retention deletes old evaluations.
"""

import time
from collections.abc import Callable
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.store.outcomes.verdict_statistics import VerdictStatistics, read_verdict_statistics
from app.metrics import Family

KEEP_SECONDS: Final = 60.0
"""How long the values are given again: they describe a day, and their queries cost more than those of the queue."""

EVALUATIONS: Final = Family(
    "r4p_evaluations",
    "Evaluations that began within a day, by verifier and state. The verifier is `none` before a judgement.",
    ("verifier", "state"),
)
VERDICTS: Final = Family(
    "r4p_verdicts",
    "Patches judged within a day, by verifier and verdict. The share of `unsure` and `not_judged` is the abstention.",
    ("verifier", "verdict"),
)
REPEATED: Final = Family(
    "r4p_repeated_claims",
    "Unchanged patches with a claim within a day and one before, by whether the later claim is the opposite.",
    ("flipped",),
)
SETTLED: Final = Family(
    "r4p_settled_claims",
    "Public claims about patches merged within 90 days (10,000 at most): reverted, or kept for 14 days.",
    ("claim", "outcome"),
)
TOKENS: Final = Family(
    "r4p_tokens",
    "Tokens of the evaluations of a day, by verifier and kind. Cached tokens are a part of the prompt's.",
    ("verifier", "kind"),
)
ENGINE_SECONDS: Final = Family(
    "r4p_engine_seconds",
    "Seconds for which evaluations of a day waited for the engine. Requests that share a GPU count fully, each.",
    ("verifier",),
)
AGENT_RUNS: Final = Family("r4p_agent_runs", "Agent runs that began within a day and ended.")
AGENT_TOKENS: Final = Family(
    "r4p_agent_tokens", "Tokens of the agent runs of a day, without cached ones."
)
AGENT_SECONDS: Final = Family("r4p_agent_seconds", "Seconds of the agent runs of a day.")
REACTION: Final = Family(
    "r4p_first_reaction_seconds",
    "Seconds from a delivery to the first write on GitHub that it caused, within a day. The quiet time is in it.",
    ("quantile",),
)
DURATION: Final = Family(
    "r4p_evaluation_seconds",
    "Seconds from the collection of a group to its verdict, within a day.",
    ("quantile",),
)
FAMILIES: Final = (
    *(EVALUATIONS, VERDICTS, REPEATED, SETTLED, TOKENS, ENGINE_SECONDS),
    *(AGENT_RUNS, AGENT_TOKENS, AGENT_SECONDS, REACTION, DURATION),
)
_STATES: Final = ("judged", "failed", "waiting", "superseded")
_KINDS: Final = ("prompt", "cached", "completion")


class VerdictMetrics(Collector):
    """Collects the metrics of verdicts, at most once in KEEP_SECONDS.

    When the database is down or too slow, there are no values until the next attempt.
    """

    def __init__(self, database: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._kept: tuple[float, list[Metric]] | None = None

    def describe(self) -> list[Metric]:
        """Return the metrics without samples, so that registering reads no database."""
        return [family.build() for family in FAMILIES]

    def collect(self) -> list[Metric]:
        """Return the metrics of verdicts, at most KEEP_SECONDS old; empty while the database does not answer."""
        if self._kept is None or self._clock() - self._kept[0] >= KEEP_SECONDS:
            self._kept = (self._clock(), self._read())
        return self._kept[1]

    def _read(self) -> list[Metric]:
        try:
            with self._database.connect() as connection:
                return build_verdict_metrics(read_verdict_statistics(connection))
        except SQLAlchemyError:
            return []


def build_verdict_metrics(statistics: VerdictStatistics) -> list[Metric]:
    """Build the metrics of verdicts from the statistics of a day."""
    rows, agents, repeated = statistics.evaluations, statistics.agents, statistics.repeated
    judges = [row for row in rows if row.judged or row.failed]
    return [
        EVALUATIONS.build(
            ((row.verifier, state), getattr(row, state)) for row in rows for state in _STATES
        ),
        VERDICTS.build(((row.verifier, row.verdict), row.patches) for row in statistics.verdicts),
        REPEATED.build(
            [(("true",), repeated.flipped), (("false",), repeated.patches - repeated.flipped)]
        ),
        SETTLED.build(
            ((row.claim, "reverted" if row.is_reverted else "kept"), row.patches)
            for row in statistics.settled
        ),
        TOKENS.build(
            ((row.verifier, kind), getattr(row, kind)) for row in judges for kind in _KINDS
        ),
        ENGINE_SECONDS.build(((row.verifier,), row.engine_seconds) for row in judges),
        AGENT_RUNS.build([((), agents.runs)]),
        AGENT_TOKENS.build([((), agents.tokens)]),
        AGENT_SECONDS.build([((), agents.seconds)]),
        REACTION.build(((str(row.share),), row.seconds) for row in statistics.reactions),
        DURATION.build(((str(row.share),), row.seconds) for row in statistics.durations),
    ]
