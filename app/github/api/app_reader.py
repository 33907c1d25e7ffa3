"""Read the App itself, its installations and their repositories, and turn a manifest's code into an App."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from app.github.api_call import Call, Json, Method
from app.github.http.connection import AppConnection
from app.github.http.transport import PER_PAGE, Transport
from app.github.redaction import remember
from app.github.wire import rest
from app.values.identifiers import InstallationId

MOST_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class RegisteredApp:
    """The App as GitHub knows it."""

    id: int
    slug: str
    url: str
    """The App's public page. `/installations/new` below it installs the App."""
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    server_time: datetime | None
    """GitHub's clock at the time of the answer; None if GitHub did not say."""


@dataclass(frozen=True, slots=True)
class NewApp:
    """An App that GitHub has just registered from a manifest, with its credentials."""

    id: int
    slug: str
    url: str
    client_id: str
    client_secret: SecretStr
    webhook_secret: SecretStr
    private_key: SecretStr
    person: str | None
    """Login of the person who owns the App; None: an organization owns it."""


@dataclass(frozen=True, slots=True)
class AppInstallation:
    """The App on an account."""

    id: InstallationId
    account: str
    url: str
    """The installation's page for the account's owners."""
    permissions: Mapping[str, str]
    is_suspended: bool


@dataclass(frozen=True, slots=True)
class InstalledRepositoryFacts:
    """The settings of a repository that decide whether rivals can come."""

    full_name: str
    is_archived: bool
    has_pull_requests: bool
    creation_policy: str
    """Who may open pull requests: `all` or `collaborators_only`."""


def read_app(github: AppConnection) -> RegisteredApp:
    """Read the App. Raises Unauthorized if GitHub refuses its id or key, or this machine's clock is wrong."""
    call = Call(Method.GET, "/app")
    answer = github.send_as_app(call)
    app = rest.read_slice(rest.RegisteredAppSlice, call, answer)
    return RegisteredApp(
        app.id, app.slug, app.html_url, app.permissions, app.events, answer.server_time
    )


def list_installations(github: AppConnection) -> tuple[AppInstallation, ...]:
    """List the App's installations, at most 1,000."""
    listed: list[AppInstallation] = []
    for page in range(1, MOST_PAGES + 1):
        call = Call(Method.GET, "/app/installations", {"per_page": PER_PAGE, "page": page})
        answer = github.send_as_app(call)
        listed += [
            AppInstallation(
                id=InstallationId(item.id),
                account=item.account.login if item.account else "",
                url=item.html_url,
                permissions=item.permissions,
                is_suspended=item.suspended_at is not None,
            )
            for item in rest.read_slice(tuple[rest.InstallationSlice, ...], call, answer)
        ]
        if 'rel="next"' not in answer.headers.get("link", ""):
            break
    return tuple(listed)


def list_repositories(
    github: AppConnection, installation: InstallationId
) -> tuple[InstalledRepositoryFacts, ...]:
    """List the first 100 repositories of an installation, with a token that may read their metadata only."""
    permissions: dict[str, Json] = {"metadata": "read"}
    path = f"/app/installations/{installation}/access_tokens"
    asked = Call(Method.POST, path, body={"permissions": permissions}, changes=False)
    grant = rest.read_slice(rest.TokenGrant, asked, github.send_as_app(asked))
    remember(grant.token)
    call = Call(Method.GET, "/installation/repositories", {"per_page": PER_PAGE})
    answer = github.transport.send(call, f"Bearer {grant.token}")
    return tuple(
        InstalledRepositoryFacts(
            item.full_name,
            item.archived,
            item.has_pull_requests,
            item.pull_request_creation_policy,
        )
        for item in rest.read_slice(rest.InstalledRepositoriesSlice, call, answer).repositories
    )


def convert_manifest(transport: Transport, code: str) -> NewApp:
    """Exchange the one-time code of a manifest for the App that GitHub registered, with its credentials.

    The code is valid for one hour and one exchange. Raises NotFound for another code.
    """
    remember(code)
    call = Call(Method.POST, f"/app-manifests/{code}/conversions")
    app = rest.read_slice(rest.NewAppSlice, call, transport.send(call, None))
    for secret in (app.client_secret, app.webhook_secret or "", app.pem):
        if secret:
            remember(secret)
    return NewApp(
        id=app.id,
        slug=app.slug,
        url=app.html_url,
        client_id=app.client_id,
        client_secret=SecretStr(app.client_secret),
        webhook_secret=SecretStr(app.webhook_secret or ""),
        private_key=SecretStr(app.pem),
        person=app.owner.login if app.owner and app.owner.type == "User" else None,
    )
