"""The forms of the Models page: promote a model, and roll a role back, each with a page that says what will change.

The web process only stores a job. The worker `train` decides again and changes the role.
"""

import uuid
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.db.store.models import models
from app.db.store.models.models import Model, UnknownModel
from app.db.store.queue.job_rows import store_planned
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import ChangeModel
from app.learning.model_serving import (
    Alias,
    explain_gate_refusal,
    explain_new_holder,
    explain_old_champion,
    explain_refusal,
)
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import Form, PageMissing, PageRefused, Site
from app.web.pages.rendering import render_page

_BASE: Final = "the model of the settings"
_OFFERED: Final = (Alias.CANARY, Alias.CHAMPION, Alias.SHADOW)
"""Roles in the order of the form. The first is chosen unless the operator chooses another."""


@dataclass(frozen=True, slots=True)
class RoleOffer:
    """The roles that a model can get now."""

    roles: tuple[Alias, ...]
    refusal: str | None
    """Why it cannot judge as champion; None: it can."""


def show_promotion(site: Site, viewer: Viewer, request: Request) -> Response:
    """Say what a promotion will change, and ask for a confirmation."""
    require_operator(viewer)
    alias, name = _read_alias(request.query_params), request.query_params.get("model", "")
    with site.database.connect() as connection:
        model = _find_promotable(connection, name, alias)
        holder = models.find_alias_holder(connection, alias)
    changes = [f"{name} becomes the {alias}."]
    if alias is Alias.CHAMPION:
        changes.append(f"{name} then judges instead of {_name(holder) or _BASE}.")
    elif holder is not None and holder.id != model.id:
        changes.append(f"{_name(holder)}, the {alias} now, becomes a candidate again.")
    changes.append("First, every model server loads it and must answer as it was trained.")
    return _ask(viewer, changes, alias=alias, model=name, holder=_name(holder))


def show_roll_back(site: Site, viewer: Viewer, request: Request) -> Response:
    """Say what a rollback will change, and ask for a confirmation."""
    require_operator(viewer)
    alias = _read_alias(request.query_params)
    with site.database.connect() as connection:
        holder = models.find_alias_holder(connection, alias)
        back = models.find_previous(connection, holder) if alias is Alias.CHAMPION else None
    if holder is None:
        raise PageRefused(f"No model is the {alias}, so there is nothing to roll back.")
    changes = [f"{_name(holder)} is rejected for good and loses the role {alias}."]
    if alias is Alias.CHAMPION:
        changes.append(f"{_name(back) or _BASE} judges again.")
    return _ask(viewer, changes, alias=alias, model="", holder=_name(holder))


def ask_for_change(site: Site, viewer: Viewer, _request: Request, form: Form) -> Response:
    """Store the job that changes the role, unless the role has changed hands since the person looked."""
    require_operator(viewer)
    alias, name, seen = _read_alias(form), form.get("model", ""), form.get("holder", "")
    with site.database.begin() as connection:
        now = _name(models.find_alias_holder(connection, alias))
        if reason := explain_new_holder(alias, seen or None, now or None):
            raise PageRefused(f"Nothing is changed: {reason}.")
        if name:
            _find_promotable(connection, name, alias)
        elif not now:
            raise PageRefused(f"No model is the {alias}, so there is nothing to roll back.")
        job = ChangeModel(OF_THE_APP, uuid.uuid4().hex, viewer.login, alias.value, name, seen)
        stored = store_planned(connection, [Planned(job, wish=job.name)])
    site.ring(stored)
    return RedirectResponse("/models?asked=1", HTTPStatus.SEE_OTHER)


def list_offers(connection: Connection, stored: list[Model]) -> dict[str, RoleOffer]:
    """Return for each model, by its name, the roles that the page offers. A model's own role is never offered."""
    return {model.adapter.name: _build_offer(connection, model) for model in stored}


def require_operator(viewer: Viewer) -> None:
    """Raise PageMissing for everybody but operators, who alone know that these pages exist."""
    if not viewer.is_operator:
        raise PageMissing


def _find_promotable(connection: Connection, name: str, alias: Alias) -> Model:
    """Return a model that may get the alias now. Raises PageRefused."""
    try:
        model = models.find_by_name(connection, name)
    except UnknownModel as error:
        raise PageRefused(f"Nothing is changed: {error}.") from error
    if reason := _explain(connection, model, alias):
        raise PageRefused(f"Nothing is changed: {reason}.")
    return model


def _build_offer(connection: Connection, model: Model) -> RoleOffer:
    refusals = {alias: _explain(connection, model, alias) for alias in _OFFERED}
    roles = (alias for alias, why in refusals.items() if why is None and alias != model.state.value)
    return RoleOffer(tuple(roles), refusals[Alias.CHAMPION])


def _explain(connection: Connection, model: Model, alias: Alias) -> str | None:
    """Decide as the worker does, as far as the database alone can tell."""
    adapter = model.adapter
    reason = explain_refusal(adapter.name, model.state, alias) or explain_gate_refusal(
        adapter.name, model.gate, model.run
    )
    if reason or alias is Alias.SHADOW:
        return reason
    champion = models.load_line_up(connection).select_verifier(adapter.verifier).champion
    return explain_old_champion(adapter, model.gate, model.run, champion)


def _ask(viewer: Viewer, changes: list[str], **form: str) -> Response:
    values = {"viewer": viewer, "changes": changes, "form": form}
    return render_page("model_change.html.j2", values)


def _read_alias(fields: Form) -> Alias:
    """Return the role that the form names. Raises PageRefused."""
    text = fields.get("alias", "")
    if text not in {*Alias}:
        raise PageRefused("Choose a role: champion, canary or shadow.")
    return Alias(text)


def _name(model: Model | None) -> str:
    return model.adapter.name if model else ""
