"""What we ask as the App itself rather than as one of its installations: which webhooks arrived."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from app.github.api_call import Call, Method, Response
from app.github.http.connection import GitHub
from app.github.http.transport import PER_PAGE
from app.github.wire import rest
from app.values.identifiers import DeliveryGuid, InstallationId


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt of GitHub to deliver a webhook; attempts at one webhook share the GUID."""

    id: int
    guid: DeliveryGuid
    at: datetime
    status_code: int
    """What our door answered; 0, or a 5xx of GitHub's own, when it did not."""
    is_redelivery: bool
    """Not the first attempt."""
    switches: InstallationId | None = None
    """The installation that it suspends or wakes; None: it is about something else."""

    @property
    def has_arrived(self) -> bool:
        """Whether we said 2xx."""
        return 200 <= self.status_code < 300


def list_attempts(github: GitHub, since: datetime) -> Iterator[DeliveryAttempt]:
    """Attempts made since then, newest first, read page by page as they are taken.

    GitHub keeps them for three days; one that is under way is not among them.
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
        at=item.delivered_at,
        status_code=item.status_code,
        is_redelivery=item.redelivery,
        switches=InstallationId(installation) if switches and installation else None,
    )


def redeliver(github: GitHub, attempt: int) -> None:
    """Have GitHub send it again under its old GUID. Doing it twice does no harm."""
    path = f"/app/hook/deliveries/{attempt}/attempts"
    github.send_as_app(Call(Method.POST, path, changes=False))


def _next_cursor(answer: Response) -> str | None:
    for link in answer.headers.get("link", "").split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            query = parse_qs(urlsplit(address.strip(" <>")).query)
            return query.get("cursor", [None])[0]
    return None
