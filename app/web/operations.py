"""Serve `/metrics`, `/readyz` and `/healthz` on a port of their own, which strangers do not reach."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from fastapi import FastAPI

from app.db.session import HEALTH_LIMITS, create_database_engine
from app.dispatch import Doorbell
from app.metrics import Metrics
from app.settings import BrokerSettings, DatabaseSettings, OperationsSettings
from app.web.health import Health, answer_alive
from app.web.listen_address import Listen
from app.web.stored_metrics import StoredMetrics
from app.web.verdict_metrics import VerdictMetrics

MAX_CONNECTIONS: Final = 50


def create_operations_app(
    database: DatabaseSettings, broker: BrokerSettings, metrics: Metrics
) -> FastAPI:
    """Build the application that answers health checks and scrapes of `metrics`, with connections of its own."""
    pool = create_database_engine(
        database.database_url, pool_size=1, limits=HEALTH_LIMITS, process="web"
    )
    doorbell = Doorbell(broker.redis_url)
    metrics.register(StoredMetrics(pool))
    metrics.register(VerdictMetrics(pool))
    health = Health(pool, doorbell, metrics)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        doorbell.close()
        pool.dispose()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_route("/healthz", answer_alive)
    app.add_route("/readyz", health.answer_ready)
    app.add_route("/metrics", health.answer_scrape)
    return app


@contextmanager
def serve_operations(app: FastAPI, settings: OperationsSettings) -> Iterator[int]:
    """Serve the application in a thread, and yield its port. Raises SettingsError when the address cannot be used."""
    address = Listen(settings.ops_host, settings.ops_port, ("R4P_OPS_HOST", "R4P_OPS_PORT"))
    listening = address.open_socket()
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            server_header=False,
            log_config=None,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=2,
        )
    )
    thread = threading.Thread(
        target=server.run, args=([listening],), name="operations", daemon=True
    )
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
