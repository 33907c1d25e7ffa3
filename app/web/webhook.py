"""POST /api/github/webhooks: check headers, read the body, verify, decide, commit, 202, ring the doorbell.

The reply waits for the database alone: never for GitHub, the broker or a model.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from psycopg import OperationalError
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app.db.store.queue.deliveries import Accepted, Delivery, Pool, accept
from app.dispatch import BackgroundDoorbell
from app.events import Ignored
from app.jobs.job import Planned
from app.metrics import Metrics
from app.values.identifiers import DeliveryGuid, InstallationId, RepositoryId
from app.web.ignored_deliveries import IgnoredCounts
from app.web.signature import HEADER, BadSignature, VerifiedBody, claimed_digest, verify

PATH: Final = "/api/github/webhooks"
COMMIT_SECONDS: Final = 4.0
"""GitHub waits 10 s; what is not committed by now is refused, so that it can be redelivered."""

BODY_SECONDS: Final = 8.0
"""A whole body must arrive in this time; GitHub itself gives up on a delivery after 10 s."""
IN_FLIGHT_BYTES: Final = 100 * 1024 * 1024
"""Bytes of bodies that all requests together may hold before their signatures are checked."""
RETRY_SECONDS: Final = 10
"""What `Retry-After` says when no more bytes are taken."""

_EVENT: Final = re.compile(r"[a-z_]{1,64}")
_GUID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
_UNREAD: Final = frozenset({400, 401, 408, 413, 503})
"""Refusals that may come before the end of the body."""


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
    body_seconds: float = BODY_SECONDS
    in_flight_bytes: int = IN_FLIGHT_BYTES


@dataclass(slots=True)
class InFlight:
    """The bytes that all requests hold now. Only the event loop's thread may use it."""

    limit: int
    held: int = 0

    def take(self, size: int) -> None:
        """Hold more bytes. Raises Refused with 503 when the limit allows no more."""
        if self.held + size > self.limit:
            raise Refused(
                503, f"all requests together hold more than {self.limit} bytes: retry later"
            )
        self.held += size

    def give_back(self, size: int) -> None:
        """Hold fewer bytes."""
        self.held -= size


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
    in_flight: InFlight = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "in_flight", InFlight(self.limits.in_flight_bytes))

    async def receive(self, request: Request) -> Response:
        """Answer one request; a 2xx says that the delivery is committed, or of no interest.

        The headers are judged before a byte of the body is read.
        """
        try:
            _check_declared_size(request, self.limits.max_body_bytes)
            claim = _claim(request)
            event, guid = _header(request, "X-GitHub-Event", _EVENT), _guid(request)
            body = await self._body(request)
            proven = _proven(body, claim, self.limits.secrets)
        except Refused as refused:
            return self._refuse(refused)
        decision = self.decide(event, guid, proven)
        if isinstance(decision, Ignored):
            self.ignored.add(decision.reason)
            self.metrics.count_delivery(event, "ignored")
            return _answer(202, status="ignored", delivery=guid, reason=decision.reason)
        return await self._keep(
            Delivery(guid, event, decision.installation, decision.repository, proven), decision
        )

    async def _keep(self, delivery: Delivery, decision: Decision) -> Response:
        accepted = await _within(COMMIT_SECONDS, self.pool, delivery, decision.planned)
        outcome = accepted.outcome.value if accepted else "unavailable"
        self.metrics.count_delivery(delivery.event, outcome)
        if accepted is None:
            return _answer(503, status="unavailable", delivery=delivery.guid)
        response = _answer(202, status=outcome, delivery=delivery.guid)
        response.background = BackgroundTask(self._ring, accepted)
        return response

    def _refuse(self, refused: Refused) -> Response:
        self.metrics.count_delivery("", f"refused_{refused.status}")
        answer = _answer(refused.status, status="refused", error=str(refused))
        if refused.status == 503:
            answer.headers["Retry-After"] = str(RETRY_SECONDS)
        if refused.status in _UNREAD:
            # Part of the body may be unread: the connection is of no use to a next request.
            answer.headers["Connection"] = "close"
        return answer

    async def _body(self, request: Request) -> bytes:
        """The whole body, within the time and the bytes that are allowed."""
        held = _Held(self.in_flight)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                return await _read(request, self.limits.max_body_bytes, held)
        except TimeoutError:
            seconds = self.limits.body_seconds
            raise Refused(408, f"the body did not arrive within {seconds:g} s") from None
        except ClientDisconnect:
            raise Refused(400, "the connection ended before the body did") from None
        finally:
            held.release()

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


@dataclass(slots=True)
class _Held:
    """What one request holds of what all may hold: bytes that arrived, since announcing is free."""

    in_flight: InFlight
    size: int = 0

    def take(self, size: int) -> None:
        self.in_flight.take(size)
        self.size += size

    def release(self) -> None:
        self.in_flight.give_back(self.size)
        self.size = 0


async def _read(request: Request, limit: int, held: _Held) -> bytes:
    """The body, read no further than the limit: a chunked one declares no size.

    A body for which there is no room is read on and dropped: a connection that closes with unread
    bytes is reset, and the sender would never see the 503.
    """
    chunks: list[bytes] = []
    size, full = 0, None
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        if full is not None:
            continue
        try:
            held.take(len(chunk))
            chunks.append(chunk)
        except Refused as refused:
            full = refused
            chunks.clear()
            held.release()
    if full is not None:
        raise full
    return b"".join(chunks)


def _too_large(limit: int) -> Refused:
    return Refused(413, f"the body is larger than {limit} bytes")


def _check_declared_size(request: Request, limit: int) -> None:
    declared = _header(request, "Content-Length", re.compile(r"[0-9]{1,15}"), default="0")
    if int(declared) > limit:
        raise _too_large(limit)


def _claim(request: Request) -> str | None:
    """The signature as it was sent, checked for its form only."""
    claims = request.headers.getlist(HEADER)
    claim = ",".join(claims) if claims else None
    try:
        claimed_digest(claim)
    except BadSignature as error:
        raise Refused(401, str(error)) from error
    return claim


def _proven(body: bytes, claim: str | None, secrets: tuple[bytes, ...]) -> VerifiedBody:
    try:
        return verify(body, claim, secrets)
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
