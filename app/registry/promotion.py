"""What becomes of a registered model: put into every server, given an alias, taken back.

An alias moves only when every server answers as the model was trained; until then, and whenever anything fails, the
champion stays where it is. It stays loaded when another one comes in its place, so that the way back takes no load.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import Model
from app.learning.gate_rules import Rules, laxer
from app.learning.model_serving import Adapter, Alias, State, measured_beside, why_not
from app.settings import EngineSettings
from model import catalog
from model.adapters import adapter_files, adapter_server
from model.adapters.adapter_server import Replica, Servable
from model.errors import BadAdapter, EngineError

log = logging.getLogger(__name__)

PASSED = "passed"
"""The gate's word for a model that may come into use."""
CANARY_SHARE = 0.1
"""Of the issues, unless told otherwise."""


class NotPromoted(Exception):
    """A model stays what it is; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what a model may come into use."""

    verifier: str = "r4p"
    """As whom it has to have been trained to answer."""
    rules: Rules = field(default_factory=Rules)
    """The gate has to have asked as much as these."""
    by_laxer_rules: bool = False
    """A person says that it need not have."""


_PLAIN = Terms()


@dataclass(frozen=True, slots=True)
class Promotion:
    """An alias that was moved."""

    name: str
    to: Alias
    said: str
    """What the servers answered, in one line."""


def replicas(settings: EngineSettings) -> tuple[Replica, ...]:
    """Every server by its own address. Raises NotPromoted where there is none that could be given an adapter."""
    urls = settings.engine_urls or ((settings.engine_url,) if settings.engine_url else ())
    if not urls or settings.verifier in catalog.WITHOUT_ENGINE:
        raise NotPromoted(
            "no server can be given an adapter: set R4P_ENGINE_URL to a vLLM, and R4P_ENGINE_URLS to all of them "
            "when that is a balancer"
        )
    key = settings.engine_api_key
    return tuple(Replica(url, key.get_secret_value() if key else None) for url in urls)


def replicas_if_any(settings: EngineSettings) -> tuple[Replica, ...]:
    """Every server by its own address; none where none is named, for what waits for no server."""
    with suppress(NotPromoted):
        return replicas(settings)
    return ()


def promote(
    database: Engine,
    servers: Sequence[Replica],
    name: str,
    to: Alias,
    *,
    share: float = CANARY_SHARE,
    terms: Terms = _PLAIN,
) -> Promotion:
    """Load a model into every server, see that it answers as trained, and give it an alias.

    `share`: of the issues, for a canary; who is one already is given another share. Raises UnknownModel and
    NotPromoted, also when a server is down or refuses it: then nothing has changed. A model whose files are not what
    was trained is rejected for good.
    """
    with transaction(database) as connection:
        model = _promotable(connection, name, to, terms)
    try:
        probe = adapter_files.probe_of(model.adapter.probe or model.run)
        readings = adapter_server.load(servers, servable(model.adapter), probe)
    except BadAdapter as error:
        with transaction(database) as connection:
            models.reject(connection, name, str(error))
        raise NotPromoted(f"{name} is rejected: {error}") from error
    except EngineError as error:
        raise NotPromoted(f"{name} is not promoted, nothing has changed: {error}") from error
    worst = max(readings, key=lambda one: one.apart)
    said = (
        f"{len(readings)} server{'s' * (len(readings) != 1)} answer as trained: {worst.effect:.2f} of the effect arrives, "
        f"log-probabilities are {worst.apart:.4f} nats apart{_by_tests(model, to)}{_by_laxer(model, terms)}"
    )
    with transaction(database) as connection:
        models.lock(connection)
        now = _promotable(connection, name, to, terms)
        if to is Alias.CANARY and now.state is State.CANARY:
            models.reshare(connection, name, share, f"{share:.0%} of the issues; {said}")
        else:
            models.promote(connection, name, to, said, share if to is Alias.CANARY else None)
    return Promotion(name, to, said)


def roll_back(
    database: Engine, servers: Sequence[Replica], alias: Alias, why: str
) -> tuple[str, str | None]:
    """Reject who holds an alias; the champion before comes back, else the model of the settings.

    Returns who was rejected and who is the champion now (None: the model of the settings). The alias moves at once;
    then servers that lost the old champion, by a restart, are given it again as far as they answer. Raises NotPromoted
    when nobody holds the alias.
    """
    with transaction(database) as connection:
        models.lock(connection)
        rejected = models.holder(connection, alias)
        if rejected is None:
            raise NotPromoted(
                f"nobody is the {alias}, so there is nothing to take back; see: r4p models list"
            )
        models.withdraw(connection, alias, why)
        champion = models.holder(connection, Alias.CHAMPION)
    if champion:
        bring_back(servers, champion.adapter)
    return rejected.adapter.name, champion.adapter.name if champion else None


def bring_back(servers: Sequence[Replica], adapter: Adapter) -> int:
    """Serve an adapter again where it is not served, as after a restart; returns on how many it is served now.

    It was asked what it answers when it was promoted; its bytes are looked at again before it is loaded.
    """
    served = 0
    for server in servers:
        try:
            if not adapter_server.serves(server, servable(adapter)):
                _same_bytes(adapter)
                adapter_server.bring(server, servable(adapter))
        except (EngineError, BadAdapter) as error:
            log.warning("%s does not serve %s: %s", server.url, adapter.name, error)
        else:
            served += 1
    return served


def _same_bytes(adapter: Adapter) -> None:
    if adapter_files.sha256_of(adapter.directory) != adapter.sha256:
        raise BadAdapter(
            f"the adapter in {adapter.directory} is not {adapter.name} any more; restore it, or roll back"
        )


def unload(servers: Sequence[Replica], unused: Sequence[Adapter]) -> None:
    """Take adapters out of every server that serves them; one that does not answer is told in the log, and left."""
    for server in servers:
        try:
            gone = adapter_server.unload_those(server, map(servable, unused))
        except EngineError as error:
            log.warning("%s may serve adapters that nobody uses: %s", server.url, error)
        else:
            for name in gone:
                log.info("%s does not serve %s any more: nobody uses it", server.url, name)


def servable(adapter: Adapter) -> Servable:
    """What a server is told of it."""
    return Servable(adapter.name, adapter.base, adapter.directory, adapter.sha256)


def _by_tests(model: Model, to: Alias) -> str:
    if to is not Alias.CHAMPION or model.gate.get("by_outcomes"):
        return ""
    return "; benchmarks alone speak for it, no outcomes did"


def _by_laxer(model: Model, terms: Terms) -> str:
    asked_less = laxer(model.gate.get("rules"), terms.rules)
    return (
        f"; its gate asked less than the rules in force: {', '.join(asked_less)}"
        if asked_less
        else ""
    )


def _promotable(connection: Connection, name: str, to: Alias, terms: Terms) -> Model:
    """A model that may be given the alias as things are now. Raises UnknownModel and NotPromoted."""
    model = models.named(connection, name)
    if reason := why_not(name, model.state, to):
        raise NotPromoted(reason)
    _passed(model, terms)
    if to is not Alias.SHADOW:
        _met(model, models.line_up(connection).of_verifier(terms.verifier).champion)
    return model


def _met(model: Model, champion: Adapter | None) -> None:
    """A candidate that is better than who judged once need not be better than who judges now."""
    now = champion.name if champion else model.adapter.base
    beside = measured_beside(model.gate, model.adapter.base)
    if beside != now:
        told = f" --champion {champion.name}" if champion else ""
        raise NotPromoted(
            f"{model.adapter.name} was measured beside {beside}, and {now} judges now; measure it beside that one: r4p "
            f"train evaluate{told}, then r4p models register {model.run}"
        )


def _passed(model: Model, terms: Terms) -> None:
    name = model.adapter.name
    outcome = model.gate.get("outcome")
    if outcome != PASSED:
        raise NotPromoted(
            f"{name} did not pass the gate ({outcome}: {model.gate.get('why')}); measure it on more issues with "
            f"r4p train evaluate, then r4p models register {model.run}; or train another"
        )
    if model.adapter.verifier != terms.verifier:
        raise NotPromoted(
            f"{name} was trained to answer as {model.adapter.verifier}, and R4P_VERIFIER is {terms.verifier}"
        )
    asked_less = laxer(model.gate.get("rules"), terms.rules)
    if asked_less and not terms.by_laxer_rules:
        raise NotPromoted(
            f"{name} passed a gate that asked less than the rules in force ({', '.join(asked_less)}); measure it by "
            f"those: r4p train evaluate --margin {terms.rules.margin} --least-issues {terms.rules.least_issues}, then r4p "
            f"models register {model.run}; or answer for it: r4p models promote {name} --by-laxer-rules"
        )
