"""Authentication and permissions: App JWTs and installation tokens."""

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.github.world.http_values import ApiError, Caller, invalid, not_found
from tests.github.world.sign_ins import get_client_secret
from tests.github.world.state import AppRecord, Installation, Repository, Token
from tests.github.world.world import World

TOKEN_SECONDS = 3600
JWT_SECONDS = 600
_LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True, slots=True)
class Need:
    """A permission and its least level."""

    permission: str
    level: str

    def met_by(self, granted: Mapping[str, str]) -> bool:
        """Return whether the granted permissions are enough."""
        return _LEVELS[granted.get(self.permission, "none")] >= _LEVELS[self.level]


def needs(text: str) -> tuple[Need, ...]:
    """Parse `issues=write; pull_requests=write` (any one of them is enough)."""
    pairs = (part.strip().partition("=") for part in text.split(";") if part.strip())
    return tuple(Need(name, level) for name, _, level in pairs)


def identify(world: World, header: str | None) -> Caller:
    """Return the caller of an Authorization header; 401 for a bad header, nobody without one."""
    if not header:
        return Caller()
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        return Caller(app=_find_client(world, value))
    if scheme.lower() not in {"bearer", "token"}:
        raise ApiError(401, "Bad credentials")
    if value.startswith("ghs_"):
        return Caller(token=live_token(world, value))
    if value.startswith("ghu_"):
        app, person = world.sign_ins.find_person(value, world.clock.now())
        return Caller(app=app, person=person)
    return Caller(app=_app_of_jwt(world, value))


def live_token(world: World, value: str) -> Token:
    """The installation token with this value; 401 if unknown or expired, 403 if suspended."""
    token = world.tokens.get(value)
    if token is None or token.expires_at <= world.clock.now():
        raise ApiError(401, "Bad credentials")
    if token.installation.suspended_at is not None:
        raise build_suspension_error()
    return token


def build_suspension_error() -> ApiError:
    """Build the answer for a suspended installation."""
    return ApiError(403, "This installation has been suspended")


def issue_token(
    world: World,
    installation: Installation,
    repositories: frozenset[int] | None,
    permissions: Mapping[str, str],
) -> Token:
    """Issue an installation token in GitHub's form: `ghs_<app id>_<JWT>`, about 520 characters."""
    claims = {
        "iss": "api.github.com",
        "sub": str(installation.id),
        "exp": int(world.clock.now()) + TOKEN_SECONDS,
        "jti": world.ids.guid(),
    }
    signed = jwt.encode(claims, _key(installation.app.private_key), algorithm="RS256")
    value = f"ghs_{installation.app.id}_{signed}"
    token = Token(
        value=value,
        installation=installation,
        permissions=dict(permissions),
        repository_ids=repositories,
        expires_at=world.clock.now() + TOKEN_SECONDS,
    )
    world.tokens[value] = token
    return token


@cache
def _key(pem: str) -> RSAPrivateKey:
    """Parse a private key, cached because parsing takes as long as fifty signatures."""
    return cast(RSAPrivateKey, load_pem_private_key(pem.encode(), password=None))


def narrow_permissions(
    installation: Installation, wanted: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the permissions that a token gets; 422 if the installation lacks one."""
    if not wanted:  # an empty object narrows nothing
        return dict(installation.permissions)
    for name, level in wanted.items():
        if not Need(name, level).met_by(installation.permissions):
            raise ApiError(422, "The permissions requested are not granted to this installation.")
    return {"metadata": "read", **wanted}


def covers(token: Token, repo: Repository) -> bool:
    """Return whether a token reaches a repository."""
    allowed = token.repository_ids
    return repo.id in token.installation.repository_ids and (allowed is None or repo.id in allowed)


def visible(caller: Caller, repo: Repository) -> bool:
    """Return whether the caller may know that a repository exists."""
    return not repo.private or (caller.token is not None and covers(caller.token, repo))


def authorize(caller: Caller, repo: Repository, wanted: tuple[Need, ...], reading: bool) -> None:
    """Raise 404 for an invisible repository, and 403 for a missing permission."""
    if not visible(caller, repo):
        raise not_found()
    if caller.token is None:
        if reading and caller.app is None:
            return
        raise ApiError(401, "Requires authentication")
    if not covers(caller.token, repo):
        if reading:
            return
        raise forbidden(wanted)
    if wanted and not any(need.met_by(caller.token.permissions) for need in wanted):
        raise forbidden(wanted)


def forbidden(wanted: tuple[Need, ...]) -> ApiError:
    """Build GitHub's answer for a missing permission."""
    return ApiError(
        403,
        "Resource not accessible by integration",
        headers={"x-accepted-github-permissions": list_accepted_permissions(wanted)},
    )


def list_accepted_permissions(wanted: tuple[Need, ...]) -> str:
    """Return the value of `x-accepted-github-permissions`."""
    return "; ".join(f"{need.permission}={need.level}" for need in wanted)


def require_app(caller: Caller) -> AppRecord:
    """Return the App of a JWT; 401 for any other caller."""
    if caller.app is None:
        raise ApiError(401, "A JSON web token could not be decoded")
    return caller.app


def require_token(caller: Caller) -> Token:
    """Return the caller's installation token; 403 for any other caller."""
    if caller.token is None:
        raise ApiError(403, "Resource not accessible by integration")
    return caller.token


def repository_ids(
    installation: Installation, by_id: Mapping[int, Repository], wanted: object
) -> frozenset[int] | None:
    """Return the repositories that a token is limited to; 422 for one without the App."""
    if not wanted:
        return None
    installed = {r.id: r.name for r in by_id.values() if r.id in installation.repository_ids}
    ids = frozenset(
        number for number, name in installed.items() if includes_repository(wanted, number, name)
    )
    if not isinstance(wanted, list) or len(ids) != len(set(wanted)):
        raise invalid("InstallationToken", "repositories")
    return ids


def includes_repository(wanted: object, number: int, name: str) -> bool:
    """Return whether a list of ids or of names holds this repository."""
    return isinstance(wanted, list) and (number in wanted or name in wanted)


def _find_client(world: World, value: str) -> AppRecord:
    """The App whose client id and client secret a Basic header holds."""
    client_id, _, secret = base64.b64decode(value).decode().partition(":")
    for app in world.apps.values():
        if app.client_id == client_id and get_client_secret(app) == secret:
            return app
    raise ApiError(401, "Bad credentials")


def _app_of_jwt(world: World, value: str) -> AppRecord:
    """Check an App JWT as GitHub does; the clock is the real one, as the bot's is."""
    try:
        issuer = str(jwt.decode(value, options={"verify_signature": False}).get("iss"))
    except jwt.InvalidTokenError as error:
        raise ApiError(401, "A JSON web token could not be decoded") from error
    record = next((a for a in world.apps.values() if issuer in {str(a.id), a.client_id}), None)
    if record is None:
        raise ApiError(404, "Integration not found")
    try:
        claims = jwt.decode(
            value, record.public_key, algorithms=["RS256"], options={"require": ["exp", "iat"]}
        )
    except jwt.ExpiredSignatureError as error:
        raise ApiError(
            401, "'Expiration time' claim ('exp') must be a numeric value representing the future"
        ) from error
    except jwt.ImmatureSignatureError as error:
        raise ApiError(401, "'Issued at' claim ('iat') must not be in the future") from error
    except jwt.InvalidTokenError as error:
        raise ApiError(401, "A JSON web token could not be decoded") from error
    if claims["exp"] > time.time() + JWT_SECONDS + 1:
        raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
    return record
