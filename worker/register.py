"""What a training made is kept under its name and, if the operator wants that, promoted. The champion stays till then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app import promotion
from app.db.session import transaction
from app.db.store import models
from app.promotion import NotPromoted
from app.serving import Alias
from app.serving import State as ModelState
from app.settings import EngineSettings
from app.training import State, Training
from model.errors import BadAdapter
from worker.context import Context
from worker.training_stages import Ended


@dataclass(frozen=True, slots=True)
class Registrar:
    """Registers what a finished run made; twice changes nothing."""

    promote: Literal["off", "shadow", "canary", "champion"]
    engine: Callable[[], EngineSettings]

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
                name = promotion.register_run(connection, training.run, settings.model)
                model = models.named(connection, name)
        except (NotPromoted, BadAdapter) as error:
            raise Ended(State.FAILED, f"not registered: {error}") from error
        if model.state is ModelState.REJECTED:
            return State.REJECTED, model.why, name
        if self.promote == "off":
            return State.FINISHED, f"a candidate; to have it judge: r4p models promote {name}", name
        return State.FINISHED, self._promoted(context, name, settings), name

    def against(self, context: Context) -> tuple[str, ...]:
        """Arguments of `r4p train evaluate`: the server, its base and its champion; none: both judge in its process."""
        settings = self.engine()
        if settings.engine_url is None or settings.model is None:
            return ()
        with transaction(context.database) as connection:
            champion = models.holder(connection, Alias.CHAMPION)
        beside = ("--champion", champion.adapter.name) if champion else ()
        return ("--engine-url", settings.engine_url, "--model", settings.model, *beside)

    def _promoted(self, context: Context, name: str, settings: EngineSettings) -> str:
        alias = Alias(self.promote)
        with transaction(context.database) as connection:
            if (holder := models.holder(connection, alias)) and holder.adapter.name == name:
                return f"the {alias} already"
        try:
            servers = promotion.replicas(settings)
            done = promotion.promote(
                context.database, servers, name, alias, verifier=settings.verifier
            )
        except NotPromoted as error:
            return f"not promoted, who judged goes on judging: {error}"
        return f"the {alias}: {done.said}"
