"""What we ask as the App itself rather than as one of its installations."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qs, quote, urlsplit

from pydantic import SecretStr

from app.github import wire
from app.github.calls import Answer, Call, Method
from app.github.connection import Connection
from app.github.redaction import remember
from app.github.transport import PER_PAGE, Transport
from app.identifiers import DeliveryGuid, InstallationId


@dataclass(frozen=True, slots=True)
class AppFacts:
    """Our App as GitHub has it on record."""

    id: int
    slug: str
    permissions: tuple[tuple[str, str], ...]
    """Name and level, sorted by name."""
    events: tuple[str, ...]

    @property
    def login(self) -> str:
        """The name our comments stand under."""
        return f"{self.slug}[bot]"


@dataclass(frozen=True, slots=True)
class InstallationFacts:
    """One account that installed us."""

    id: InstallationId
    account: str | None
    is_suspended: bool


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """One attempt of GitHub to deliver a webhook; attempts of one webhook share the GUID."""

    id: int
    guid: DeliveryGuid
    delivered_at: datetime
    status_code: int
    event: str
    action: str | None

    @property
    def arrived(self) -> bool:
        """Whether we said 2xx."""
        return 200 <= self.status_code < 300


@dataclass(frozen=True, slots=True)
class NewApp:
    """What GitHub hands out, once, when an App is registered from a manifest."""

    id: int
    slug: str
    private_key: SecretStr
    webhook_secret: SecretStr | None
    html_url: str


def whoami(github: Connection) -> AppFacts:
    """Our App. Raises Unauthorized when key, App id or clock are wrong."""
    call = Call(Method.GET, "/app")
    said = wire.read(wire.AppInfo, call, github.as_app(call))
    return AppFacts(said.id, said.slug, tuple(sorted(said.permissions.items())), said.events)


def installations(github: Connection) -> tuple[InstallationFacts, ...]:
    """Every account that installed us."""
    found: list[InstallationFacts] = []
    page = 1
    while True:
        call = Call(Method.GET, "/app/installations", {"per_page": PER_PAGE, "page": page})
        answer = github.as_app(call)
        for item in wire.read(tuple[wire.Installation, ...], call, answer):
            account = item.account.login if item.account else None
            suspended = item.suspended_at is not None
            found.append(InstallationFacts(InstallationId(item.id), account, suspended))
        if 'rel="next"' not in answer.headers.get("link", ""):
            return tuple(found)
        page += 1


def deliveries(github: Connection, since: datetime) -> Iterator[DeliveryFacts]:
    """Attempts made since then, newest first, read page by page as they are taken."""
    cursor: str | None = None
    while True:
        query: dict[str, str | int] = {"per_page": PER_PAGE}
        if cursor is not None:
            query["cursor"] = cursor
        call = Call(Method.GET, "/app/hook/deliveries", query)
        answer = github.as_app(call)
        for item in wire.read(tuple[wire.HookDelivery, ...], call, answer):
            if item.delivered_at < since:
                return
            yield _delivery(item)
        cursor = _next_cursor(answer)
        if cursor is None:
            return


def redeliver(github: Connection, delivery_id: int) -> None:
    """Have GitHub send it again under its old GUID. Doing it twice does no harm."""
    path = f"/app/hook/deliveries/{delivery_id}/attempts"
    github.as_app(Call(Method.POST, path, changes=False))


def register(transport: Transport, code: str) -> NewApp:
    """Exchange a manifest's code, good once and for an hour, for the App it made."""
    call = Call(Method.POST, f"/app-manifests/{quote(code, safe='')}/conversions")
    said = wire.read(wire.Manifest, call, transport.send(call, None))
    remember(said.pem)
    if said.webhook_secret is not None:
        remember(said.webhook_secret)
    secret = None if said.webhook_secret is None else SecretStr(said.webhook_secret)
    return NewApp(said.id, said.slug, SecretStr(said.pem), secret, said.html_url)


def _delivery(item: wire.HookDelivery) -> DeliveryFacts:
    return DeliveryFacts(
        id=item.id,
        guid=DeliveryGuid(item.guid),
        delivered_at=item.delivered_at,
        status_code=item.status_code,
        event=item.event,
        action=item.action,
    )


def _next_cursor(answer: Answer) -> str | None:
    for link in answer.headers.get("link", "").split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            query = parse_qs(urlsplit(address.strip(" <>")).query)
            return query.get("cursor", [None])[0]
    return None
