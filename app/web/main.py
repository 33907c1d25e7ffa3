"""Builds the web process from its settings."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from app import logs, tracing
from app.db.store.queue import deliveries
from app.dispatch import BackgroundDoorbell, Doorbell
from app.github.redaction import remember
from app.metrics import Metrics
from app.policy.delivery_decision import build_decide
from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    IdentitySettings,
    LogSettings,
    OperationsSettings,
    PagesSettings,
    WebhookSettings,
    check,
    load,
)
from app.web.health import answer_alive
from app.web.ignored_deliveries import IgnoredCounts
from app.web.listen_address import Listen
from app.web.operations import create_operations_app, serve_operations
from app.web.pages.rendering import list_static_routes
from app.web.webhook import PATH, Decide, RequestLimits, WebhookReceiver

if TYPE_CHECKING:
    from app.web.pages.routes import Pages

log = logging.getLogger(__name__)

MAX_CONNECTIONS: Final = 1_000
"""Most open connections. Uvicorn answers 503 to more, because each may hold a buffer of 64 kB."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """All settings of the web process."""

    database: DatabaseSettings
    broker: BrokerSettings
    webhook: WebhookSettings
    identity: IdentitySettings = field(default_factory=lambda: load(IdentitySettings))
    pages: PagesSettings = field(default_factory=lambda: load(PagesSettings))


def load_web_settings() -> WebSettings:
    """Load the settings of the web process. Raises a SettingsError that lists every mistake."""
    kinds = (DatabaseSettings, BrokerSettings, WebhookSettings, IdentitySettings, PagesSettings)
    check(LogSettings, *kinds, OperationsSettings)
    return WebSettings(load(DatabaseSettings), load(BrokerSettings), load(WebhookSettings))


def create_app(
    settings: WebSettings,
    metrics: Metrics,
    *,
    decide: Decide | None = None,
    limits: RequestLimits | None = None,
) -> FastAPI:
    """Build the FastAPI application that receives webhooks. It opens no connection before the application starts.

    It counts in `metrics`. `decide` replaces the function from `build_decide`, and `limits` replaces the limits of
    requests. None: no replacement.
    """
    database_url = settings.database.database_url
    logs.hide_passwords(database_url, settings.broker.redis_url)
    pool = deliveries.create_pool(database_url, size=settings.database.pool_size)
    doorbell = Doorbell(settings.broker.redis_url)
    background, ignored = BackgroundDoorbell(doorbell, metrics), IgnoredCounts(pool)
    own_limits = _read_limits(settings.webhook)
    decide = decide or build_decide(settings.identity, frozenset(settings.webhook.allowed_accounts))
    door = WebhookReceiver(limits or own_limits, decide, pool, background, ignored, metrics)
    pages = _create_pages(settings, background)

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
        if pages is not None:
            pages.close()
        await pool.close()

    app = FastAPI(
        title="R4P bot", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )

    _add_webhook_routes(app, door, metrics)
    # The set-up needs the stylesheet too.
    app.router.routes.extend([*list_static_routes(), *(pages.routes if pages else ())])
    return app


def _add_webhook_routes(app: FastAPI, door: WebhookReceiver, metrics: Metrics) -> None:
    """Add plain routes, because FastAPI's argument handling costs a tenth of the webhook's time."""

    async def receive(request: Request) -> Response:
        with metrics.time_webhook():
            return await door.receive(request)

    app.add_route(PATH, receive, methods=["POST"], include_in_schema=False)
    app.add_route("/healthz", answer_alive)


def _read_limits(settings: WebhookSettings) -> RequestLimits:
    """Return the limits of requests, and keep the webhook secrets out of logs."""
    secrets = tuple(secret.get_secret_value().encode() for secret in settings.webhook_secret)
    for secret in secrets:
        remember(secret.decode())
    return RequestLimits(secrets, settings.max_body_bytes)


def _create_pages(settings: WebSettings, doorbell: BackgroundDoorbell) -> "Pages | None":
    """Build the pages, whose libraries load only if the settings switch them on."""
    if not settings.pages.has_sign_in:
        return None
    from app.web.pages.routes import create_pages

    return create_pages(settings.pages, settings.identity, settings.database, doorbell.ring_soon)


def serve(host: str, port: int) -> None:
    """Run the web process on `host` and `port` until a signal stops it, with metrics on their own port.

    Raises SettingsError for wrong settings, and for an address on which this machine cannot listen.
    """
    settings, metrics = load_web_settings(), Metrics()
    # Uvicorn opens the address late, and a failure would be a line in the middle of its log.
    Listen(host, port).check()
    logs.configure(load(LogSettings))
    tracing.configure(load(LogSettings), "web")
    if why := settings.pages.explain_no_sign_in():
        log.warning("%s: set what is missing, or unset R4P_OAUTH_CLIENT_ID", why)
    operations = create_operations_app(settings.database, settings.broker, metrics)
    with serve_operations(operations, load(OperationsSettings)):
        uvicorn.run(
            create_app(settings, metrics),
            host=host,
            port=port,
            access_log=False,
            server_header=False,
            log_config=None,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=10,
        )
