"""`r4p doctor` on the App: its settings, its key, the clock, its permissions and events, and where it is installed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from app.github.api import app_reader
from app.github.api.app_reader import AppInstallation, InstalledRepositoryFacts, RegisteredApp
from app.github.app_manifest import EVENTS, OPTIONAL_PERMISSIONS, list_missing_permissions
from app.github.endpoints import build_endpoints
from app.github.errors import GitHubError, Unauthorized
from app.github.http.auth import App
from app.github.http.connection import AppConnection
from app.github.http.transport import Transport
from app.operator.doctor.finding import Line, Mark
from app.settings import GitHubSettings, WebhookSettings, find_mistakes, load

MOST_CLOCK_SECONDS: Final = 30.0
"""GitHub refuses an App's token that was signed more than a minute in its future."""
MOST_INSTALLATIONS: Final = 10
"""Installations whose repositories the doctor reads."""
_SHOWN: Final = 3


def check_settings() -> Line | None:
    """Check that an App is set; None: it is, and GitHub can be asked."""
    wrong = find_mistakes(GitHubSettings, WebhookSettings)
    if not wrong:
        return None
    fix = "run `r4p setup`, or set R4P_APP_ID, R4P_PRIVATE_KEY_PATH and R4P_WEBHOOK_SECRET"
    return Line(Mark.FAIL, "App", "; ".join(dict.fromkeys(wrong)), fix)


@contextmanager
def open_connection() -> Iterator[AppConnection]:
    """Open a connection to GitHub as the App of the settings. Raises ValueError for an unusable key."""
    settings = load(GitHubSettings)
    app = App(settings.app_id, settings.read_key())
    connection = AppConnection(app, Transport(build_endpoints(settings.github_url)))
    try:
        yield connection
    finally:
        connection.close()


def check_app(github: AppConnection) -> Iterator[Line]:
    """Yield what GitHub says about the App and its installations. After a FAIL, nothing more can be asked."""
    try:
        app = app_reader.read_app(github)
        installations = app_reader.list_installations(github)
    except Unauthorized as error:
        yield Line(Mark.FAIL, "App key", str(error))
        return
    except GitHubError as error:
        fix = "check R4P_GITHUB_URL and this machine's way to GitHub"
        yield Line(Mark.FAIL, "GitHub", str(error), fix)
        return
    yield Line(Mark.OK, "App", f"{app.slug} ({app.id}), {app.url}")
    yield describe_clock(app.server_time, datetime.now(UTC))
    yield from describe_registration(app)
    yield describe_installations(app, installations)
    yield from _check_repositories(github, installations)


def describe_clock(server_time: datetime | None, now: datetime) -> Line:
    """Compare this machine's clock with GitHub's (pure)."""
    if server_time is None:
        return Line(Mark.OK, "clock", "GitHub did not say its time")
    ahead = (now - server_time).total_seconds()
    if abs(ahead) <= MOST_CLOCK_SECONDS:
        return Line(Mark.OK, "clock", "agrees with GitHub's")
    side = "ahead of" if ahead > 0 else "behind"
    return Line(
        Mark.LESS,
        "clock",
        f"{abs(ahead):.0f} s {side} GitHub's",
        "synchronise it, for example by NTP",
    )


def describe_registration(app: RegisteredApp) -> Iterator[Line]:
    """Compare the App's permissions and events with those that the bot needs (pure)."""
    page = "on the App's page, Permissions & events"
    missing = list_missing_permissions(app.permissions)
    if needed := {
        name: level for name, level in missing.items() if name not in OPTIONAL_PERMISSIONS
    }:
        yield Line(Mark.FAIL, "permissions", f"{_format(needed)} missing", f"add them {page}")
    elif missing:
        yield Line(
            Mark.LESS,
            "permissions",
            f"{_format(missing)} missing",
            f"add them {page}, if commit statuses should count",
        )
    else:
        yield Line(Mark.OK, "permissions", "all that the bot needs")
    silent = [event for event in EVENTS if event not in app.events]
    if silent:
        yield Line(Mark.FAIL, "events", f"not subscribed: {', '.join(silent)}", f"tick them {page}")
    else:
        yield Line(Mark.OK, "events", "all that the bot needs")


def describe_installations(app: RegisteredApp, installations: Sequence[AppInstallation]) -> Line:
    """Describe where the App is installed, and where its owner has not accepted its permissions (pure)."""
    about = "installations"
    if not installations:
        return Line(
            Mark.LESS, about, "the App is installed nowhere", f"open {app.url}/installations/new"
        )
    behind = [
        item
        for item in installations
        if list_missing_permissions(item.permissions).keys() - OPTIONAL_PERMISSIONS
    ]
    suspended = [item.account for item in installations if item.is_suspended]
    names = ", ".join(item.account for item in installations[:_SHOWN])
    more = f" and {len(installations) - _SHOWN} more" if len(installations) > _SHOWN else ""
    if behind:
        return Line(
            Mark.LESS,
            about,
            f"{behind[0].account} has not accepted the App's permissions",
            f"its owner accepts them at {behind[0].url}",
        )
    if suspended:
        return Line(Mark.LESS, about, f"suspended by {', '.join(suspended[:_SHOWN])}")
    return Line(Mark.OK, about, f"on {names}{more}")


def _check_repositories(
    github: AppConnection, installations: Sequence[AppInstallation]
) -> Iterator[Line]:
    repositories: list[InstalledRepositoryFacts] = []
    for item in [item for item in installations if not item.is_suspended][:MOST_INSTALLATIONS]:
        try:
            repositories += app_reader.list_repositories(github, item.id)
        except GitHubError as error:
            yield Line(Mark.LESS, "repositories", f"those of {item.account} can't be read: {error}")
    if repositories:
        yield from describe_repositories(repositories)


def describe_repositories(repositories: Sequence[InstalledRepositoryFacts]) -> Iterator[Line]:
    """Describe GitHub's own settings that keep rivals away (pure).

    GitHub shows the cap on open pull requests of a person only to an App that may administer the repository, which the
    bot never asks for.
    """
    about, live = "repositories", [item for item in repositories if not item.is_archived]
    off = [item.full_name for item in live if not item.has_pull_requests]
    closed = [
        item.full_name for item in live if item.has_pull_requests and item.creation_policy != "all"
    ]
    if off:
        fix = "in its settings, under Features, or take the bot off it"
        yield Line(Mark.LESS, about, f"pull requests are switched off: {_shorten(off)}", fix)
    if closed:
        text = f"only collaborators may open pull requests: {_shorten(closed)}"
        fix = "expect no rivals from others, or allow everybody in its settings, under Features"
        yield Line(Mark.LESS, about, text, fix)
    if not off and not closed:
        yield Line(Mark.OK, about, f"{len(live)} with pull requests open to everybody")
    if live:
        text = "unknown: a repository may cap a person's open pull requests, and the bot may not read the cap"
        fix = "look in the repository's settings, under Moderation options, Interaction limits"
        yield Line(Mark.OK, "pull request cap", text, fix)


def _shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _format(permissions: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {level}" for name, level in permissions.items())
