"""The web process's composition root: settings in, an application out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from fastapi import FastAPI

from app import logs
from app.db.session import engine
from app.db.store.queue import deliveries
from app.dispatch import BackgroundDoorbell, Doorbell
from app.events import Ignored, RepositoryEvent, parse
from app.github.redaction import remember
from app.jobs.job import Planned
from app.metrics import Metrics
from app.policy.event_policy import jobs_for
from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    IdentitySettings,
    LogSettings,
    WebhookSettings,
    check,
    load,
)
from app.values.identifiers import DeliveryGuid
from app.web.health import Health
from app.web.ignored_deliveries import IgnoredCounts
from app.web.signature import VerifiedBody
from app.web.stored_metrics import StoredMetrics
from app.web.webhook import PATH, Decide, Decision, Door, Limits

MAX_CONNECTIONS: Final = 1_000
"""Connections beyond this get a 503 from the server itself; each may hold a buffer of 64 kB."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """All that the web process is told."""

    database: DatabaseSettings
    broker: BrokerSettings
    webhook: WebhookSettings
    identity: IdentitySettings = field(default_factory=lambda: load(IdentitySettings))


def web_settings() -> WebSettings:
    """From the environment. Raises SettingsError with every mistake at once."""
    check(LogSettings, DatabaseSettings, BrokerSettings, WebhookSettings, IdentitySettings)
    return WebSettings(load(DatabaseSettings), load(BrokerSettings), load(WebhookSettings))


def create_app(
    settings: WebSettings, *, decide: Decide | None = None, limits: Limits | None = None
) -> FastAPI:
    """The application; it connects to nothing before it starts.

    `decide` replaces what the bot makes of a delivery, and `limits` what it lets in.
    """
    database_url = settings.database.database_url
    logs.hide_passwords(database_url, settings.broker.redis_url)
    pool = deliveries.pool(database_url, size=settings.database.pool_size)
    database = engine(database_url, pool_size=2)
    metrics, doorbell = Metrics(), Doorbell(settings.broker.redis_url)
    background, ignored = BackgroundDoorbell(doorbell, metrics), IgnoredCounts(pool)
    secrets = tuple(s.get_secret_value().encode() for s in settings.webhook.webhook_secret)
    for secret in secrets:
        remember(secret.decode())
    limits = limits or Limits(secrets, settings.webhook.max_body_bytes)
    decide = decide or decider(settings.identity)
    door = Door(limits, decide, pool, background, ignored, metrics)
    metrics.register(StoredMetrics(database))
    health = Health(database, doorbell, metrics)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await pool.open()
        background.start()
        flushing = asyncio.create_task(ignored.keep_flushing())
        yield
        flushing.cancel()
        with suppress(asyncio.CancelledError):
            await flushing
        await ignored.flush()
        background.stop()
        doorbell.close()
        await pool.close()
        database.dispose()

    app = FastAPI(
        title="R4P bot", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )
    # Plain routes: FastAPI's own argument handling would cost a tenth of the webhook.
    app.add_route(PATH, door.receive, methods=["POST"], include_in_schema=False)
    app.add_route("/healthz", health.alive)
    app.add_route("/readyz", health.ready)
    app.add_route("/metrics", health.scrape)
    return app


def serve(host: str, port: int) -> None:
    """Run the web process until it is told to stop."""
    settings = web_settings()
    logs.configure(load(LogSettings))
    uvicorn.run(
        create_app(settings),
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        log_config=None,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=10,
    )


def decider(identity: IdentitySettings) -> Decide:
    """What the policy makes of deliveries; our own App's echoes are ignored."""

    def decide(event: str, delivery: DeliveryGuid, body: VerifiedBody) -> Decision | Ignored:
        parsed = parse(event, delivery, body, own_app=identity.app_id)
        if isinstance(parsed, Ignored):
            return parsed
        repository = parsed.repository.id if isinstance(parsed, RepositoryEvent) else None
        planned = tuple(Planned(job) for job in jobs_for(parsed, identity.bot_name))
        return Decision(parsed.installation, repository, planned)

    return decide
