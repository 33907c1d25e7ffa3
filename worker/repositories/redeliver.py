"""Have GitHub send again what never arrived: it doesn't by itself, and forgets after three days."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from typing import Final

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import webhook_state
from app.db.store.queue import upkeep
from app.github.api import delivery_log
from app.github.api.delivery_log import Attempt
from app.github.errors import NotFound, Unprocessable
from app.github.http.connection import Connection as GitHub
from app.jobs.job import OF_THE_APP, Planned, Redeliver
from app.values.identifiers import DeliveryGuid
from worker.queue.context import Context
from worker.queue.errors import Postponed

KEPT: Final = timedelta(days=3)
"""How long GitHub knows what it tried to deliver."""
UNDER_WAY: Final = timedelta(minutes=5)
"""An attempt is listed only when it has ended; it has within this time."""
PAUSE: Final = timedelta(minutes=1)
MOST_READ: Final = 10_000
MOST_ASKED: Final = 100
"""For one run; the next is a pause away."""
REFUSED: Final = frozenset({400, 413})
"""What our door would never let in."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RedeliverHandler:
    """Compares GitHub's list of attempts with the deliveries we have.

    A run that leaves nothing missing is done, and the next begins where it began; any other is
    postponed, and looks at the same time again. So the list and the queue are all the memory it needs.
    """

    github: GitHub

    def __call__(self, context: Context, _job: Redeliver) -> None:
        """Ask for what is missing. Raises Postponed until nothing is."""
        now = datetime.now(UTC)
        with transaction(context.database) as connection:
            settled = upkeep.last_done(connection, Redeliver.kind)
        since = max(now - KEPT, settled - UNDER_WAY) if settled else now - KEPT
        tried = list(islice(delivery_log.attempts(self.github, since), MOST_READ))
        failed = {attempt.guid for attempt in tried if not attempt.arrived}
        with transaction(context.database) as connection:
            known = webhook_state.known(connection, failed)
        missing = missed(tried, known)
        asked = to_ask(missing, now, door_open=tried[0].arrived) if missing else ()
        for attempt in asked:
            context.check()
            self._ask(attempt)
        if missing:
            raise Postponed(
                f"{len(missing)} webhooks have not arrived; asked GitHub for {len(asked)} again",
                after_seconds=PAUSE.total_seconds(),
            )

    def _ask(self, attempt: Attempt) -> None:
        """Have it sent again. One that GitHub won't send must not keep the others from coming."""
        try:
            delivery_log.redeliver(self.github, attempt.id)
        except (NotFound, Unprocessable) as error:
            log.warning("webhook %s is not sent again: %s", attempt.guid, error)


Tries = tuple[Attempt, ...]
"""All attempts at one webhook, newest first."""


def missed(tried: Sequence[Attempt], known: Collection[DeliveryGuid]) -> tuple[Tries, ...]:
    """The webhooks that never arrived, oldest first (pure).

    One that suspends or wakes an installation doesn't say when it did. So only the last of them is
    asked for: an earlier one would come too late, and undo it.
    """
    by_guid = sorted(tried, key=lambda attempt: (attempt.guid, -attempt.id))
    every = [tuple(mine) for _, mine in groupby(by_guid, key=lambda attempt: attempt.guid)]
    begun = [
        mine for mine in every if not mine[-1].is_again
    ]  # else it began before what is settled
    last_word = {mine[-1].switches: mine[-1].id for mine in sorted(begun, key=_first)}
    never = [
        mine
        for mine in begun
        if mine[0].guid not in known
        and (mine[-1].switches is None or mine[-1].id == last_word[mine[-1].switches])
        and mine[0].status_code not in REFUSED
        and not any(attempt.arrived for attempt in mine)
        and mine[0].at - mine[-1].at < KEPT / 2
    ]
    return tuple(sorted(never, key=_first))


def _first(mine: Tries) -> int:
    return mine[-1].id


def to_ask(missing: Sequence[Tries], now: datetime, *, door_open: bool) -> Tries:
    """The attempts to repeat now (pure).

    Each webhook rests for as long as it has been tried already, so that one that can't be delivered
    is tried some ten times in all. While our door seems shut, one alone is sent to see.
    """
    due = [mine[0] for mine in missing if now - mine[0].at >= _rest(mine)]
    return tuple(due[: MOST_ASKED if door_open else 1])


def _rest(mine: Tries) -> timedelta:
    return max(PAUSE, mine[0].at - mine[-1].at) if mine[0].is_again else timedelta(0)


def due_redeliveries(_connection: Connection) -> Sequence[Planned]:
    """By the clock: one look for the whole App."""
    return [Planned(Redeliver(OF_THE_APP))]
