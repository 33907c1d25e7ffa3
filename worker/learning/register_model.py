"""What a training made is kept under its name and, if the operator wants that, promoted. The champion stays till then."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import Model
from app.learning.gate_rules import Rules
from app.learning.model_serving import Alias, as_far_as
from app.learning.model_serving import State as ModelState
from app.learning.training_plan import State, Training
from app.registry import promotion, registration
from app.registry.promotion import PASSED, NotPromoted, Terms
from app.registry.registration import NotRegistered
from app.settings import EngineSettings
from model.errors import BadAdapter
from worker.learning.stages import Ended
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class Registrar:
    """Registers what a finished run made; twice changes nothing."""

    promote: Literal["off", "shadow", "canary", "champion"]
    engine: Callable[[], EngineSettings]
    rules: Rules = field(default_factory=Rules)
    """By which the gate has to have decided, or by stricter ones."""

    def __call__(self, context: Context, training: Training) -> tuple[State, str, str | None]:
        """What became of the training, why, and the model's name. Raises Ended where nothing could be kept."""
        settings = self.engine()
        if settings.model is None:
            raise Ended(
                State.FAILED,
                f"{training.run} is done, and not registered: set R4P_MODEL to the served name of what it adapts, then"
                f" r4p models register {training.run}",
            )
        try:
            with context.transaction() as connection:
                name = registration.register_run(connection, training.run, settings.model)
                model = models.named(connection, name)
        except (NotRegistered, BadAdapter) as error:
            raise Ended(State.FAILED, f"not registered: {error}") from error
        if model.state is ModelState.REJECTED:
            return State.REJECTED, model.why, name
        if self.promote == "off":
            return State.FINISHED, waits(model), name
        return State.FINISHED, self._promoted(context, model, settings), name

    def against(self, context: Context) -> tuple[str, ...]:
        """Arguments of `r4p train evaluate`: the server, its base and its champion; none: both judge in its process."""
        settings = self.engine()
        if settings.engine_url is None or settings.model is None:
            return ()
        with transaction(context.database) as connection:
            champion = models.line_up(connection).of_verifier(settings.verifier).champion
        beside = ("--champion", champion.name) if champion else ()
        who = ("--verifier", settings.verifier)
        return ("--engine-url", settings.engine_url, "--model", settings.model, *who, *beside)

    def _promoted(self, context: Context, model: Model, settings: EngineSettings) -> str:
        name, wanted = model.adapter.name, Alias(self.promote)
        alias = as_far_as(wanted, model.gate)
        with transaction(context.database) as connection:
            if (holder := models.holder(connection, alias)) and holder.adapter.name == name:
                return f"the {alias} already"
        try:
            servers = promotion.replicas(settings)
            terms = Terms(settings.verifier, self.rules)
            done = promotion.promote(context.database, servers, name, alias, terms=terms)
        except NotPromoted as error:
            return f"not promoted, who judged goes on judging: {error}"
        if alias is not wanted:
            return (
                f"the {alias}, for benchmarks alone speak for it: {done.said}; to have it judge all: r4p models promote "
                f"{name}"
            )
        return f"the {alias}: {done.said}"


def waits(model: Model) -> str:
    """What there is to do for a model that nobody promoted yet (pure)."""
    name, gate = model.adapter.name, model.gate
    if gate.get("outcome") == PASSED:
        return f"a candidate; to have it judge: r4p models promote {name}"
    return (
        f"a candidate that can't judge yet ({gate.get('outcome')}: {gate.get('why')}); measure it on a dataset with more "
        f"issues: r4p train evaluate --run {model.run} --learnt-from ITS_DATASET --dataset NEWER, then r4p models "
        f"register {model.run}"
    )
