"""Promote a model or roll a role back, as an operator asked on the Models page, and report the result there."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import UnknownModel
from app.db.store.queue import progress
from app.jobs.learning_jobs import ChangeModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Alias
from app.registry import promotion
from app.registry.promotion import NotPromoted, PageRequest, PromotionRules
from app.settings import EngineSettings
from worker.queue.context import Context

log = logging.getLogger(__name__)

DONE_BEFORE = "done by an earlier attempt"
"""Report of an attempt that finds its own change in the history of the aliases."""
TOO_OLD = "refused: no worker took the request within an hour; ask again on the Models page"
"""Report about a request that is older than `_VALID_FOR`: by now the person may want something else."""
_VALID_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ChangeModelHandler:
    """Does what `r4p models promote` and `r4p models rollback` do, once for each request."""

    engine: Callable[[], EngineSettings]
    rules: Callable[[], Rules]
    """The gate must have decided by these rules or by stricter ones."""

    def __call__(self, context: Context, job: ChangeModel) -> None:
        """Change the role, or refuse in one line. The line is stored as the progress of the job."""
        request = PageRequest(job.login, job.holder or None, context.claimed.id)
        with transaction(context.database) as connection:
            moves = models.list_moves(connection)
            age = progress.read_age(connection, context.claimed)
        if any(request.note in move.why for move in moves):
            self._finish(context, job)
            report = DONE_BEFORE
        elif age > _VALID_FOR:
            report = TOO_OLD
        else:
            context.check()
            report = self._change(context, job, request)
        log.info("%s asked to change the %s: %s", job.login, job.alias, report)
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, report)

    def _finish(self, context: Context, job: ChangeModel) -> None:
        """Do what an earlier attempt may have left out: load the champion after a rollback.

        A promotion loads its model before it changes the role, so it leaves nothing out.
        """
        if not job.model:
            promotion.reload_champion(context.database, promotion.find_replicas(self.engine()))

    def _change(self, context: Context, job: ChangeModel, request: PageRequest) -> str:
        settings, alias = self.engine(), Alias(job.alias)
        try:
            if not job.model:
                servers = promotion.find_replicas(settings)
                why = f"rolled back: {request.note}"
                rejected, champion = promotion.roll_back(
                    context.database, servers, alias, why, request
                )
                return f"{rejected} is rejected; {champion or 'the model of the settings'} judges"
            terms = PromotionRules(settings.verifier, self.rules(), request=request)
            servers = promotion.list_replicas(settings)
            promotion.promote(context.database, servers, job.model, alias, terms=terms)
        except (NotPromoted, UnknownModel) as error:
            return f"refused: {error}"
        return f"{job.model} is the {alias} now"
