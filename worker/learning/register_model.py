"""Register a finished training's model and, if the settings want it, promote it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import Model
from app.learning.gate_rules import Rules
from app.learning.model_serving import PASSED, Alias, ModelState, limit_alias
from app.learning.training_plan import Training, TrainingState
from app.registry import promotion, registration
from app.registry.promotion import NotPromoted, PromotionRules
from app.registry.registration import NotRegistered
from app.settings import EngineSettings
from model.errors import BadAdapter
from worker.learning.stages import TrainingEnded
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class Registrar:
    """Registers the model of a finished training run; a repeat changes nothing."""

    promote: Literal["off", "shadow", "canary", "champion"]
    engine: Callable[[], EngineSettings]
    rules: Rules = field(default_factory=Rules)
    """The gate must have decided by these rules or by stricter ones."""

    def __call__(
        self, context: Context, training: Training
    ) -> tuple[TrainingState, str, str | None]:
        """Register and promote a training's model; return the training's final state, the reason, the model's name.

        Raises TrainingEnded when the model cannot be registered.
        """
        settings = self.engine()
        if settings.model is None:
            raise TrainingEnded(
                TrainingState.FAILED,
                f"{training.run} is done, and not registered: set R4P_MODEL to the served name of what it adapts, then"
                f" r4p models register {training.run}",
            )
        try:
            with context.transaction() as connection:
                name = registration.register_run(connection, training.run, settings.model)
                model = models.find_by_name(connection, name)
        except (NotRegistered, BadAdapter) as error:
            raise TrainingEnded(TrainingState.FAILED, f"not registered: {error}") from error
        if model.state is ModelState.REJECTED:
            return TrainingState.REJECTED, model.why, name
        if self.promote == "off":
            return TrainingState.FINISHED, describe_next_step(model), name
        return TrainingState.FINISHED, self._promote(context, model, settings), name

    def build_comparison_arguments(self, context: Context) -> tuple[str, ...]:
        """Build the arguments of `r4p train evaluate` that name the model server, its models and the verifier.

        The models are the base model and the champion, if there is one. Without a server the result is empty, and the
        evaluating process runs the models itself.
        """
        settings = self.engine()
        if settings.engine_url is None or settings.model is None:
            return ()
        with transaction(context.database) as connection:
            champion = models.load_line_up(connection).select_verifier(settings.verifier).champion
        beside = ("--champion", champion.name) if champion else ()
        who = ("--verifier", settings.verifier)
        return ("--engine-url", settings.engine_url, "--model", settings.model, *who, *beside)

    def _promote(self, context: Context, model: Model, settings: EngineSettings) -> str:
        name, wanted = model.adapter.name, Alias(self.promote)
        alias = limit_alias(wanted, model.gate)
        with transaction(context.database) as connection:
            if (
                holder := models.find_alias_holder(connection, alias)
            ) and holder.adapter.name == name:
                return f"the {alias} already"
        try:
            servers = promotion.list_replicas(settings)
            terms = PromotionRules(settings.verifier, self.rules)
            done = promotion.promote(context.database, servers, name, alias, terms=terms)
        except NotPromoted as error:
            return f"not promoted, the present model still judges: {error}"
        if alias is not wanted:
            return (
                f"the {alias}; the gate passed on benchmarks only: {done.report}; to have it judge all: r4p models promote "
                f"{name}"
            )
        return f"the {alias}: {done.report}"


def describe_next_step(model: Model) -> str:
    """Return the text that tells the operator how to promote a model, or how to measure it again (pure)."""
    name, gate = model.adapter.name, model.gate
    if gate.get("outcome") == PASSED:
        return f"a candidate; to promote it: r4p models promote {name}"
    return (
        f"a candidate that can't judge yet ({gate.get('outcome')}: {gate.get('why')}); measure it on a dataset with more "
        f"issues: r4p train evaluate --run {model.run} --learnt-from ITS_DATASET --dataset NEWER, then r4p models "
        f"register {model.run}"
    )
