"""The floor of a webhook: FastAPI and psycopg, an HMAC and two inserts in one transaction.

Run as `python -m tests.bench.programs.floor_webhook PORT DATABASE_URL`. Nothing of the bot is in it.
"""

import hashlib
import hmac
import sys
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, Request, Response
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

SECRET = b"a secret of the benches"
PATH = "/webhook"

_TABLES = """
create table if not exists floor_deliveries (
    id bigint generated always as identity primary key, guid text not null unique,
    event text, received_at timestamptz default now(), body bytea);
create table if not exists floor_jobs (
    id bigint generated always as identity primary key, kind text, payload jsonb,
    state text not null default 'ready', run_after timestamptz not null default now());
create index if not exists floor_jobs_ready on floor_jobs (run_after, id) where state = 'ready';
"""


def application(database_url: str) -> FastAPI:
    """The floor as an ASGI application."""
    pool = AsyncConnectionPool(database_url, min_size=8, max_size=8, open=False)

    @asynccontextmanager
    async def lifespan(_app: FastAPI):
        await pool.open(wait=True)
        async with pool.connection() as connection:
            await connection.execute(_TABLES)
        yield
        await pool.close()

    app = FastAPI(lifespan=lifespan)

    @app.post(PATH)
    async def receive(request: Request) -> Response:
        body = await request.body()
        expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers["X-Hub-Signature-256"], expected):
            return Response(status_code=401)
        guid, event = request.headers["X-GitHub-Delivery"], request.headers["X-GitHub-Event"]
        async with pool.connection() as connection:
            await connection.execute(
                "insert into floor_deliveries (guid, event, body) values (%s, %s, %b)",
                (guid, event, body),
            )
            await connection.execute(
                "insert into floor_jobs (kind, payload) values (%s, %s)",
                ("record_event", Jsonb({"delivery": guid})),
            )
        return Response(status_code=202)

    return app


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[2]),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        access_log=False,
        log_level="warning",
    )
