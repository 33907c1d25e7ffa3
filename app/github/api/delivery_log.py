"""List GitHub's deliveries of webhooks and request redeliveries, as the App itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app.github.api_call import Call, Method, Response
from app.github.http.connection import AppConnection
from app.github.http.transport import PER_PAGE
from app.github.wire import rest
from app.values.identifiers import DeliveryGuid, InstallationId


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt by GitHub to deliver a webhook; attempts at one webhook share its GUID."""

    id: int
    guid: DeliveryGuid
    tried_at: datetime
    status_code: int
    """HTTP status of the bot's answer. 0, or a 5xx by GitHub, when the bot gave none."""
    is_redelivery: bool
    """False for GitHub's first attempt at this webhook, True for later ones."""
    switches: InstallationId | None = None
    """The installation that the webhook suspends or wakes; None for other webhooks."""
    is_ping: bool = False
    """True for the webhook that GitHub sends when the App is created. It carries no event."""

    @property
    def has_arrived(self) -> bool:
        """Return whether the bot answered this attempt with 2xx."""
        return 200 <= self.status_code < 300


def list_attempts(github: AppConnection, since: datetime) -> Iterator[DeliveryAttempt]:
    """Yield GitHub's attempts to deliver the App's webhooks, newest first, back to the time `since`.

    It reads further pages only as needed. GitHub keeps attempts for three days and lists only ended ones.
    """
    cursor: str | None = None
    while True:
        query: dict[str, str | int] = {"per_page": PER_PAGE}
        if cursor is not None:
            query["cursor"] = cursor
        call = Call(Method.GET, "/app/hook/deliveries", query)
        answer = github.send_as_app(call)
        for item in rest.read_slice(tuple[rest.HookDelivery, ...], call, answer):
            if item.delivered_at < since:
                return
            yield _build_attempt(item)
        cursor = _next_cursor(answer)
        if cursor is None:
            return


def _build_attempt(item: rest.HookDelivery) -> DeliveryAttempt:
    switches = item.event == "installation" and item.action in {"suspend", "unsuspend"}
    installation = item.installation_id
    return DeliveryAttempt(
        id=item.id,
        guid=DeliveryGuid(item.guid),
        tried_at=item.delivered_at,
        status_code=item.status_code,
        is_redelivery=item.redelivery,
        switches=InstallationId(installation) if switches and installation else None,
        is_ping=item.event == "ping",
    )


@dataclass(frozen=True, slots=True)
class RecordedDelivery:
    """A webhook as GitHub recorded it."""

    event: str
    payload: dict[str, Any] | None
    """The body, decoded; None: GitHub holds it no more."""


def read_delivery(github: AppConnection, attempt: int) -> RecordedDelivery:
    """Read the webhook of the delivery attempt `attempt` with its body, whether or not it arrived."""
    call = Call(Method.GET, f"/app/hook/deliveries/{attempt}")
    read = rest.read_slice(rest.DeliverySlice, call, github.send_as_app(call))
    return RecordedDelivery(read.event, read.request.payload)


def find_refused(tried: Sequence[DeliveryAttempt]) -> dict[DeliveryGuid, int]:
    """Return the webhooks whose newest attempt was answered with 4xx, and that status (pure).

    A webhook of which another attempt arrived does not count. `tried` holds GitHub's attempts, newest first.
    """
    arrived = {attempt.guid for attempt in tried if attempt.has_arrived}
    newest: dict[DeliveryGuid, int] = {}
    for attempt in tried:
        newest.setdefault(attempt.guid, attempt.status_code)
    return {
        guid: status
        for guid, status in newest.items()
        if 400 <= status < 500 and guid not in arrived
    }


def redeliver(github: AppConnection, attempt: int) -> None:
    """Ask GitHub to send a webhook again under its old GUID; `attempt` is the id of an earlier delivery attempt.

    A second request does no harm.
    """
    path = f"/app/hook/deliveries/{attempt}/attempts"
    github.send_as_app(Call(Method.POST, path, changes=False))


def _next_cursor(answer: Response) -> str | None:
    for link in answer.headers.get("link", "").split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            query = parse_qs(urlsplit(address.strip(" <>")).query)
            return query.get("cursor", [None])[0]
    return None
