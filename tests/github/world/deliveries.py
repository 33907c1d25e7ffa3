"""Signed webhook deliveries: sent in order per App, logged, never retried by themselves.

Tests may hold deliveries back and release them in another order, twice, or not at all.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from tests.github.clock import Clock
from tests.github.world.http_values import Json
from tests.github.world.state import AppRecord, Ids

RETENTION_SECONDS = 3 * 24 * 3600
ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """An attempt to deliver one event; `status_code` is 0 until (and unless) answered."""

    id: int
    guid: str
    app: AppRecord
    event: str
    action: str | None
    body: bytes
    headers: dict[str, str]
    url: str
    installation_id: int | None
    repository_id: int | None
    delivered_at: float
    redelivery: bool = False
    duration: float = 0.0
    status: str = "PENDING"
    status_code: int = 0

    @property
    def payload(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


def build_headers(app: AppRecord, event: str, guid: str, body: bytes) -> dict[str, str]:
    """The headers GitHub sends with a delivery."""
    secret = app.webhook_secret.encode()
    return {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": f"GitHub-Hookshot/{guid[:7]}",
        "X-GitHub-Delivery": guid,
        "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": str(app.hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-Hub-Signature": "sha1=" + hmac.new(secret, body, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
    }


class Deliveries:
    """The delivery log, and one sender for each App."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self.log: dict[int, Delivery] = {}
        self.answer_seconds = ANSWER_SECONDS
        self.held: list[int] | None = None
        """Ids of deliveries held back, or None when they flow."""
        self._queues: dict[int, deque[int]] = {}
        self._senders: dict[int, asyncio.Task[None]] = {}
        self._client: httpx.AsyncClient | None = None

    def add(self, app: AppRecord, event: str, payload: Json) -> Delivery:
        """Log a new delivery and queue it."""
        body = json.dumps(payload, separators=(",", ":")).encode()
        guid = self._ids.guid()
        repository = payload.get("repository") or {}
        installation = payload.get("installation") or {}
        delivery = Delivery(
            id=self._ids.next("delivery"),
            guid=guid,
            app=app,
            event=event,
            action=payload.get("action"),
            body=body,
            headers=build_headers(app, event, guid, body),
            url=app.webhook_url,
            installation_id=installation.get("id"),
            repository_id=repository.get("id"),
            delivered_at=self._clock.now(),
        )
        self.log[delivery.id] = delivery
        if self.held is None:
            self._enqueue(delivery)
        else:
            self.held.append(delivery.id)
        return delivery

    def redeliver(self, delivery: Delivery) -> Delivery:
        """Send the same body under the same GUID again, as a new attempt."""
        again = replace(
            delivery,
            id=self._ids.next("delivery"),
            url=delivery.app.webhook_url,
            delivered_at=self._clock.now(),
            redelivery=True,
            status="PENDING",
            status_code=0,
        )
        self.log[again.id] = again
        self._enqueue(again)
        return again

    def list_retained(self) -> list[Delivery]:
        """Return the finished deliveries of the last three days, newest first."""
        oldest = self._clock.now() - RETENTION_SECONDS
        kept = [d for d in self.log.values() if d.delivered_at >= oldest and d.status != "PENDING"]
        return sorted(kept, key=lambda d: d.id, reverse=True)

    def hold(self) -> None:
        """Keep deliveries back from now on."""
        self.held = self.held if self.held is not None else []

    def release(self, order: Sequence[int] | None) -> int:
        """Let held deliveries flow: all in order, or those at the given positions.

        A repeated position is sent twice under one GUID; a missing position is dropped.
        """
        held, self.held = self.held or [], None
        positions = order if order is not None else range(len(held))
        seen: set[int] = set()
        for position in positions:
            delivery = self.log[held[position]]
            if delivery.id in seen:
                self.redeliver(delivery)
            else:
                seen.add(delivery.id)
                self._enqueue(delivery)
        for dropped in set(held) - seen:
            del self.log[dropped]
        return len(held)

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until nothing is queued or under way; False if the time ran out first."""
        deadline = time.monotonic() + timeout_seconds
        while any(not task.done() for task in self._senders.values()):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.005)
        return True

    async def close(self) -> None:
        """Stop sending."""
        for task in self._senders.values():
            task.cancel()
        await asyncio.gather(*self._senders.values(), return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _enqueue(self, delivery: Delivery) -> None:
        queue = self._queues.setdefault(delivery.app.id, deque())
        queue.append(delivery.id)
        sender = self._senders.get(delivery.app.id)
        if sender is None or sender.done():
            self._senders[delivery.app.id] = asyncio.create_task(self._send_all(queue))

    async def _send_all(self, queue: deque[int]) -> None:
        while queue:
            delivery_id = queue.popleft()
            self.log[delivery_id] = await self._send(self.log[delivery_id])

    async def _send(self, delivery: Delivery) -> Delivery:
        if self._client is None:
            self._client = httpx.AsyncClient(trust_env=False)
        if not delivery.url:
            return replace(delivery, status="No webhook URL")
        started = time.monotonic()
        try:
            answer = await self._client.post(
                delivery.url,
                content=delivery.body,
                headers=delivery.headers,
                timeout=self.answer_seconds,
            )
        except httpx.TimeoutException:
            return replace(delivery, status="timed out", duration=time.monotonic() - started)
        except httpx.HTTPError:
            return replace(
                delivery, status="failed to connect to host", duration=time.monotonic() - started
            )
        return replace(
            delivery,
            status="OK" if answer.is_success else answer.reason_phrase or "Error",
            status_code=answer.status_code,
            duration=round(time.monotonic() - started, 3),
        )
