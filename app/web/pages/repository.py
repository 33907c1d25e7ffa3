"""The page of one repository: its settings with their origin, and its budget. And the page of all commands."""

from starlette.requests import Request
from starlette.responses import Response

from app.db.store.pages import group_page
from app.db.store.queue.installation_controls import read_daily_usage, read_limits
from app.policy.ceilings import clip_config, override_ceilings
from app.policy.command_registry import REGISTRY, describe_access
from app.settings.config_layers import combine, list_settings
from app.settings.repo_config import FILE
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page
from app.web.pages.track_record import read_name


def show_repository(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show a repository's effective settings, each key's origin, and today's budget."""
    with site.database.connect() as connection:
        place = group_page.find_repository(connection, read_name(request), viewer.repositories)
        if place is None:
            raise PageMissing
        stored = group_page.read_settings_row(connection, place.id)
        limits = read_limits(connection, place.installation)
        usage = read_daily_usage(connection, place.id)
    ceilings = override_ceilings(site.ceilings, limits)
    in_force = clip_config(combine(stored.own_text, stored.default_text), ceilings)
    values = {
        "viewer": viewer,
        "place": place,
        "rows": list_settings(stored.own_text, stored.default_text, in_force),
        "problem": stored.error,
        "budget": [
            (
                "Evaluations",
                usage.repository_evaluations,
                ceilings.max_evaluations_per_repository_day,
            ),
            ("Tokens", usage.repository_tokens, ceilings.max_tokens_per_repository_day),
        ],
        "file": FILE,
    }
    return render_page("repository.html.j2", values)


def show_help(_site: Site, viewer: Viewer, _request: Request) -> Response:
    """Show every command of the registry, with its permission."""
    commands = [
        (verb.value, command, describe_access(command.needs)) for verb, command in REGISTRY.items()
    ]
    return render_page("help.html.j2", {"viewer": viewer, "commands": commands})
