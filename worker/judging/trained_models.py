"""Trained models at work: which of them judges an issue, what a shadow would have said, when a canary goes."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from app.db.session import transaction
from app.db.store.issues.evaluations import Evaluation
from app.db.store.models import models
from app.db.store.models.canary_statistics import records
from app.jobs.job import Json
from app.learning.canary import Limits, trouble
from app.learning.model_serving import Adapter, Alias, LineUp, judge_of
from model.errors import EngineDown, ModelError
from worker.judging.judge import Bench
from worker.queue.context import Context

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trained:
    """Adapters that were trained, beside the model of the settings."""

    verifier: str
    """The one of the settings; adapters that answer another one's prompt are left alone."""
    bench: Callable[[Adapter], Bench]
    """Raises EngineDown where no server serves it, nor can be given it."""

    def line_up(self, database: Engine) -> LineUp:
        """Who judges now."""
        with transaction(database) as connection:
            return models.line_up(connection).of_verifier(self.verifier)

    def judge(self, database: Engine, evaluation: Evaluation, own: Callable[[], Bench]) -> Bench:
        """Who judges an issue. A canary that can't be served is taken out, and the champion judges in its place.

        Raises EngineDown when the champion can't be served either: then it is waited for.
        """
        line_up = self.line_up(database)
        adapter = judge_of(name_of(evaluation), line_up)
        if adapter is None or adapter != line_up.canary:
            return self.bench(adapter) if adapter else own()
        try:
            return self.bench(adapter)
        except EngineDown as error:
            bench = self.bench(line_up.champion) if line_up.champion else own()
            take_out(database, adapter, f"it can't be served: {error}")
            return bench

    def after(
        self,
        context: Context,
        evaluation: Evaluation,
        say: Callable[[Bench], Json],
    ) -> None:
        """Once an issue is judged: have the shadow judge it as well, and look at what the canary did so far.

        Whatever fails here is told in the log; the verdict stands.
        """
        line_up = self.line_up(context.database)
        if line_up.shadow:
            self._shadow(context, evaluation, line_up.shadow, say)
        if line_up.canary:
            watch(context.database, line_up.canary)

    def _shadow(
        self,
        context: Context,
        evaluation: Evaluation,
        shadow: Adapter,
        say: Callable[[Bench], Json],
    ) -> None:
        try:
            said = say(self.bench(shadow))
        except ModelError as error:
            log.warning("shadow %s says nothing of %s: %s", shadow.name, evaluation.id, error)
            return
        with context.transaction() as connection:
            models.save_shadow(connection, evaluation.id, shadow.name, said)


def name_of(evaluation: Evaluation) -> str:
    """An issue's name for good: its repository may be renamed, its number stays."""
    return f"{evaluation.repository}#{evaluation.issue}"


def watch(database: Engine, canary: Adapter, limits: Limits | None = None) -> None:
    """Take the canary out when what it did since it began speaks against it."""
    with transaction(database) as connection:
        began = models.named(connection, canary.name).changed_at
        if began is None:
            return
        found = records(connection, canary.name, began)
    if reason := trouble(*found, limits or Limits()):
        take_out(database, canary, reason)


def take_out(database: Engine, canary: Adapter, why: str) -> None:
    """Reject a canary, if it still is one."""
    with transaction(database) as connection:
        models.lock(connection)
        held = models.holder(connection, Alias.CANARY)
        if held and held.adapter.name == canary.name:
            models.withdraw(connection, Alias.CANARY, why)
            log.error("canary %s is taken out: %s", canary.name, why)
