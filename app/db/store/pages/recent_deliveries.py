"""Read the newest webhook deliveries, with the states of the jobs that they caused."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from app.values.identifiers import DeliveryGuid

_NEWEST: Final = """
select newest.guid, newest.event, newest.received_at, count(jobs.id) as jobs,
    count(*) filter (where jobs.state = 'dead') as dead, count(*) filter (where jobs.state in ('ready', 'running')) as open
from (select id, guid, event, received_at from deliveries order by id desc limit %(limit)s) as newest
left join jobs on jobs.delivery_guid = newest.guid
group by newest.id, newest.guid, newest.event, newest.received_at order by newest.id desc
"""


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A stored delivery: its event, and the number of its jobs, of those that gave up, and of those not done."""

    guid: DeliveryGuid
    event: str
    received_at: datetime
    jobs: int
    dead: int
    open: int


def list_newest(connection: Connection, limit: int) -> tuple[DeliveryRow, ...]:
    """List the newest deliveries of all installations, at most `limit`, newest first."""
    rows = connection.exec_driver_sql(_NEWEST, {"limit": limit})
    return tuple(DeliveryRow(*row) for row in rows)
