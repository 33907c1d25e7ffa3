"""Store trained models, their aliases and every move of an alias."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.dialects import postgresql

from app.db.tables.schema import model_aliases, models, shadow_verdicts
from app.github.redaction import redact
from app.jobs.job import Json
from app.learning.model_serving import Adapter, Alias, LineUp, ModelState, get_state_after
from app.values.identifiers import EvaluationId
from model.adapters import adapter_probe

_MEASURED_ANEW = frozenset({*ModelState} - {ModelState.REJECTED, ModelState.CHAMPION})
"""States of models that may be promoted, and so are compared with the present champion."""
_LOCK = 0x5234504D
"""Advisory lock: one alias moves at a time."""


class UnknownModel(Exception):
    """No trained model has the requested name. The message lists the names that exist."""


@dataclass(frozen=True, slots=True)
class NewModel:
    """A trained model to register, with the gate's decision."""

    adapter: Adapter
    run: Path
    state: ModelState
    why: str
    gate: Mapping[str, Any]
    """The `r4p.gate/1` document."""
    evaluation: Mapping[str, Any] | None = None
    """The `r4p.evaluation/1` document."""


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model as the database stores it."""

    id: int
    adapter: Adapter
    run: Path
    state: ModelState
    why: str
    share: float | None
    """The canary's share of the issues."""
    gate: Mapping[str, Any]
    evaluation: Mapping[str, Any] | None
    created_at: datetime
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Move:
    """One change of an alias. `model` is the new holder, or None if no model holds the alias any more."""

    alias: Alias
    model: str | None
    why: str
    moment: datetime


def register(connection: Connection, new: NewModel) -> str:
    """Save a trained model under a permanent name and return the name.

    An adapter with the same bytes and base is the same model and keeps its first name. A repeat updates
    the measurements: a candidate gets the gate's new decision, and a shadow or canary that now fails is
    rejected. Champions, former champions and rejected models keep their state.
    """
    adapter = new.adapter
    statement = postgresql.insert(models).values(
        name=adapter.name,
        base=adapter.base,
        verifier=adapter.verifier,
        run=str(new.run),
        directory=str(adapter.directory),
        sha256=adapter.sha256,
        state=new.state,
        why=new.why,
        gate=dict(new.gate),
        evaluation=dict(new.evaluation) if new.evaluation else None,
    )
    connection.execute(statement.on_conflict_do_nothing())
    kept = find_same_bytes(connection, adapter) or find_by_name(connection, adapter.name)
    if kept.state in _MEASURED_ANEW and kept.adapter.sha256 == adapter.sha256:
        _update_measurement(connection, kept, new)
    return kept.adapter.name


def list_models(connection: Connection) -> list[Model]:
    """List all trained models, newest first."""
    return [
        _build_model(row) for row in connection.execute(select(models).order_by(models.c.id.desc()))
    ]


def find_by_name(connection: Connection, name: str) -> Model:
    """Return the trained model named `name`. Raises UnknownModel, whose message lists the names that exist."""
    row = connection.execute(select(models).where(models.c.name == name)).one_or_none()
    if row is None:
        names = ", ".join(model.adapter.name for model in list_models(connection))
        choices = f"the names are {names}" if names else "there is none yet"
        raise UnknownModel(f"no trained model is called {name!r}; {choices}")
    return _build_model(row)


def find_same_bytes(connection: Connection, adapter: Adapter) -> Model | None:
    """Return the stored model with the bytes and base model of `adapter`, under any name; None if there is none."""
    same = (models.c.sha256 == adapter.sha256, models.c.base == adapter.base)
    row = connection.execute(select(models).where(*same)).one_or_none()
    return None if row is None else _build_model(row)


def find_alias_holder(connection: Connection, alias: Alias) -> Model | None:
    """Return the model that holds `alias`; None if no model holds it."""
    query = (
        select(model_aliases.c.model_id)
        .where(model_aliases.c.alias == alias)
        .order_by(model_aliases.c.id.desc())
        .limit(1)
    )
    identity = connection.scalar(query)
    if identity is None:
        return None
    return _build_model(connection.execute(select(models).where(models.c.id == identity)).one())


def load_line_up(connection: Connection) -> LineUp:
    """Load the adapters of the models that hold the aliases champion, canary and shadow, without rejected ones."""
    holders = (
        find_alias_holder(connection, alias)
        for alias in (Alias.CHAMPION, Alias.CANARY, Alias.SHADOW)
    )
    champion, canary, shadow = (
        model if model and model.state is not ModelState.REJECTED else None for model in holders
    )
    return LineUp(
        champion.adapter if champion else None,
        canary.adapter if canary else None,
        (canary.share or 0.0) if canary else 0.0,
        shadow.adapter if shadow else None,
    )


def list_moves(connection: Connection, limit: int = 20) -> list[Move]:
    """List the newest changes of aliases, at most `limit`, newest first."""
    query = (
        select(model_aliases, models.c.name)
        .join(models, models.c.id == model_aliases.c.model_id, isouter=True)
        .order_by(model_aliases.c.id.desc())
        .limit(limit)
    )
    return [
        Move(Alias(row.alias), row.name, row.why, row.created_at)
        for row in connection.execute(query)
    ]


def promote(
    connection: Connection, name: str, to: Alias, why: str, share: float | None = None
) -> None:
    """Give the alias `to` to the model `name` and take it from its holder. Raises UnknownModel.

    `why` is stored as the reason. `share` is a canary's share of the issues, 0 to 1.
    """
    lock(connection)
    model = find_by_name(connection, name)
    before = find_alias_holder(connection, to)
    if before and before.id != model.id:
        _set_state(connection, before, get_state_after(to), f"{name} came in its place")
    _drop_alias(connection, model, why)
    _record_move(connection, to, model, why)
    _set_state(connection, model, ModelState(to.value), why, share)


def withdraw(connection: Connection, alias: Alias, why: str) -> Model | None:
    """Reject the model that holds an alias; for the champion, give the alias back to the previous champion.

    Returns the alias's new holder; None if it has none. Without a champion, the model of the settings judges.
    """
    lock(connection)
    rejected = find_alias_holder(connection, alias)
    if rejected:
        _set_state(connection, rejected, ModelState.REJECTED, why)
    back = find_previous(connection, rejected) if alias is Alias.CHAMPION else None
    if back:
        _drop_alias(connection, back, why)
        _set_state(connection, back, ModelState.CHAMPION, why)
    _record_move(connection, alias, back, why)
    return back


def find_previous(connection: Connection, champion: Model | None) -> Model | None:
    """Return the model that was champion last, except `champion` and rejected models; None if there is none."""
    query = (
        select(models)
        .join(model_aliases, models.c.id == model_aliases.c.model_id)
        .where(model_aliases.c.alias == Alias.CHAMPION, models.c.state != ModelState.REJECTED)
        .where(models.c.id != (champion.id if champion else 0))
        .order_by(model_aliases.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _build_model(row)


def lock(connection: Connection) -> None:
    """Lock the aliases of all models until the transaction ends."""
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def reject(connection: Connection, name: str, why: str) -> None:
    """Reject the model `name` for good; if it holds an alias, withdraw the alias from it. Raises UnknownModel."""
    lock(connection)
    model, why = find_by_name(connection, name), redact(why)
    _set_state(connection, model, ModelState.REJECTED, why)
    for alias in Alias:
        if (held := find_alias_holder(connection, alias)) and held.id == model.id:
            withdraw(connection, alias, why)


def set_share(connection: Connection, name: str, share: float, why: str) -> None:
    """Set the share of issues, 0 to 1, that the canary `name` judges; its statistics go on. Raises UnknownModel."""
    lock(connection)
    model = find_by_name(connection, name)
    _record_move(connection, Alias.CANARY, model, why)
    connection.execute(update(models).where(models.c.id == model.id).values(share=share, why=why))


def save_shadow(connection: Connection, evaluation: EvaluationId, name: str, verdict: Json) -> None:
    """Save or replace the `r4p.verdict/1` of the shadow model `name` on an evaluation. Raises UnknownModel."""
    statement = postgresql.insert(shadow_verdicts).values(
        evaluation_id=evaluation, model_id=find_by_name(connection, name).id, verdict=verdict
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["evaluation_id", "model_id"],
            set_={"verdict": statement.excluded.verdict},
        )
    )


def _update_measurement(connection: Connection, model: Model, new: NewModel) -> None:
    evaluation = dict(new.evaluation) if new.evaluation else None
    connection.execute(
        update(models)
        .where(models.c.id == model.id)
        .values(gate=dict(new.gate), evaluation=evaluation)
    )
    if new.state is ModelState.REJECTED and model.state is not ModelState.RETIRED:
        reject(connection, model.adapter.name, new.why)
    elif model.state is ModelState.CANDIDATE and model.why != new.why:
        _set_state(connection, model, new.state, new.why)


def _drop_alias(connection: Connection, model: Model, why: str) -> None:
    """Take the alias that a model holds."""
    for alias in Alias:
        held = find_alias_holder(connection, alias)
        if held and held.id == model.id:
            _record_move(connection, alias, None, why)


def _record_move(connection: Connection, alias: Alias, to: Model | None, why: str) -> None:
    identity = to.id if to else None
    connection.execute(insert(model_aliases).values(alias=alias, model_id=identity, why=why))


def _set_state(
    connection: Connection, model: Model, state: ModelState, why: str, share: float | None = None
) -> None:
    connection.execute(
        update(models)
        .where(models.c.id == model.id)
        .values(state=state, why=why, share=share, changed_at=func.now())
    )


def _build_model(row: Row[*tuple[object, ...]]) -> Model:
    run = Path(row.run)
    probe = run / adapter_probe.FILE
    return Model(
        id=row.id,
        adapter=Adapter(row.name, row.base, Path(row.directory), row.sha256, row.verifier, probe),
        run=run,
        state=ModelState(row.state),
        why=row.why,
        share=row.share,
        gate=row.gate,
        evaluation=row.evaluation,
        created_at=row.created_at,
        changed_at=row.changed_at,
    )
