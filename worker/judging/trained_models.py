"""Choose the judge of an issue, record a shadow's verdict, and reject a failing canary."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from app.db.session import transaction
from app.db.store.issues.evaluations import Evaluation
from app.db.store.models import models
from app.db.store.models.canary_statistics import read_statistics
from app.jobs.job import Json
from app.learning.canary import CanaryLimits, find_canary_problem
from app.learning.model_serving import Adapter, Alias, LineUp, choose_judge
from app.outcomes.judgement import Judge
from model.errors import EngineDown, ModelError
from model.protocols import Verifier
from worker.judging.base_code import CodeSource
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """A loaded verifier, and a second verifier without an engine (the prior) whose score is stored beside the votes."""

    name: str
    """The verifier's name in the catalog."""
    verifier: Verifier
    prior: Verifier | None = None
    """A verifier without an engine, so it costs nothing; None when the verifier itself has no
    engine."""
    code: CodeSource | None = None
    """Where the verifier gets code of the base; None when it reads none."""

    @property
    def judge(self) -> Judge:
        """Return the judge's identity (verifier, engine, model, prompt), by which its calibrator is found."""
        return Judge(self.name, self.verifier.engine)


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrainedModels:
    """Trained adapters that may judge in place of the base model."""

    verifier: str
    """The verifier of the settings; adapters trained for another verifier are ignored."""
    load_judge: Callable[[Adapter], JudgeSetup]
    """Raises EngineDown when no server can serve the adapter."""

    def load_line_up(self, database: Engine) -> LineUp:
        """Load which adapters of this verifier are champion, canary and shadow now; each may be None."""
        with transaction(database) as connection:
            return models.load_line_up(connection).select_verifier(self.verifier)

    def choose_judge(
        self, database: Engine, evaluation: Evaluation, own: Callable[[], JudgeSetup]
    ) -> JudgeSetup:
        """Return the loaded judge of an issue: the canary for its share of the issues, else the champion.

        Without a champion the result is `own()`, the judge of the settings. A canary that cannot be served is
        rejected, and the champion judges in its place. Raises EngineDown when the champion cannot be served either; the
        job then waits.
        """
        line_up = self.load_line_up(database)
        adapter = choose_judge(get_issue_name(evaluation), line_up)
        if adapter is None or adapter != line_up.canary:
            return self.load_judge(adapter) if adapter else own()
        try:
            return self.load_judge(adapter)
        except EngineDown as error:
            setup = self.load_judge(line_up.champion) if line_up.champion else own()
            reject_canary(database, adapter, f"it can't be served: {error}")
            return setup

    def follow_up(
        self,
        context: Context,
        evaluation: Evaluation,
        say: Callable[[JudgeSetup], Json],
    ) -> None:
        """Let the shadow judge the issue too, and reject the canary if its statistics are bad.

        `say` lets a judge judge the issue and returns its verdict as JSON values. The shadow's verdict is stored, and
        never published. Errors of its model are only logged.
        """
        line_up = self.load_line_up(context.database)
        if line_up.shadow:
            self._judge_by_shadow(context, evaluation, line_up.shadow, say)
        if line_up.canary:
            check_canary(context.database, line_up.canary)

    def _judge_by_shadow(
        self,
        context: Context,
        evaluation: Evaluation,
        shadow: Adapter,
        say: Callable[[JudgeSetup], Json],
    ) -> None:
        try:
            document = say(self.load_judge(shadow))
        except ModelError as error:
            log.warning("shadow %s failed on evaluation %s: %s", shadow.name, evaluation.id, error)
            return
        with context.transaction() as connection:
            models.save_shadow(connection, evaluation.id, shadow.name, document)


def get_issue_name(evaluation: Evaluation) -> str:
    """Return `REPOSITORY_ID#NUMBER`, a name of the issue that survives a rename of its repository."""
    return f"{evaluation.repository}#{evaluation.issue}"


def check_canary(database: Engine, canary: Adapter, limits: CanaryLimits | None = None) -> None:
    """Reject the model `canary` if its votes or verdicts since it became canary break `limits` (None: default)."""
    with transaction(database) as connection:
        began = models.find_by_name(connection, canary.name).changed_at
        if began is None:
            return
        statistics = read_statistics(connection, canary.name, began)
    if reason := find_canary_problem(*statistics, limits or CanaryLimits()):
        reject_canary(database, canary, reason)


def reject_canary(database: Engine, canary: Adapter, why: str) -> None:
    """Reject the model `canary`, and log and store `why`; do nothing if it is not the canary any more."""
    with transaction(database) as connection:
        models.lock(connection)
        held = models.find_alias_holder(connection, Alias.CANARY)
        if held and held.adapter.name == canary.name:
            models.withdraw(connection, Alias.CANARY, why)
            log.error("canary %s is rejected: %s", canary.name, why)
