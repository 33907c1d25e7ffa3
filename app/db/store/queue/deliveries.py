"""Store a webhook delivery and its jobs with one statement on a bare driver.

All other queries use SQLAlchemy; here it would cost a third of the throughput.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from psycopg import AsyncConnection
from psycopg.errors import OperationalError, UniqueViolation
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import Connection

from app.db.session import WEB_LIMITS, name_connection
from app.db.store.queue.job_rows import PLANNED, STORE, StoredJob, serialize_jobs
from app.jobs.job import Planned, Queue
from app.values.identifiers import DeliveryGuid, InstallationId, RepositoryId

Pool = AsyncConnectionPool[AsyncConnection[TupleRow]]
"""A pool of connections in autocommit mode: each statement is its own transaction."""


class StoreResult(StrEnum):
    """Whether a webhook delivery was new, repeated, or repeated with dead jobs that run again."""

    NEW = "new"
    REARMED = "rearmed"
    """GitHub delivered it again, and its dead jobs are ready again."""
    DUPLICATE = "duplicate"
    """GitHub delivered it again, and its jobs are ready, running or done."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook delivery with a valid signature, as `accept` stores it.

    `event` is the name in GitHub's header. `installation` and `repository` are None if the body names none.
    """

    guid: DeliveryGuid
    event: str
    installation: InstallationId | None
    repository: RepositoryId | None
    body: bytes


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """The result of `accept`: whether the delivery was new, and its jobs in state ready.

    `jobs` is empty for a delivery that GitHub repeated, unless dead jobs of it run again.
    """

    result: StoreResult
    jobs: tuple[StoredJob, ...]


_STORE_DELIVERY: Final = """
with stored as (
    insert into deliveries (guid, event, installation_id, repository_id)
    values (%(delivery)s, %(event)s, %(installation)s, %(repository)s)
    on conflict (guid) do nothing returning id, received_at),
body as (insert into delivery_bodies (delivery_id, received_at, body)
    select id, received_at, %(body)b from stored)
"""
_ACCEPT: Final = f"""
{_STORE_DELIVERY},
planned as (select * from {PLANNED} where exists (select from stored)),
ready as ({STORE})
select exists (select from stored) as is_new, id, queue, is_due
from (values (1)) as always left join ready on true
"""

# Find the dead jobs by the delivery, or by the key under which another delivery's job absorbed them.
_REARM: Final = """
update jobs set state = 'ready', attempt = 0, error = null, finished_at = null, run_after = now(),
    waits_for = null, waits = 0, waits_since = null
where state = 'dead' and id in (
    select max(id) from jobs as given_up
    where state = 'dead' and (delivery_guid = %(delivery)s or key = any(%(keys)s))
        and not exists (select from jobs as alive
            where alive.key = given_up.key and alive.wish = given_up.wish
                and alive.state in ('ready', 'running'))
    group by coalesce(key, id::text), wish)
returning id, queue
"""

_COUNT_IGNORED: Final = """
insert into ignored_deliveries (reason, count)
select reason, count from unnest(%s::text[], %s::bigint[]) as counted(reason, count)
on conflict (reason) do update set count = ignored_deliveries.count + excluded.count
"""


def create_pool(database_url: str, *, size: int) -> Pool:
    """Create the webhook's pool of 1 to `size` PostgreSQL connections. The caller must open it."""
    return AsyncConnectionPool(
        database_url,
        kwargs={
            "autocommit": True,
            "connect_timeout": 2,
            "application_name": name_connection("web"),
        },
        min_size=1,
        max_size=size,
        configure=_set_limits,
        timeout=3.5,  # longer than a busy database stalls, shorter than GitHub waits
        reconnect_timeout=10.0,
        open=False,
    )


async def _set_limits(connection: AsyncConnection[TupleRow]) -> None:
    await connection.execute(WEB_LIMITS.build_statement().encode())


async def accept(pool: Pool, delivery: Delivery, planned: Sequence[Planned]) -> AcceptedDelivery:
    """Commit a webhook delivery with its `planned` jobs, once per GUID, and return the jobs that are ready.

    For a repeated GUID it stores nothing, and dead jobs of the delivery become ready again. Raises
    psycopg.OperationalError when the database is down; PoolTimeout is a subclass of it.
    """
    try:
        return await _accept(pool, delivery, planned)
    except PoolTimeout:
        raise
    except OperationalError:
        # The connection may be a leftover from before a database restart: try a fresh one.
        await pool.check()
        return await _accept(pool, delivery, planned)


def store_rebuilt(connection: Connection, delivery: Delivery) -> None:
    """Store a delivery that the bot rebuilt from GitHub's API; do nothing if its GUID is stored."""
    connection.exec_driver_sql(f"{_STORE_DELIVERY} select from stored", _get_values(delivery))


async def _accept(pool: Pool, delivery: Delivery, planned: Sequence[Planned]) -> AcceptedDelivery:
    values = {**_get_values(delivery), "jobs": serialize_jobs(planned)}
    async with pool.connection() as connection:
        rows = await (await connection.execute(_ACCEPT, values)).fetchall()
        if not rows[0][0]:
            return await _rearm(connection, delivery.guid, planned)
    ready = [row for row in rows if row[1] is not None]
    return AcceptedDelivery(
        StoreResult.NEW, tuple(StoredJob(row[1], Queue(row[2]), row[3]) for row in ready)
    )


def _get_values(delivery: Delivery) -> dict[str, str | int | bytes | None]:
    return {
        "delivery": delivery.guid,
        "event": delivery.event,
        "installation": delivery.installation,
        "repository": delivery.repository,
        "body": delivery.body,
    }


async def _rearm(
    connection: AsyncConnection[TupleRow], guid: DeliveryGuid, planned: Sequence[Planned]
) -> AcceptedDelivery:
    keys = [item.job.key for item in planned]
    try:
        rearmed = await connection.execute(_REARM, {"delivery": guid, "keys": keys})
    except UniqueViolation:  # another process stored the same work at this moment
        return AcceptedDelivery(StoreResult.DUPLICATE, ())
    jobs = tuple(StoredJob(row[0], Queue(row[1]), is_due=True) for row in await rearmed.fetchall())
    return AcceptedDelivery(StoreResult.REARMED if jobs else StoreResult.DUPLICATE, jobs)


async def count_ignored(pool: Pool, reasons: Mapping[str, int]) -> None:
    """Add to the stored counts of ignored webhook deliveries; `reasons` maps a reason to the number to add."""
    async with pool.connection() as connection:
        await connection.execute(_COUNT_IGNORED, (list(reasons), list(reasons.values())))
