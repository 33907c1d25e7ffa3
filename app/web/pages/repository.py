"""The page of one repository: its settings with their origin, and its budget. And the page of all commands."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.db.store.pages import group_page
from app.db.store.queue.installation_controls import read_daily_usage, read_limits
from app.policy.ceilings import clip_config, override_ceilings
from app.policy.commands import REGISTRY
from app.settings import CeilingSettings
from app.settings.repo_config import FILE, WITHOUT_FILE, RepoConfig, parse
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page
from app.web.pages.track_record import read_name

_NO_FILE: Final = "default, because the repository has no file"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A key of the repository's settings with its value in force and where the value comes from."""

    key: str
    value: str
    origin: str


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
    values = {
        "viewer": viewer,
        "place": place,
        "rows": list_settings(stored.text, ceilings),
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


def list_settings(text: str | None, ceilings: CeilingSettings) -> tuple[SettingRow, ...]:
    """List each key of the repository's settings with its value in force (pure)."""
    parsed = parse(text) if text is not None else WITHOUT_FILE
    config = parsed if isinstance(parsed, RepoConfig) else WITHOUT_FILE
    in_force = clip_config(config, ceilings)
    values = in_force.model_dump(mode="json")
    return tuple(
        SettingRow(key, _write(values[key]), _find_origin(key, text, config, in_force))
        for key in RepoConfig.model_fields
        if key != "version"
    )


def show_help(_site: Site, viewer: Viewer, _request: Request) -> Response:
    """Show every command of the registry, with its permission."""
    commands = [(verb.value, command) for verb, command in REGISTRY.items()]
    return render_page("help.html.j2", {"viewer": viewer, "commands": commands})


def _find_origin(key: str, text: str | None, config: RepoConfig, in_force: RepoConfig) -> str:
    if getattr(config, key) != getattr(in_force, key):
        return "limit of the bot's operator"
    if text is None:
        return _NO_FILE
    return FILE if key in config.model_fields_set else "default"


def _write(value: object) -> str:
    match value:
        case None | [] | ():
            return "none"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name}: {part}" for name, part in value.items())
        case _:
            return str(value)
