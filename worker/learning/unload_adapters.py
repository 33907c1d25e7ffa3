"""Unload unused adapters from the model servers (vLLM's `unload_lora_adapter`) at regular times."""

from collections.abc import Callable, Sequence
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


def unload_adapters(
    settings: Callable[[], EngineSettings], context: Context, _job: UnloadAdapters
) -> None:
    """Unload unused adapters from every server that answers; the others are asked next time.

    `settings` returns the settings that name the servers. Adapters outside the registry, such as an operator's own, are
    never touched.
    """
    with transaction(context.database) as connection:
        adapters = find_unused_adapters(connection, datetime.now(UTC))
    promotion.unload(promotion.find_replicas(settings()), adapters)


def plan_unloads(connection: Connection) -> Sequence[Planned]:
    """Return one job that unloads adapters if a registered model is unused; else an empty list.

    The job asks the servers, because only they know whether they still hold the model's adapter.
    """
    return (
        [Planned(UnloadAdapters(OF_THE_APP))]
        if find_unused_adapters(connection, datetime.now(UTC))
        else []
    )


def find_unused_adapters(connection: Connection, now: datetime) -> list[Adapter]:
    """Return the adapters of registered models that had no alias for at least UNUSED_AFTER before `now`.

    The previous champion's adapter is not included, because a rollback would use it.
    """
    back = models.find_previous(connection, models.find_alias_holder(connection, Alias.CHAMPION))
    name = back.adapter.name if back else None
    return [
        model.adapter
        for model in models.list_models(connection)
        if is_unused(
            model.state,
            model.changed_at or model.created_at,
            now,
            comes_back=model.adapter.name == name,
        )
    ]
