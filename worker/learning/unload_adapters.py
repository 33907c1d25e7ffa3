"""Have the model servers forget trained adapters that nobody uses: vLLM's unload_lora_adapter, by the clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.models import models
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import UnloadAdapters
from app.learning.model_serving import Adapter, Alias, is_unused
from app.registry import promotion
from app.settings import EngineSettings
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class UnloadAdaptersHandler:
    """Takes unused adapters out of every server that answers; the others are asked again by the clock.

    What is not in our registry is never touched: neither an operator's own adapters, nor those of a run or a
    measurement, which have names of their own.
    """

    settings: Callable[[], EngineSettings]

    def __call__(self, context: Context, _job: UnloadAdapters) -> None:
        """Unload them; what is not served changes nothing."""
        with transaction(context.database) as connection:
            found = unused(connection, datetime.now(UTC))
        promotion.unload(promotion.replicas_if_any(self.settings()), found)


def due_unloads(connection: Connection) -> Sequence[Planned]:
    """By the clock, where there is a model that nobody uses: servers alone know whether they serve it."""
    return [Planned(UnloadAdapters(OF_THE_APP))] if unused(connection, datetime.now(UTC)) else []


def unused(connection: Connection, now: datetime) -> list[Adapter]:
    """Adapters of our registry that no server needs."""
    back = models.before(connection, models.holder(connection, Alias.CHAMPION))
    name = back.adapter.name if back else None
    return [
        one.adapter
        for one in models.newest(connection)
        if is_unused(
            one.state, one.changed_at or one.created_at, now, comes_back=one.adapter.name == name
        )
    ]
