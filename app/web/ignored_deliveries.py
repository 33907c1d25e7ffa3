"""Counts the deliveries that the bot ignores, and writes the counts every few seconds."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from psycopg import OperationalError

from app.db.store.queue.deliveries import Pool, count_ignored

FLUSH_SECONDS: Final = 5.0
_REASON_LIMIT: Final = 200
_REASONS_LIMIT: Final = 500


@dataclass(slots=True)
class IgnoredCounts:
    """Counts ignored deliveries by reason, in memory until the next flush to the database.

    Only one event loop may use an instance.
    """

    pool: Pool
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str) -> None:
        """Count one delivery that the bot ignored for `reason`. This never touches the database."""
        kept = reason[:_REASON_LIMIT]
        if kept not in self._counts and len(self._counts) >= _REASONS_LIMIT:
            kept = "other"
        self._counts[kept] += 1

    async def flush(self) -> None:
        """Add the counts in memory to those in the database, and reset them.

        While the database is down, they stay in memory for the next flush.
        """
        taken, self._counts = self._counts, Counter()
        try:
            if taken:
                await count_ignored(self.pool, taken)
        except OperationalError:
            self._counts.update(taken)

    async def keep_flushing(self) -> None:
        """Write the counts of ignored deliveries to the database every few seconds until the task is cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()
