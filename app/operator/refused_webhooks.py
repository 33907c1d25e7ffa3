"""What `r4p doctor` says about webhooks that GitHub could not deliver because the bot or a proxy refused them."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from app.github.api.delivery_log import DeliveryAttempt, find_refused, list_attempts
from app.github.endpoints import build_endpoints
from app.github.errors import GitHubError
from app.github.http.auth import App
from app.github.http.connection import AppConnection
from app.github.http.transport import Transport
from app.settings import GitHubSettings, load

PERIOD: Final = timedelta(days=1)
MOST_READ: Final = 5_000
"""Most attempts of GitHub's list that are read, 100 with each call."""
_FIXES: Final = {
    400: "let the proxy in front of the bot pass the headers X-GitHub-*",
    401: "set R4P_WEBHOOK_SECRET to the App's webhook secret",
    408: "let the proxy in front of the bot pass a body within 8 seconds",
    413: "let the proxy in front of the bot pass bodies of 25 MB",
}
_OTHER_FIX: Final = "check the App's webhook URL and the proxy in front of the bot"


def describe_refusals() -> tuple[bool, str]:
    """Read GitHub's list of the App's deliveries of the last day, with the key of the bot's App.

    Returns whether GitHub saw no refusal, and a sentence for the operator. An unreadable list is not good news.
    """
    settings = load(GitHubSettings)
    try:
        app = App(settings.app_id, settings.read_key())
    except ValueError as error:
        return False, str(error)
    connection = AppConnection(app, Transport(build_endpoints(settings.github_url)))
    since = datetime.now(UTC) - PERIOD
    try:
        tried = list(islice(list_attempts(connection, since), MOST_READ))
    except GitHubError as error:
        return False, f"GitHub's list of deliveries cannot be read: {error}"
    finally:
        connection.close()
    return describe_attempts(tried)


def describe_attempts(tried: Sequence[DeliveryAttempt]) -> tuple[bool, str]:
    """Describe the refused webhooks among GitHub's attempts, newest first (pure). Returns as `describe_refusals`."""
    period = "in the last day" if len(tried) < MOST_READ else f"in the newest {MOST_READ} attempts"
    refused = find_refused(tried)
    if not refused:
        return True, f"GitHub saw none refused {period}"
    statuses = Counter(refused.values())
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    fixes = dict.fromkeys(_FIXES.get(status, _OTHER_FIX) for status in sorted(statuses))
    return False, (
        f"GitHub saw {len(refused)} refused {period} ({counts}), such as {next(iter(refused))}: {'; '.join(fixes)}; "
        "then redeliver them on the App's page, under Advanced"
    )
