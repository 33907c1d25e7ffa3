"""People who sign in: the browser's person, the codes of the OAuth web flow, and their tokens."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

from tests.github.world.http_values import ApiError
from tests.github.world.state import AppRecord, Ids, User

CODE_SECONDS = 600
TOKEN_SECONDS = 28_800


def get_client_secret(app: AppRecord) -> str:
    """An App's client secret, 40 hexadecimal digits."""
    return hashlib.sha1(app.private_key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Code:
    """A code that an App may exchange once for a token."""

    app: AppRecord
    person: User
    redirect_uri: str
    challenge: str
    expires_at: float


@dataclass(slots=True)
class SignIns:
    """State of the OAuth web flow. Only the server's thread touches it."""

    person: User | None = None
    """The account that is signed in at GitHub in every browser; None: nobody allows a sign-in."""
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: dict[str, tuple[AppRecord, User, float]] = field(default_factory=dict)
    """App, person and end by token."""

    def issue_code(self, ids: Ids, app: AppRecord, asked: dict[str, str], now: float) -> str:
        """Issue a code for the browser's person, who allows every App."""
        if self.person is None:
            raise ApiError(403, "nobody is signed in here")
        code = hashlib.sha1(ids.guid().encode()).hexdigest()[:20]
        challenge = asked.get("code_challenge", "")
        redirect = asked.get("redirect_uri", "")
        self.codes[code] = Code(app, self.person, redirect, challenge, now + CODE_SECONDS)
        return code

    def exchange(
        self, ids: Ids, app: AppRecord, form: dict[str, str], now: float
    ) -> dict[str, object]:
        """Exchange a code for a token, or answer GitHub's error; both come with status 200."""
        if not hmac.compare_digest(form.get("client_secret", ""), get_client_secret(app)):
            return _build_error("incorrect_client_credentials")
        code = self.codes.pop(form.get("code", ""), None)
        if code is None or code.app is not app or code.expires_at < now:
            return _build_error("bad_verification_code")
        if code.redirect_uri != form.get("redirect_uri"):
            return _build_error("redirect_uri_mismatch")
        if code.challenge != _hash_verifier(form.get("code_verifier", "")):
            return _build_error("bad_verification_code")
        token = f"ghu_{hashlib.sha256(ids.guid().encode()).hexdigest()[:36]}"
        self.tokens[token] = (app, code.person, now + TOKEN_SECONDS)
        return {
            "access_token": token,
            "expires_in": TOKEN_SECONDS,
            "refresh_token": f"ghr_{'0' * 76}",
            "refresh_token_expires_in": 15_897_600,
            "scope": "",
            "token_type": "bearer",
        }

    def find_person(self, token: str, now: float) -> tuple[AppRecord, User]:
        """The App and the person of a live token; 401 for any other."""
        app, person, end = self.tokens.get(token, (None, None, 0.0))
        if app is None or person is None or end < now or person.deleted:
            raise ApiError(401, "Bad credentials")
        return app, person


def _hash_verifier(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") if verifier else ""


def _build_error(error: str) -> dict[str, object]:
    return {
        "error": error,
        "error_description": "The code passed is incorrect or expired.",
        "error_uri": "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors",
    }
