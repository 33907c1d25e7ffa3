"""Promotes a registered model: loads it into every server, gives it an alias, or takes the alias back.

An alias changes only when every server answers as the model was trained. Until then, and after any failure, the
champion keeps its alias. A replaced champion stays loaded, so that a rollback needs no load.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import Model
from app.learning.gate_rules import Rules, find_weaker_rules
from app.learning.model_serving import (
    Adapter,
    Alias,
    ModelState,
    explain_gate_refusal,
    explain_new_holder,
    explain_old_champion,
    explain_refusal,
)
from app.settings import EngineSettings
from model import catalog
from model.adapters import adapter_files, adapter_server
from model.adapters.adapter_server import NamedAdapter, Replica
from model.errors import BadAdapter, EngineError, UnreadableAdapter

log = logging.getLogger(__name__)

CANARY_SHARE = 0.1
"""Default share of the issues for a canary."""


class NotPromoted(Exception):
    """A model could not be promoted and keeps its state. The message says why and names the fix."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A change that an operator asked for on the Models page."""

    login: str
    holder: str | None
    """The model that held the alias when the operator looked; None: no model. It must hold the alias still."""
    number: int
    """Id of the job that carries it out."""

    @property
    def note(self) -> str:
        """Return who asked, as the history of the alias keeps it."""
        return f"{self.login} asked for it on the Models page (request {self.number})"


@dataclass(frozen=True, slots=True)
class PromotionRules:
    """Conditions under which the registry promotes a model."""

    verifier: str = "r4p"
    """The verifier that the model must have been trained for."""
    rules: Rules = field(default_factory=Rules)
    """The gate that measured the model must have used rules that are at least as strict."""
    by_laxer_rules: bool = False
    """True: a person accepts a gate with weaker rules."""
    request: PageRequest | None = None
    """Who asked for it on a page; None: nobody did."""


_PLAIN = PromotionRules()


@dataclass(frozen=True, slots=True)
class Promotion:
    """The result of a promotion: the model, its new alias and the servers' answers."""

    name: str
    to: Alias
    report: str
    """The servers' answers in one line."""


def list_replicas(settings: EngineSettings) -> tuple[Replica, ...]:
    """Return the URL and key of each vLLM server in `settings`. Raises NotPromoted if none can load an adapter."""
    urls = settings.engine_urls or ((settings.engine_url,) if settings.engine_url else ())
    if not urls or not catalog.has_writing_model(settings.verifier):
        raise NotPromoted(
            "no server can load an adapter: set R4P_ENGINE_URL to a vLLM server, and R4P_ENGINE_URLS to all servers "
            "behind a load balancer"
        )
    key = settings.engine_api_key
    return tuple(Replica(url, key.get_secret_value() if key else None) for url in urls)


def find_replicas(settings: EngineSettings) -> tuple[Replica, ...]:
    """Return the URL and key of each vLLM server in `settings`; empty if no server can load an adapter."""
    with suppress(NotPromoted):
        return list_replicas(settings)
    return ()


def promote(
    database: Engine,
    servers: Sequence[Replica],
    name: str,
    to: Alias,
    *,
    share: float = CANARY_SHARE,
    terms: PromotionRules = _PLAIN,
) -> Promotion:
    """Load the model `name` into every model server, check its answers, and give it the alias `to`.

    `share` is a canary's share of the issues, 0 to 1; a model that is canary already gets the new share. `terms` are
    the conditions that the model's gate must meet. Raises UnknownModel, or NotPromoted, also when a server is down or
    refuses the model, or when a file of the model cannot be read. The alias then stays as it was. If the model's files
    differ from the trained files, the function also rejects the model for good.
    """
    with transaction(database) as connection:
        model = _find_promotable(connection, name, to, terms)
    try:
        probe = adapter_files.read_probe(model.adapter.probe or model.run)
        readings = adapter_server.load_adapter(servers, build_named_adapter(model.adapter), probe)
    except (UnreadableAdapter, EngineError) as error:
        raise NotPromoted(f"{name} is not promoted, nothing has changed: {error}") from error
    except BadAdapter as error:
        with transaction(database) as connection:
            models.reject(connection, name, str(error))
        raise NotPromoted(f"{name} is rejected: {error}") from error
    worst = max(readings, key=lambda reading: reading.mean_distance)
    report = (
        f"{len(readings)} server{'s' * (len(readings) != 1)} answer as trained: {worst.effect:.2f} of the effect arrives, "
        f"log-probabilities are {worst.mean_distance:.4f} nats apart{_note_benchmarks(model, to)}{_note_weaker_rules(model, terms)}"
        f"{_note_request(terms)}"
    )
    with transaction(database) as connection:
        models.lock(connection)
        now = _find_promotable(connection, name, to, terms)
        if to is Alias.CANARY and now.state is ModelState.CANARY:
            models.set_share(connection, name, share, f"{share:.0%} of the issues; {report}")
        else:
            models.promote(connection, name, to, report, share if to is Alias.CANARY else None)
    return Promotion(name, to, report)


def roll_back(
    database: Engine,
    servers: Sequence[Replica],
    alias: Alias,
    why: str,
    request: PageRequest | None = None,
) -> tuple[str, str | None]:
    """Reject the model that holds `alias`; if it was the champion, make the previous champion judge again.

    Returns the rejected model's name and the present champion's name, or None for it if the model of the settings
    judges. The alias changes at once. Then the function loads the present champion on servers that lost it by a
    restart. Raises NotPromoted if no model holds the alias, or not the one that the operator of `request` saw.
    """
    with transaction(database) as connection:
        models.lock(connection)
        _check_holder(connection, alias, request)
        rejected = models.find_alias_holder(connection, alias)
        if rejected is None:
            raise NotPromoted(
                f"no model is the {alias}, so there is nothing to roll back; see: r4p models list"
            )
        models.withdraw(connection, alias, why)
        champion = models.find_alias_holder(connection, Alias.CHAMPION)
    reload_champion(database, servers)
    return rejected.adapter.name, champion.adapter.name if champion else None


def reload_champion(database: Engine, servers: Sequence[Replica]) -> None:
    """Load the present champion on the servers that lost it. Without a champion, the function does nothing."""
    with transaction(database) as connection:
        champion = models.find_alias_holder(connection, Alias.CHAMPION)
    if champion:
        reload_adapter(servers, champion.adapter)


def reload_adapter(servers: Sequence[Replica], adapter: Adapter) -> int:
    """Load an adapter on the model servers that lost it, for example by a restart.

    Returns the number of servers that serve it now. The function checks only the adapter's bytes before it loads them;
    the promotion has checked the model's answers. A server that fails is logged and skipped.
    """
    served = 0
    for server in servers:
        try:
            if not adapter_server.is_served(server, build_named_adapter(adapter)):
                _check_bytes(adapter)
                adapter_server.load_on_replica(server, build_named_adapter(adapter))
        except (EngineError, BadAdapter) as error:
            log.warning("%s does not serve %s: %s", server.url, adapter.name, error)
        else:
            served += 1
    return served


def _check_bytes(adapter: Adapter) -> None:
    if adapter_files.hash_adapter(adapter.directory) != adapter.sha256:
        raise BadAdapter(
            f"the adapter in {adapter.directory} is no longer {adapter.name}; restore the files, or roll back"
        )


def unload(servers: Sequence[Replica], unused: Sequence[Adapter]) -> None:
    """Unload the adapters `unused` from every server. A server that does not answer is logged and skipped."""
    for server in servers:
        try:
            gone = adapter_server.unload_unused(server, map(build_named_adapter, unused))
        except EngineError as error:
            log.warning("%s may still serve unused adapters: %s", server.url, error)
        else:
            for name in gone:
                log.info("unloaded from %s: unused adapter %s", server.url, name)


def build_named_adapter(adapter: Adapter) -> NamedAdapter:
    """Return the name, base model, folder and SHA-256 of `adapter`, as `adapter_server` needs them."""
    return NamedAdapter(adapter.name, adapter.base, adapter.directory, adapter.sha256)


def _note_benchmarks(model: Model, to: Alias) -> str:
    if to is not Alias.CHAMPION or model.gate.get("by_outcomes"):
        return ""
    return "; only benchmarks support it, no outcomes"


def _note_request(terms: PromotionRules) -> str:
    return f"; {terms.request.note}" if terms.request else ""


def _note_weaker_rules(model: Model, terms: PromotionRules) -> str:
    weaker = find_weaker_rules(model.gate.get("rules"), terms.rules)
    return (
        f"; its gate used weaker rules than the present ones: {', '.join(weaker)}" if weaker else ""
    )


def _find_promotable(connection: Connection, name: str, to: Alias, terms: PromotionRules) -> Model:
    """Return a model that may get the alias now. Raises UnknownModel and NotPromoted."""
    model = models.find_by_name(connection, name)
    if reason := explain_refusal(name, model.state, to):
        raise NotPromoted(reason)
    _check_holder(connection, to, terms.request)
    _check_gate(model, terms)
    if to is not Alias.SHADOW:
        _check_champion(
            model, models.load_line_up(connection).select_verifier(terms.verifier).champion
        )
    return model


def _check_champion(model: Model, champion: Adapter | None) -> None:
    """Raise NotPromoted if the gate compared the model with an older champion."""
    if reason := explain_old_champion(model.adapter, model.gate, model.run, champion):
        raise NotPromoted(reason)


def _check_holder(connection: Connection, alias: Alias, request: PageRequest | None) -> None:
    """Raise NotPromoted if the alias changed hands since the operator looked."""
    if request is None:
        return
    holder = models.find_alias_holder(connection, alias)
    if reason := explain_new_holder(alias, request.holder, holder.adapter.name if holder else None):
        raise NotPromoted(reason)


def _check_gate(model: Model, terms: PromotionRules) -> None:
    name = model.adapter.name
    if reason := explain_gate_refusal(name, model.gate, model.run):
        raise NotPromoted(reason)
    if model.adapter.verifier != terms.verifier:
        raise NotPromoted(
            f"{name} was trained to answer as {model.adapter.verifier}, and R4P_VERIFIER is {terms.verifier}"
        )
    weaker = find_weaker_rules(model.gate.get("rules"), terms.rules)
    if weaker and not terms.by_laxer_rules:
        raise NotPromoted(
            f"{name} passed a gate with weaker rules than the present ones ({', '.join(weaker)}); measure it with "
            f"the present rules: r4p train evaluate --margin {terms.rules.margin} --least-issues {terms.rules.least_issues}, then r4p "
            f"models register {model.run}; or accept them: r4p models promote {name} --by-laxer-rules"
        )
