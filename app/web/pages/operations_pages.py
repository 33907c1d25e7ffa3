"""Pages for operators: deliveries followed to their effects, the queue with its dead jobs, and the models."""

import logging
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app import logs
from app.db.store.models import models, trainings
from app.db.store.queue import job_trace, progress, upkeep
from app.jobs.learning_jobs import ChangeModel
from app.values.identifiers import DeliveryGuid, JobId
from app.web.pages.access import Viewer
from app.web.pages.model_change import list_offers, require_operator
from app.web.pages.page_endpoints import (
    Form,
    PageMissing,
    PageRefused,
    Site,
    read_number,
)
from app.web.pages.rendering import render_page

log = logging.getLogger(__name__)

_DELIVERIES: Final = 50
_DEAD: Final = 100
_STEPS: Final = 300
_REQUESTS: Final = 10
_LONGEST_GUID: Final = 64
_TAKEN_WITHIN: Final = timedelta(minutes=5)
"""Time after which a request that nobody took shows how to start the worker."""


def show_queue(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the newest deliveries, the queue's counts and the jobs that gave up."""
    require_operator(viewer)
    with site.database.connect() as connection:
        values = {
            "viewer": viewer,
            "deliveries": job_trace.list_newest_deliveries(connection, _DELIVERIES),
            "counts": upkeep.count_jobs(connection),
            "waiting": upkeep.count_waiting(connection),
            "dead": upkeep.list_dead(connection, _DEAD),
            "is_retried": request.query_params.get("retried") == "1",
        }
    return render_page("queue.html.j2", values)


def find_delivery(_site: Site, viewer: Viewer, request: Request) -> Response:
    """Lead from the search field to the delivery's page."""
    require_operator(viewer)
    guid = request.query_params.get("guid", "").strip()[:_LONGEST_GUID]
    if not guid.replace("-", "").isalnum() or not guid.isascii():
        raise PageMissing
    return RedirectResponse(f"/deliveries/{guid}", HTTPStatus.SEE_OTHER)


def show_delivery(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show every job and every write on GitHub that a delivery caused."""
    require_operator(viewer)
    guid = DeliveryGuid(request.path_params["guid"][:_LONGEST_GUID])
    with site.database.connect() as connection:
        steps = job_trace.trace_delivery(connection, guid)
    if not steps:
        raise PageMissing
    values = {"viewer": viewer, "guid": guid, "steps": steps[:_STEPS], "total": len(steps)}
    return render_page("delivery.html.j2", values)


def retry_job(site: Site, viewer: Viewer, request: Request, _form: Form) -> Response:
    """Make a dead job ready again, as `r4p jobs --requeue` does."""
    require_operator(viewer)
    job = JobId(read_number(request, "job"))
    logs.add_ids(job=job)
    with site.database.begin() as connection:
        is_ready = upkeep.requeue(connection, job)
    if not is_ready:
        raise PageRefused("This job is not dead any more, or the same work waits already.")
    log.info("%s made a dead job ready again", viewer.login)
    return RedirectResponse("/deliveries?retried=1", HTTPStatus.SEE_OTHER)


def show_models(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the trained models with their gates, the changes of aliases, requests for changes and the newest training."""
    require_operator(viewer)
    with site.database.connect() as connection:
        stored = models.list_models(connection)
        values = {
            "viewer": viewer,
            "models": stored,
            "offers": list_offers(connection, stored),
            "requests": progress.list_reports(connection, ChangeModel.kind, _REQUESTS),
            "soon": _TAKEN_WITHIN,
            "is_asked": request.query_params.get("asked") == "1",
            "moves": models.list_moves(connection),
            "training": trainings.find_last(connection),
        }
    return render_page("models.html.j2", values)
