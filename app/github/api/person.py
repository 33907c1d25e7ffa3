"""A person at GitHub: the App's OAuth web flow, and the repositories that the person may see.

Every answer is read with the person's own token, so it shows nothing that GitHub would not show to this person.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import httpx
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from app.github.endpoints import Endpoints
from app.values.identifiers import InstallationId, RepositoryId
from app.values.permission import Permission

Wire = TypeVar("Wire", bound=BaseModel)
_SECONDS: Final = 8.0
_PAGE: Final = 100
_MAX_CALLS: Final = 30
"""Most calls for one person's repositories: 3,000 repositories, or 30 installations."""
_ROLES: Final = (
    ("admin", Permission.ADMIN),
    ("maintain", Permission.MAINTAIN),
    ("push", Permission.WRITE),
    ("triage", Permission.TRIAGE),
    ("pull", Permission.READ),
)


class PersonUnknown(Exception):
    """GitHub does not accept the person's token or code any more, so the person must sign in again."""


class PersonUnreadable(Exception):
    """GitHub did not answer, or not as documented. The message is for people and holds no secret."""


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """A person's user access token, and how many seconds it lives; None: it does not expire."""

    value: SecretStr
    seconds: int | None


@dataclass(frozen=True, slots=True)
class Person:
    """An account at GitHub."""

    id: int
    login: str


@dataclass(frozen=True, slots=True)
class RepositoryRight:
    """A repository of an installation of our App, and the person's permission there."""

    installation: InstallationId
    repository: RepositoryId
    permission: Permission


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Grant(_Wire):
    access_token: SecretStr
    expires_in: int | None = None


class _User(_Wire):
    id: int
    login: str


class _Installation(_Wire):
    id: int


class _Installations(_Wire):
    installations: list[_Installation]


class _Repository(_Wire):
    id: int
    permissions: Mapping[str, bool] = {}


class _Repositories(_Wire):
    repositories: list[_Repository]


@dataclass(frozen=True, slots=True)
class PersonApi:
    """GitHub's OAuth endpoints and the endpoints of a signed-in person. Threads may share it."""

    endpoints: Endpoints
    client_id: str
    client_secret: SecretStr
    http: httpx.Client

    def build_authorize_url(self, redirect_uri: str, state: str, challenge: str) -> str:
        """Build the URL of GitHub's sign-in page; `challenge` is the PKCE code challenge by S256."""
        query = {
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.endpoints.web}/login/oauth/authorize?{urlencode(query)}"

    def exchange_code(self, code: str, redirect_uri: str, verifier: str) -> PersonalToken:
        """Exchange the code of a sign-in for the person's token. Raises PersonUnknown and PersonUnreadable."""
        form = {
            "client_id": self.client_id,
            "client_secret": self.client_secret.get_secret_value(),
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        url = f"{self.endpoints.web}/login/oauth/access_token"
        answer = self._send("POST", url, data=form, headers={"Accept": "application/json"})
        if isinstance(answer, dict) and "error" in answer:
            raise PersonUnknown(str(answer["error"])[:100])
        grant = _read(_Grant, answer)
        return PersonalToken(grant.access_token, grant.expires_in)

    def read_person(self, token: SecretStr) -> Person:
        """Return the account that the token belongs to. Raises PersonUnknown and PersonUnreadable."""
        user = _read(_User, self._get("/user", token))
        return Person(user.id, user.login)

    def list_rights(self, token: SecretStr) -> tuple[RepositoryRight, ...]:
        """List the repositories of our App's installations that the person may read, with the permission in each.

        Raises PersonUnknown and PersonUnreadable. The list ends after `_MAX_CALLS` calls.
        """
        return tuple(self._walk(token))

    def revoke(self, token: SecretStr) -> None:
        """Revoke a person's token at GitHub, so that no copy of it works any more. Raises PersonUnreadable."""
        self._send(
            "DELETE",
            f"{self.endpoints.rest}/applications/{self.client_id}/token",
            json={"access_token": token.get_secret_value()},
            auth=(self.client_id, self.client_secret.get_secret_value()),
            headers=self._build_headers(),
        )

    def _walk(self, token: SecretStr) -> Iterator[RepositoryRight]:
        calls = _MAX_CALLS
        first = f"/user/installations?per_page={_PAGE}"
        for installation in _read(_Installations, self._get(first, token)).installations:
            page, is_full = 1, True
            while is_full and (calls := calls - 1) > 0:
                path = f"/user/installations/{installation.id}/repositories?per_page={_PAGE}&page={page}"
                items = _read(_Repositories, self._get(path, token)).repositories
                for item in items:
                    permission = _read_permission(item.permissions)
                    if permission is not Permission.NONE:
                        place = InstallationId(installation.id), RepositoryId(item.id)
                        yield RepositoryRight(*place, permission)
                page, is_full = page + 1, len(items) == _PAGE

    def _get(self, path: str, token: SecretStr) -> Any:
        headers = self._build_headers() | {"Authorization": f"Bearer {token.get_secret_value()}"}
        return self._send("GET", f"{self.endpoints.rest}{path}", headers=headers)

    def _build_headers(self) -> dict[str, str]:
        version = self.endpoints.api_version
        return {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": version}

    def _send(self, method: str, url: str, **options: Any) -> Any:
        try:
            answer = self.http.request(method, url, timeout=_SECONDS, **options)
            if answer.status_code in {401, 404}:
                raise PersonUnknown("GitHub does not accept this sign-in any more")
            answer.raise_for_status()
            return answer.json() if answer.content else None
        except httpx.HTTPStatusError as error:
            raise PersonUnreadable(f"GitHub answered {error.response.status_code}") from error
        except (httpx.HTTPError, ValueError) as error:
            raise PersonUnreadable("GitHub did not answer in time, or not as documented") from error


def create_http_client() -> httpx.Client:
    """Create the HTTP client of a `PersonApi`. It follows no redirect, because a token must not travel."""
    return httpx.Client(follow_redirects=False, headers={"User-Agent": "r4p-bot"})


def _read_permission(granted: Mapping[str, bool]) -> Permission:
    return next((role for name, role in _ROLES if granted.get(name)), Permission.NONE)


def _read(kind: type[Wire], answer: object) -> Wire:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        raise PersonUnreadable("GitHub did not answer as documented") from error
