"""`r4p doctor` on webhooks: whether GitHub's last delivery arrived, and which ones the bot or a proxy refused."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from app.github.api.delivery_log import (
    DeliveryAttempt,
    find_refused,
    list_attempts,
    redeliver,
)
from app.github.app_manifest import WEBHOOK_PATH
from app.github.errors import GitHubError
from app.github.http.connection import AppConnection
from app.operator.doctor.finding import Line, Mark
from app.settings import IdentitySettings, PagesSettings, QueueSettings, load

PERIOD: Final = timedelta(days=1)
MOST_READ: Final = 5_000
"""Most attempts of GitHub's list that are read, 100 with each call."""
PING_SECONDS: Final = 10.0
"""Longest wait for a ping that GitHub sends again."""
_FIXES: Final = {
    400: "let the proxy in front of the bot pass the headers X-GitHub-*",
    401: "set R4P_WEBHOOK_SECRET to the App's webhook secret",
    408: "let the proxy in front of the bot pass a body within 8 seconds",
    413: "let the proxy in front of the bot pass bodies of 25 MB",
}
_OTHER_FIX: Final = "check the App's webhook URL and the proxy in front of the bot"


def check_webhooks(github: AppConnection) -> list[Line]:
    """Read GitHub's list of the App's deliveries of the last day. An unreadable list is not good news.

    A new App has no events yet. GitHub then sends its ping again, so that the way to the bot is tried at once.
    """
    try:
        tried = list(islice(list_attempts(github, datetime.now(UTC) - PERIOD), MOST_READ))
    except GitHubError as error:
        return [Line(Mark.LESS, "webhooks", f"GitHub's list of deliveries cannot be read: {error}")]
    if (ping := find_lost_ping(tried)) and (answer := _send_again(github, ping)):
        tried = [answer, *tried]
    return [describe_last(tried), describe_attempts(tried)]


def find_lost_ping(tried: Sequence[DeliveryAttempt]) -> DeliveryAttempt | None:
    """Return the newest attempt at the ping if none arrived and there is nothing else to judge by, else None (pure)."""
    if not all(attempt.is_ping for attempt in tried) or any(a.has_arrived for a in tried):
        return None
    return next(iter(tried), None)


def _send_again(github: AppConnection, ping: DeliveryAttempt) -> DeliveryAttempt | None:
    """Let GitHub send a ping again, and return the new attempt; None if GitHub lists none in time, or refuses."""
    ends = time.monotonic() + PING_SECONDS
    try:
        redeliver(github, ping.id)
        while time.monotonic() < ends:
            newest = next(list_attempts(github, ping.tried_at), ping)
            if newest.id != ping.id:
                return newest
            time.sleep(0.5)
    except GitHubError:
        return None
    return None


def describe_polling() -> Line:
    """Describe a bot that reads its events from GitHub's list and needs no webhook."""
    return Line(Mark.OK, "webhooks", _explain_polling())


def describe_address(url: str) -> str:
    """Return where GitHub sends webhooks to, in one sentence. `url` is the local base URL of the web process."""
    if load(IdentitySettings).ingress == "polling":
        return _explain_polling()
    public_url = load(PagesSettings).public_url
    if public_url:
        return f"{public_url}{WEBHOOK_PATH}, which your TLS proxy passes to {url}"
    return f"{url}{WEBHOOK_PATH}, behind your TLS proxy"


def _explain_polling() -> str:
    return f"not needed: the bot asks GitHub every {load(QueueSettings).poll_seconds:g} s"


def describe_last(tried: Sequence[DeliveryAttempt]) -> Line:
    """Describe the newest of GitHub's attempts, which are sorted from new to old (pure).

    A ping counts only where there is no event, and only if it arrived: GitHub sends the first one when the App is
    created, before the bot can answer it.
    """
    about = "last webhook"
    events = [attempt for attempt in tried if not attempt.is_ping]
    if not events:
        return _describe_pings(tried)
    newest = events[0]
    when = f"{newest.tried_at:%Y-%m-%d %H:%M} UTC"
    if newest.has_arrived:
        return Line(Mark.OK, about, f"arrived at {when}")
    answer = f"status {newest.status_code}" if newest.status_code else "no answer"
    fix = _FIXES.get(newest.status_code, _OTHER_FIX)
    text = f"did not arrive at {when} ({answer})"
    if any(attempt.has_arrived for attempt in events):
        return Line(Mark.LESS, about, text, fix)
    return Line(Mark.FAIL, about, f"{text}, nor did any other of the last day", fix)


def _describe_pings(pings: Sequence[DeliveryAttempt]) -> Line:
    about, none = "last webhook", "GitHub sent none"
    if not pings:
        fix = "comment on an issue of an installed repository, then look again"
        return Line(Mark.LESS, about, f"{none} in the last day", fix)
    if any(ping.has_arrived for ping in pings):
        return Line(Mark.OK, about, f"{none} in the last day but a ping, which arrived")
    status = pings[0].status_code
    answer = f"status {status}" if status else "no answer"
    fix = f"start the bot; then {_FIXES.get(status, _OTHER_FIX)}"
    return Line(Mark.LESS, about, f"{none} but a ping, which did not arrive ({answer})", fix)


def describe_attempts(tried: Sequence[DeliveryAttempt]) -> Line:
    """Describe the refused webhooks among GitHub's attempts, newest first (pure). Pings do not count."""
    about = "webhooks"
    period = "in the last day" if len(tried) < MOST_READ else f"in the newest {MOST_READ} attempts"
    refused = find_refused([attempt for attempt in tried if not attempt.is_ping])
    if not refused:
        return Line(Mark.OK, about, f"GitHub saw none refused {period}")
    statuses = Counter(refused.values())
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    fixes = dict.fromkeys(_FIXES.get(status, _OTHER_FIX) for status in sorted(statuses))
    return Line(
        Mark.LESS,
        about,
        f"GitHub saw {len(refused)} refused {period} ({counts}), such as {next(iter(refused))}",
        f"{'; '.join(fixes)}; then redeliver them on the App's page, under Advanced",
    )
