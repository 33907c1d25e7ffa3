"""The worker's composition root: settings to handlers."""

from collections.abc import Callable, Mapping
from typing import Final

from app.db.session import engine
from app.dispatch import Doorbell
from app.settings import BrokerSettings, DatabaseSettings, QueueSettings, load
from worker.context import Handler
from worker.runner import Runner
from worker.tasks import Runtime
from worker.upkeep import Tick, Upkeep

HANDLED: Final[Mapping[str, Handler]] = {}
"""Every kind of job and the use case that carries it out."""

TICKS: Final[Mapping[str, Tick]] = {}
"""The clock's rules by name."""


def runtime(pace: QueueSettings, broker: BrokerSettings, stopping: Callable[[], bool]) -> Runtime:
    """What this worker process works with; opens its own connections."""
    database = engine(load(DatabaseSettings).database_url, pool_size=4)
    doorbell = Doorbell(broker.redis_url)
    return Runtime(
        Runner(database, HANDLED, doorbell, pace, stopping),
        Upkeep(database, doorbell, pace, TICKS),
    )
