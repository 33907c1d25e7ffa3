"""Sessions: cookies that only this bot can read and write, and the token that every form repeats.

A session holds the person's token, so the cookie is encrypted and signed (Fernet), not only signed. The server stores
nothing, so any number of web processes share it.
"""

import base64
import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response

SESSION_SECONDS: Final = 8 * 3_600
"""Longest life of a session. GitHub's user tokens live as long."""
ATTEMPT_SECONDS: Final = 600
"""Time in which a person must finish a sign-in at GitHub."""
_SESSION: Final = "__Host-r4p-session"
_ATTEMPT: Final = "__Host-r4p-sign-in"
_MAX_COOKIE: Final = 4_096

Kind = TypeVar("Kind", "Session", "SignInAttempt")


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in person."""

    person: int
    """The account's id at GitHub."""
    login: str
    token: str
    """The person's user access token."""
    csrf: str
    """Every form of this session repeats this value."""
    seconds: int
    """Life of the session."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """A sign-in that waits for GitHub."""

    state: str
    """GitHub must repeat it."""
    verifier: str
    """The secret of PKCE."""
    target: str
    """Path of the page that the person wanted."""


def create_session(person: int, login: str, token: SecretStr, seconds: int | None) -> Session:
    """Create a session for a person whose token lives `seconds`; None: the token does not expire."""
    life = min(SESSION_SECONDS, seconds or SESSION_SECONDS)
    return Session(person, login, token.get_secret_value(), secrets.token_urlsafe(24), life)


class Cookies:
    """Writes and reads the cookies of sessions and of sign-ins, with keys derived from our App's client secret."""

    def __init__(self, secret: SecretStr) -> None:
        self._ciphers = {name: _derive_cipher(secret, name) for name in (_SESSION, _ATTEMPT)}

    def write_session(self, response: Response, session: Session) -> None:
        """Give the browser a session in place of its sign-in."""
        self._delete(response, _ATTEMPT)
        self._write(response, _SESSION, session, session.seconds)

    def write_attempt(self, response: Response, attempt: SignInAttempt) -> None:
        """Let the browser remember a sign-in until GitHub sends the person back."""
        self._write(response, _ATTEMPT, attempt, ATTEMPT_SECONDS)

    def read_session(self, request: Request) -> Session | None:
        """Return the browser's session; None without one, or when it is too old or not ours."""
        session = self._read(request, _SESSION, Session, SESSION_SECONDS)
        # A second check by the session's own, perhaps shorter, life
        return session and self._read(request, _SESSION, Session, session.seconds)

    def read_attempt(self, request: Request) -> SignInAttempt | None:
        """Return the sign-in that this browser began; None without one, or when it is too old."""
        return self._read(request, _ATTEMPT, SignInAttempt, ATTEMPT_SECONDS)

    def clear(self, response: Response) -> None:
        """Remove the session and the sign-in from the browser."""
        for name in (_SESSION, _ATTEMPT):
            self._delete(response, name)

    def _delete(self, response: Response, name: str) -> None:
        response.delete_cookie(name, secure=True, httponly=True, samesite="lax")

    def _write(self, response: Response, name: str, value: Any, seconds: int) -> None:
        text = self._ciphers[name].encrypt(json.dumps(asdict(value)).encode()).decode()
        response.set_cookie(
            name, text, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax"
        )

    def _read(self, request: Request, name: str, kind: type[Kind], seconds: int) -> Kind | None:
        text = request.cookies.get(name, "")
        if not text or len(text) > _MAX_COOKIE:
            return None
        try:
            return kind(**json.loads(self._ciphers[name].decrypt(text.encode(), ttl=seconds)))
        except (InvalidToken, TypeError, ValueError):
            return None


def _derive_cipher(secret: SecretStr, purpose: str) -> Fernet:
    derivation = HKDF(SHA256(), 32, salt=None, info=f"r4p pages {purpose}".encode())
    key = derivation.derive(secret.get_secret_value().encode())
    return Fernet(base64.urlsafe_b64encode(key))
