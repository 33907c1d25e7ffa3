"""Read webhooks from GitHub's list of deliveries, for a bot that GitHub cannot reach (`R4P_INGRESS=polling`).

GitHub records every delivery with its body, whether or not it arrives, and keeps it for three days.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from app.db.session import transaction
from app.db.store.issues import webhook_state
from app.db.store.queue import deliveries, upkeep
from app.db.store.queue.deliveries import Delivery
from app.events import Ignored
from app.github.api import delivery_log
from app.github.api.delivery_log import DeliveryAttempt
from app.github.http.connection import GitHub
from app.jobs.job import Redeliver
from app.policy.delivery_decision import Decision
from app.values.identifiers import DeliveryGuid
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories.redeliver import KEPT, MOST_READ, UNDER_WAY

MOST_FETCHED: Final = 100
"""Most deliveries that one run reads whole. GitHub allows an App 5,000 calls an hour."""
MOST_IGNORED: Final = 10_000
"""Most deliveries that a process remembers as ignored, so that it reads each once."""

Decide = Callable[[str, DeliveryGuid, bytes], Decision | Ignored]
"""Turns event name, delivery id and body into a decision. Pure."""


@dataclass(frozen=True, slots=True)
class DeliveryPoller:
    """Stores the deliveries that GitHub lists and the bot does not have, with their jobs."""

    github: GitHub
    decide: Decide
    _ignored: dict[DeliveryGuid, None] = field(default_factory=dict)

    def __call__(self, context: Context, _job: Redeliver) -> None:
        """Store new deliveries, the oldest first. Raises Postponed while more wait than one run reads."""
        now = datetime.now(UTC)
        with transaction(context.database) as connection:
            settled = upkeep.find_last_done(connection, Redeliver.kind)
        since = max(now - KEPT, settled - UNDER_WAY) if settled else now - KEPT
        listed = islice(delivery_log.list_attempts(self.github, since), MOST_READ)
        first = {attempt.guid: attempt for attempt in listed}  # newest first, so the oldest stays
        with transaction(context.database) as connection:
            stored = webhook_state.find_stored(connection, set(first))
        new = [
            attempt
            for guid, attempt in first.items()
            if guid not in stored and guid not in self._ignored
        ]
        new.sort(key=lambda attempt: attempt.id)
        for attempt in new[:MOST_FETCHED]:
            context.check()
            self._take(context, attempt)
        if len(new) > MOST_FETCHED:
            waiting = len(new) - MOST_FETCHED
            raise Postponed(f"{waiting} deliveries are not read yet", after_seconds=1.0)

    def _take(self, context: Context, attempt: DeliveryAttempt) -> None:
        """Store one delivery as its webhook would have been stored, or remember that it is ignored."""
        read = delivery_log.read_delivery(self.github, attempt.id)
        body = json.dumps(read.payload).encode()
        decision = self.decide(read.event, attempt.guid, body)
        if isinstance(decision, Ignored):
            self._ignored[attempt.guid] = None
            if len(self._ignored) > MOST_IGNORED:
                del self._ignored[next(iter(self._ignored))]
            return
        delivery = Delivery(
            attempt.guid, read.event, decision.installation, decision.repository, body
        )
        with context.transaction() as connection:
            deliveries.store_rebuilt(connection, delivery)
            context.enqueue(connection, decision.planned, delivery=attempt.guid)
