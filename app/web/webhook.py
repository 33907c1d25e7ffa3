"""Answers POST /api/github/webhooks: check the headers, read the body, verify, decide, commit, reply, ring the
doorbell.

The reply waits for the database, and never for GitHub, the broker or a model.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from psycopg import OperationalError
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app import logs, tracing
from app.db.store.queue.deliveries import AcceptedDelivery, Delivery, Pool, accept
from app.dispatch import BackgroundDoorbell
from app.events import Ignored
from app.github.app_manifest import WEBHOOK_PATH
from app.jobs.job import Planned
from app.metrics import Metrics, Refusal
from app.policy.delivery_decision import Decision
from app.values.identifiers import DeliveryGuid
from app.web.ignored_deliveries import IgnoredCounts
from app.web.signature import HEADER, BadSignature, VerifiedBody, parse_claim, verify

log = logging.getLogger(__name__)
PATH: Final = WEBHOOK_PATH
COMMIT_SECONDS: Final = 4.0
"""Seconds for the commit. A commit that takes longer is answered with 503, so that GitHub shows a failure.

It may succeed all the same. A redelivery has the same GUID, which is stored once.
"""

BODY_SECONDS: Final = 8.0
"""Seconds in which the whole body must arrive. GitHub gives up on a delivery after 10 s."""
IN_FLIGHT_BYTES: Final = 100 * 1024 * 1024
"""Most bytes of bodies that all requests together hold before their signatures are checked."""
RETRY_SECONDS: Final = 10
"""Value of `Retry-After` when no more bytes fit."""
_STATUSES: Final = {
    Refusal.HEADER: 400,
    Refusal.DISCONNECT: 400,
    Refusal.SIGNATURE: 401,
    Refusal.TIMEOUT: 408,
    Refusal.SIZE: 413,
    Refusal.MEMORY: 503,
}

_EVENT: Final = re.compile(r"[a-z0-9_]{1,64}")
_GUID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


Decide = Callable[[str, DeliveryGuid, VerifiedBody], Decision | Ignored]
"""Turns event name, delivery id and body into a decision. Pure, and never raises."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of webhook requests in bytes and seconds, and the webhook secrets."""

    secrets: tuple[bytes, ...]
    max_body_bytes: int
    body_seconds: float = BODY_SECONDS
    in_flight_bytes: int = IN_FLIGHT_BYTES


@dataclass(slots=True)
class InFlight:
    """Counts the bytes of all webhook requests' bodies that are still being received, up to a limit.

    Only the event loop's thread may use it.
    """

    limit: int
    held: int = 0

    def reserve(self, size: int) -> None:
        """Count `size` more bytes of a request's body. Raises RequestRejected with status 503 above the limit."""
        if self.held + size > self.limit:
            raise RequestRejected(
                Refusal.MEMORY,
                f"all requests together hold more than {self.limit} bytes: retry later",
            )
        self.held += size

    def release(self, size: int) -> None:
        """Count `size` fewer bytes, which a request has reserved before."""
        self.held -= size


class RequestRejected(Exception):
    """The bot rejects a request to the webhook. `status` is the HTTP status of the answer."""

    def __init__(self, reason: Refusal, why: str) -> None:
        super().__init__(why)
        self.reason, self.status = reason, _STATUSES[reason]


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """Receives GitHub's webhooks: it verifies, stores and answers each request."""

    limits: RequestLimits
    decide: Decide
    pool: Pool
    doorbell: BackgroundDoorbell
    ignored: IgnoredCounts
    metrics: Metrics
    in_flight: InFlight = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "in_flight", InFlight(self.limits.in_flight_bytes))

    async def receive(self, request: Request) -> Response:
        """Verify one webhook request, store its delivery with its jobs, and return the answer.

        A 2xx means that the delivery is committed or ignored. The method checks the headers before it reads the body.
        """
        try:
            _check_declared_size(request, self.limits.max_body_bytes)
            claim = _read_claim(request)
            event, guid = _read_header(request, "X-GitHub-Event", _EVENT), _read_guid(request)
            body = await self._read_body(request)
            verified = _verify_body(body, claim, self.limits.secrets)
        except RequestRejected as refused:
            return self._refuse(refused)
        # Uvicorn runs each request as a task, so its line about an error names the delivery, too.
        logs.add_ids(delivery=guid)
        decision = self.decide(event, guid, verified)
        if isinstance(decision, Ignored):
            self.ignored.add(decision.reason)
            self.metrics.count_delivery(event, "ignored")
            log.debug("%s is ignored: %s", event, decision.reason)
            return _build_response(202, status="ignored", delivery=guid, reason=decision.reason)
        stored = Delivery(guid, event, decision.installation, decision.repository, verified)
        with tracing.trace_work(f"webhook {event}", guid, installation=decision.installation):
            return await self._keep(stored, decision)

    async def _keep(self, delivery: Delivery, decision: Decision) -> Response:
        accepted = await _accept_within(COMMIT_SECONDS, self.pool, delivery, decision.planned)
        outcome = accepted.result.value if accepted else "unavailable"
        self.metrics.count_delivery(delivery.event, outcome)
        if accepted is None:
            log.warning("%s is not stored: the database does not answer", delivery.event)
            return _build_response(503, status="unavailable", delivery=delivery.guid)
        log.debug("%s is stored: %s", delivery.event, outcome)
        response = _build_response(202, status=outcome, delivery=delivery.guid)
        response.background = BackgroundTask(self._ring, accepted)
        return response

    def _refuse(self, refused: RequestRejected) -> Response:
        self.metrics.count_refusal(refused.reason, refused.status)
        answer = _build_response(refused.status, status="refused", error=str(refused))
        if refused.status == 503:
            answer.headers["Retry-After"] = str(RETRY_SECONDS)
        # Unread bytes of the body may follow, so no further request can use the connection.
        answer.headers["Connection"] = "close"
        return answer

    async def _read_body(self, request: Request) -> bytes:
        """Read the whole body within the limits of time and size."""
        held = _RequestBytes(self.in_flight)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                return await _read(request, self.limits.max_body_bytes, held)
        except TimeoutError:
            seconds = self.limits.body_seconds
            raise RequestRejected(
                Refusal.TIMEOUT, f"the body did not arrive within {seconds:g} s"
            ) from None
        except ClientDisconnect:
            raise RequestRejected(
                Refusal.DISCONNECT, "the connection ended before the body did"
            ) from None
        finally:
            held.release()

    async def _ring(self, accepted: AcceptedDelivery) -> None:
        self.doorbell.ring_soon(accepted.jobs)


async def _accept_within(
    seconds: float, pool: Pool, delivery: Delivery, planned: tuple[Planned, ...]
) -> AcceptedDelivery | None:
    """Commit the delivery. None: the database is down or does not answer in time."""
    task = asyncio.ensure_future(accept(pool, delivery, planned))
    # asyncio.timeout would wait until the database has cancelled the statement; this returns at once.
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.add_done_callback(_retrieve_error)
        task.cancel()
        return None
    try:
        return task.result()
    except OperationalError:
        return None


def _retrieve_error(task: asyncio.Task[AcceptedDelivery]) -> None:
    if not task.cancelled():
        task.exception()


@dataclass(slots=True)
class _RequestBytes:
    """Bytes of one request that count in `InFlight`. Only bytes that arrived count, not the declared size."""

    in_flight: InFlight
    size: int = 0

    def take(self, size: int) -> None:
        self.in_flight.reserve(size)
        self.size += size

    def release(self) -> None:
        self.in_flight.release(self.size)
        self.size = 0


async def _read(request: Request, limit: int, held: _RequestBytes) -> bytes:
    """Read a body up to the limit, because a chunked body declares no size.

    When no more bytes fit, it drops the rest while reading on. A connection that closes with unread bytes is reset, and
    the sender would never see the 503.
    """
    chunks: list[bytes] = []
    size, full = 0, None
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _reject_size(limit)
        if full is not None:
            continue
        try:
            held.take(len(chunk))
            chunks.append(chunk)
        except RequestRejected as refused:
            full = refused
            chunks.clear()
            held.release()
    if full is not None:
        raise full
    return b"".join(chunks)


def _reject_size(limit: int) -> RequestRejected:
    return RequestRejected(Refusal.SIZE, f"the body is larger than {limit} bytes")


def _check_declared_size(request: Request, limit: int) -> None:
    declared = _read_header(request, "Content-Length", re.compile(r"[0-9]{1,15}"), default="0")
    if int(declared) > limit:
        raise _reject_size(limit)


def _read_claim(request: Request) -> str | None:
    """Return the signature header after a check of its form only."""
    claims = request.headers.getlist(HEADER)
    claim = ",".join(claims) if claims else None
    try:
        parse_claim(claim)
    except BadSignature as error:
        raise RequestRejected(Refusal.SIGNATURE, str(error)) from error
    return claim


def _verify_body(body: bytes, claim: str | None, secrets: tuple[bytes, ...]) -> VerifiedBody:
    try:
        return verify(body, claim, secrets)
    except BadSignature as error:
        raise RequestRejected(Refusal.SIGNATURE, str(error)) from error


def _read_guid(request: Request) -> DeliveryGuid:
    return DeliveryGuid(_read_header(request, "X-GitHub-Delivery", _GUID))


def _read_header(
    request: Request, name: str, shape: re.Pattern[str], *, default: str | None = None
) -> str:
    value = request.headers.get(name, default)
    if value is None or not shape.fullmatch(value):
        raise RequestRejected(
            Refusal.HEADER, f"the header {name} is missing or not like {shape.pattern}"
        )
    return value


def _build_response(code: int, **fields: str) -> Response:
    return Response(json.dumps(fields), code, media_type="application/json")
