"""Ask GitHub to redeliver lost webhooks; GitHub does not retry and forgets them after three days."""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from typing import Final

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import webhook_state
from app.db.store.queue import upkeep
from app.github.api import delivery_log
from app.github.api.delivery_log import DeliveryAttempt
from app.github.errors import NotFound, Unprocessable
from app.github.http.connection import GitHub
from app.jobs.job import OF_THE_APP, Planned, Redeliver
from app.values.identifiers import DeliveryGuid
from worker.queue.context import Context
from worker.queue.errors import Postponed

KEPT: Final = timedelta(days=3)
"""How long GitHub remembers a delivery."""
UNDER_WAY: Final = timedelta(minutes=5)
"""GitHub lists an attempt after it ended, which takes at most this time."""
PAUSE: Final = timedelta(minutes=1)
MOST_READ: Final = 10_000
MOST_ASKED: Final = 100
"""Most redeliveries of one run."""
REFUSED: Final = frozenset({400, 413})
"""Status codes with which the webhook refuses a request for good."""

log = logging.getLogger(__name__)


def request_redeliveries(github: GitHub, context: Context, _job: Redeliver) -> None:
    """Ask GitHub to redeliver webhooks that never arrived, by comparing its deliveries with the stored ones.

    Raises Postponed while webhooks are missing; the job's next attempt then compares the same period again. An attempt
    that finds none missing ends the job. The next job's period begins 5 minutes before that attempt.
    """
    now = datetime.now(UTC)
    with transaction(context.database) as connection:
        settled = upkeep.find_last_done(connection, Redeliver.kind)
    since = max(now - KEPT, settled - UNDER_WAY) if settled else now - KEPT
    tried = list(islice(delivery_log.list_attempts(github, since), MOST_READ))
    failed = {attempt.guid for attempt in tried if not attempt.has_arrived}
    with transaction(context.database) as connection:
        stored = webhook_state.find_stored(connection, failed)
    if warning := describe_refused(tried, stored):
        log.warning(warning)
    missing = find_missed(tried, stored)
    asked = choose_redeliveries(missing, now, door_open=tried[0].has_arrived) if missing else ()
    for attempt in asked:
        context.check()
        _ask(github, attempt)
    if missing:
        raise Postponed(
            f"{len(missing)} webhooks have not arrived; asked GitHub for {len(asked)} again",
            after_seconds=PAUSE.total_seconds(),
        )


def describe_refused(
    tried: Sequence[DeliveryAttempt], stored: Collection[DeliveryGuid]
) -> str | None:
    """Describe the webhooks whose newest attempt was refused for good, with the fix; None: there are none (pure).

    The bot refuses no webhook of GitHub, so a proxy in front of it is the likely cause.
    """
    refused = {
        guid: status
        for guid, status in delivery_log.find_refused(tried).items()
        if status in REFUSED and guid not in stored
    }
    if not refused:
        return None
    counts = ", ".join(f"{code}: {n}" for code, n in sorted(Counter(refused.values()).items()))
    return (
        f"{len(refused)} webhooks were refused and are lost ({counts}), such as {next(iter(refused))}: "
        "let the proxy in front of the bot pass bodies of 25 MB and the headers X-GitHub-*"
    )


def _ask(github: GitHub, attempt: DeliveryAttempt) -> None:
    """Request one redelivery; a refusal is only logged, so that the others follow."""
    try:
        delivery_log.redeliver(github, attempt.id)
    except (NotFound, Unprocessable) as error:
        log.warning("webhook %s is not sent again: %s", attempt.guid, error)


Tries = tuple[DeliveryAttempt, ...]
"""All attempts at one webhook, newest first."""


def find_missed(
    tried: Sequence[DeliveryAttempt], stored: Collection[DeliveryGuid]
) -> tuple[Tries, ...]:
    """Return one tuple per webhook that never arrived: GitHub's attempts to deliver it, newest first (pure).

    The oldest webhook comes first. `tried` holds all of GitHub's attempts, and `stored` the deliveries that the bot
    has. Webhooks that suspend or resume an installation have no time in their payload. Only the last of them counts,
    because an earlier one would undo it.
    """
    by_guid = sorted(tried, key=lambda attempt: (attempt.guid, -attempt.id))
    every = [tuple(mine) for _, mine in groupby(by_guid, key=lambda attempt: attempt.guid)]
    begun = [
        mine for mine in every if not mine[-1].is_redelivery
    ]  # else its first attempt lies before the settled time
    last_word = {mine[-1].switches: mine[-1].id for mine in sorted(begun, key=_get_first_id)}
    never = [
        mine
        for mine in begun
        if mine[0].guid not in stored
        and (mine[-1].switches is None or mine[-1].id == last_word[mine[-1].switches])
        and mine[0].status_code not in REFUSED
        and not any(attempt.has_arrived for attempt in mine)
        and mine[0].tried_at - mine[-1].tried_at < KEPT / 2
    ]
    return tuple(sorted(never, key=_get_first_id))


def _get_first_id(mine: Tries) -> int:
    return mine[-1].id


def choose_redeliveries(missing: Sequence[Tries], now: datetime, *, door_open: bool) -> Tries:
    """Choose the lost webhook deliveries that GitHub should send again now (pure).

    `missing` holds GitHub's attempts per webhook, newest first; the result holds the newest of each chosen one. The
    wait between two attempts doubles, so GitHub sends a webhook about ten times in all. If `door_open` is False, the
    webhook's URL seems down, and only one delivery is chosen.
    """
    rested = [mine[0] for mine in missing if _has_rested(mine, now)]
    return tuple(rested[: MOST_ASKED if door_open else 1])


def _has_rested(mine: Tries, now: datetime) -> bool:
    """Return whether the wait since the newest attempt is over.

    A first attempt needs none, so a difference between GitHub's clock and this machine's cannot hold it back.
    """
    newest, oldest = mine[0], mine[-1]
    if not newest.is_redelivery:
        return True
    return now - newest.tried_at >= max(PAUSE, newest.tried_at - oldest.tried_at)


def plan_redelivery(_connection: Connection) -> Sequence[Planned]:
    """Return the job that searches for lost webhooks of the whole App."""
    return [Planned(Redeliver(OF_THE_APP))]
