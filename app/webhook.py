"""POST /api/github/webhooks: cap, verify, read, decide, commit, 202, and only then the doorbell.

The reply waits for the database alone: never for GitHub, the broker or a model.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psycopg import OperationalError
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from app.db.store.deliveries import Accepted, Delivery, Pool, accept
from app.dispatch import BackgroundDoorbell
from app.events import Ignored
from app.github.signature import HEADER, BadSignature, VerifiedBody, verify
from app.identifiers import DeliveryGuid, InstallationId, RepositoryId
from app.ignored import IgnoredCounts
from app.jobs import Planned
from app.metrics import Metrics

PATH: Final = "/api/github/webhooks"
COMMIT_SECONDS: Final = 4.0
"""GitHub waits 10 s; what is not committed by now is refused, so that it can be redelivered."""

_EVENT: Final = re.compile(r"[a-z_]{1,64}")
_GUID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whose data a delivery is about, and what to do because of it."""

    installation: InstallationId
    repository: RepositoryId | None
    planned: tuple[Planned, ...]


Decide = Callable[[str, DeliveryGuid, VerifiedBody], Decision | Ignored]
"""Event name, delivery and body to what follows from them. Pure, and never raises."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the door lets in."""

    secrets: tuple[bytes, ...]
    max_body_bytes: int


class Refused(Exception):
    """A request that is not a delivery we can take."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Door:
    """The one way in for GitHub's events."""

    limits: Limits
    decide: Decide
    pool: Pool
    doorbell: BackgroundDoorbell
    ignored: IgnoredCounts
    metrics: Metrics

    async def receive(self, request: Request) -> Response:
        """Answer one request; a 2xx says that the delivery is committed, or of no interest."""
        try:
            body = await _body(request, self.limits.max_body_bytes)
            proven = _proven(request, body, self.limits.secrets)
            event, guid = _header(request, "X-GitHub-Event", _EVENT), _guid(request)
        except Refused as refused:
            self.metrics.add("r4p_deliveries_total", event="", outcome=f"refused_{refused.status}")
            return _answer(refused.status, status="refused", error=str(refused))
        decision = self.decide(event, guid, proven)
        if isinstance(decision, Ignored):
            self.ignored.add(decision.reason)
            self.metrics.add("r4p_deliveries_total", event=event, outcome="ignored")
            return _answer(202, status="ignored", delivery=guid, reason=decision.reason)
        return await self._keep(
            Delivery(guid, event, decision.installation, decision.repository, proven), decision
        )

    async def _keep(self, delivery: Delivery, decision: Decision) -> Response:
        accepted = await _within(COMMIT_SECONDS, self.pool, delivery, decision.planned)
        outcome = accepted.outcome.value if accepted else "unavailable"
        self.metrics.add("r4p_deliveries_total", event=delivery.event, outcome=outcome)
        if accepted is None:
            return _answer(503, status="unavailable", delivery=delivery.guid)
        response = _answer(202, status=outcome, delivery=delivery.guid)
        response.background = BackgroundTask(self._ring, accepted)
        return response

    async def _ring(self, accepted: Accepted) -> None:
        self.doorbell.ring_soon(accepted.jobs)


async def _within(
    seconds: float, pool: Pool, delivery: Delivery, planned: tuple[Planned, ...]
) -> Accepted | None:
    """The committed delivery; None when the database is away or does not answer in time."""
    task = asyncio.ensure_future(accept(pool, delivery, planned))
    # Not asyncio.timeout: it would wait for the cancelled statement, which asks the database.
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.add_done_callback(_retrieved)
        task.cancel()
        return None
    try:
        return task.result()
    except OperationalError:
        return None


def _retrieved(task: asyncio.Task[Accepted]) -> None:
    if not task.cancelled():
        task.exception()


async def _body(request: Request, limit: int) -> bytes:
    """The body, read no further than the limit."""
    too_large = f"the body is larger than {limit} bytes"
    if int(_header(request, "Content-Length", re.compile(r"[0-9]{1,15}"), default="0")) > limit:
        raise Refused(413, too_large)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise Refused(413, too_large)
        chunks.append(chunk)
    return b"".join(chunks)


def _proven(request: Request, body: bytes, secrets: tuple[bytes, ...]) -> VerifiedBody:
    claims = request.headers.getlist(HEADER)
    try:
        return verify(body, ",".join(claims) if claims else None, secrets)
    except BadSignature as error:
        raise Refused(401, str(error)) from error


def _guid(request: Request) -> DeliveryGuid:
    return DeliveryGuid(_header(request, "X-GitHub-Delivery", _GUID))


def _header(
    request: Request, name: str, shape: re.Pattern[str], *, default: str | None = None
) -> str:
    value = request.headers.get(name, default)
    if value is None or not shape.fullmatch(value):
        raise Refused(400, f"the header {name} is missing or not like {shape.pattern}")
    return value


def _answer(code: int, **fields: str) -> Response:
    return Response(json.dumps(fields), code, media_type="application/json")
