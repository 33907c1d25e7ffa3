"""Create the App's own token and short-lived tokens for one repository and one purpose.

Tokens are never written to disk, and logs mask them.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from github.Auth import AppAuth
from pydantic import SecretStr

from app.github.api_call import Call, Json, Method
from app.github.errors import Unprocessable
from app.github.http.transport import Transport
from app.github.redaction import remember
from app.github.wire import rest
from app.values.identifiers import InstallationId, RepositoryId, RepositoryRef

LONGEST_MARGIN_SECONDS: Final = 300.0


class Purpose(StrEnum):
    """What an installation token is for; each purpose gets only the permissions that it needs."""

    READ = "read"
    """Read the API and fetch git objects."""
    PUBLISH = "publish"
    """Write the comment, check runs and reactions, and read them."""
    OPEN_DRAFT = "open_draft"
    """Create a branch and a draft pull request; for tokens of the writer App only."""
    SEE = "see"
    """Only check that the repository exists. Every App may do this, so only a missing repository is
    refused."""


PERMISSIONS: Final[Mapping[Purpose, Mapping[str, str]]] = {
    Purpose.READ: {
        "contents": "read",
        "issues": "read",
        "pull_requests": "read",
        "checks": "read",
        "metadata": "read",
    },
    Purpose.PUBLISH: {
        "issues": "write",
        "pull_requests": "write",
        "checks": "write",
        "metadata": "read",
    },
    Purpose.OPEN_DRAFT: {"contents": "write", "pull_requests": "write", "metadata": "read"},
    Purpose.SEE: {"metadata": "read"},
}
"""Only the writer App asks for `contents: write`, and no other process has its key."""


OPTIONAL: Final[Mapping[Purpose, Mapping[str, str]]] = {Purpose.PUBLISH: {"statuses": "read"}}
"""Permissions that a token also gets where the installation has granted them."""


class App:
    """The identity of a GitHub App: its id and its private key. Raises ValueError when the key cannot sign."""

    def __init__(self, app_id: int, private_key: SecretStr) -> None:
        self.id = app_id
        remember(private_key.get_secret_value())
        try:
            self._auth = AppAuth(app_id, sign_func=_create_signer(private_key))
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ValueError(
                "the private key is not an RSA key in PEM form: set R4P_PRIVATE_KEY or"
                " R4P_PRIVATE_KEY_PATH (R4P_WRITER_PRIVATE_KEY for the writer App) to the key file from GitHub"
            ) from None

    def authorization(self) -> str:
        """Return a new value of the header Authorization for calls as the App itself.

        GitHub accepts it for some minutes.
        """
        return f"Bearer {self._auth.create_jwt()}"


def _create_signer(private_key: SecretStr) -> Callable[[dict[str, Any]], str]:
    """Return a function that signs claims; the key is read once, because that costs fifty
    signatures.
    """
    key = load_pem_private_key(private_key.get_secret_value().encode(), password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError(f"GitHub's keys are RSA, not {type(key).__name__}")
    return lambda claims: jwt.encode(claims, key, algorithm="RS256")


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    renew_at: float
    """On the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one installation token covers: a repository and a purpose."""

    installation: InstallationId
    repository: RepositoryId
    purpose: Purpose

    @classmethod
    def for_repository(cls, repository: RepositoryRef, purpose: Purpose) -> "Scope":
        """Return the scope of an installation token: one repository and the permissions for one purpose."""
        return cls(repository.installation, repository.id, purpose)


class Tokens:
    """Creates installation tokens and renews them before they expire.

    Threads may share it: while one thread fetches a token, others wait for the same one.
    """

    def __init__(
        self, app: App, transport: Transport, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._transport = transport
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._locks: dict[Scope, threading.Lock] = {}
        self._tokens: dict[Scope, _Token] = {}

    def get_token(self, scope: Scope) -> str:
        """Return an installation token for `scope` that stays valid for at least five minutes.

        A short-lived token stays valid for at least a tenth of its lifetime instead. Raises Unauthorized
        (unknown App or wrong key), NotFound (not installed any more) or Unprocessable (missing permission or
        repository).
        """
        # One lock per scope: a slow fetch for one repository must not block tokens for others.
        with self._lock:
            lock = self._locks.setdefault(scope, threading.Lock())
        with lock:
            token = self._tokens.get(scope)
            if token is None or self._monotonic() >= token.renew_at:
                token = self._fetch(scope)
                self._tokens[scope] = token
            return token.value

    def forget(self, scope: Scope) -> None:
        """Drop the token of `scope`, which GitHub refused, so that the next `get_token` fetches a new one."""
        self._tokens.pop(scope, None)

    def _fetch(self, scope: Scope) -> _Token:
        more = OPTIONAL.get(scope.purpose, {})
        try:
            return self._fetch_with(scope, more)
        except Unprocessable:
            if not more:
                raise
        return self._fetch_with(scope, {})

    def _fetch_with(self, scope: Scope, more: Mapping[str, str]) -> _Token:
        path = f"/app/installations/{scope.installation}/access_tokens"
        permissions: dict[str, Json] = {**PERMISSIONS[scope.purpose], **more}
        body: dict[str, Json] = {
            "permissions": permissions,
            "repository_ids": [scope.repository],
        }
        call = Call(Method.POST, path, body=body, changes=False)
        asked = self._monotonic()
        answer = self._transport.send(call, self._app.authorization())
        grant = rest.read_slice(rest.TokenGrant, call, answer)
        remember(grant.token)
        # Measure the life on GitHub's clock, so a wrong local clock does no harm.
        made_at = answer.server_time or self._transport.clock()
        life = max(0.0, (grant.expires_at - made_at).total_seconds())
        margin = min(LONGEST_MARGIN_SECONDS, life / 10)
        return _Token(grant.token, asked + life - margin)
