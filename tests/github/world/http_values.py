"""The shapes of HTTP inside the stand-in: a call, its answer, GitHub's errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.github.world.state import AppRecord, Repository, Token, User

Json = dict[str, Any]
"""A JSON object on the wire; it is checked against GitHub's schemas, so it needs no type here."""

REST_PREFIX = "/api/v3"


class ApiError(Exception):
    """An error answer of GitHub's: status, message, optional details."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": str(status),
        }
        if errors is not None:
            self.body["errors"] = errors
        self.headers = dict(headers or {})


class NotModelled(Exception):
    """The stand-in does not model this; it raises, because guessing hides bugs."""


def not_found() -> ApiError:
    """Build the 404 for an object that does not exist or is not visible."""
    return ApiError(404, "Not Found")


def invalid(resource: str, name: str, code: str = "invalid", message: str = "") -> ApiError:
    """Build a 422 about a field of the request."""
    detail = {"resource": resource, "code": code, "field": name}
    return ApiError(
        422, "Validation Failed", errors=[detail | ({"message": message} if message else {})]
    )


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: an App (by JWT), an installation or a person (by token), or nobody."""

    app: AppRecord | None = None
    token: Token | None = None
    person: User | None = None
    """A person by a user access token; `app` is then the App of the token."""

    @property
    def key(self) -> str:
        """The name of the caller's rate-limit meter."""
        if self.token is not None:
            return f"installation:{self.token.installation.id}"
        if self.person is not None:
            return f"person:{self.person.id}"
        return f"app:{self.app.id}" if self.app else "anonymous"

    @property
    def bot(self) -> User:
        """The account whose name the caller's writes carry."""
        app = self.token.installation.app if self.token else self.app
        if app is None:
            raise ApiError(401, "Requires authentication")
        return app.bot


@dataclass(frozen=True, slots=True)
class Call:
    """A REST request, already routed and authenticated."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Json
    params: Mapping[str, str]
    caller: Caller
    repository: Repository | None = None
    accept: str = ""
    """The media types that the caller wants."""

    @property
    def repo(self) -> Repository:
        """The repository in the path, which the caller may see."""
        if self.repository is None:
            raise not_found()
        return self.repository

    def text(self, name: str) -> str:
        """A string of the body; 422 if it is missing or something else."""
        value = self.body.get(name)
        if not isinstance(value, str):
            raise ApiError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return value

    def number(self, name: str) -> int:
        """A numeric path parameter; anything else is 404, as on GitHub."""
        text = self.params[name]
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise not_found()
        return int(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """A handler's answer. `body` is JSON, bytes with a Content-Type among the headers, or None."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
