"""Tokens: narrow, kept until shortly before they expire, fetched once however many ask."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from pydantic import SecretStr

from app.github.endpoints import build_endpoints
from app.github.errors import Unauthorized, Unprocessable
from app.github.http.auth import OPTIONAL, PERMISSIONS, App, Purpose, Scope, Tokens
from app.github.http.transport import Transport
from app.github.redaction import redact
from tests.builders.github.local_github import KEY, REPOSITORY, Reply, connect

READ = Scope.for_repository(REPOSITORY, Purpose.READ)
PUBLISH = Scope.for_repository(REPOSITORY, Purpose.PUBLISH)
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def moment():
    return [0.0]


@pytest.fixture
def tokens(server, moment):
    server.now = NOW
    transport = Transport(build_endpoints(server.url), timeout=2)
    yield Tokens(App(99, SecretStr(KEY)), transport, monotonic=lambda: moment[0])
    transport.close()


def lives(server, seconds):
    server.token_expires = (NOW + timedelta(seconds=seconds)).isoformat()


def test_a_token_is_for_one_repository_and_no_more_than_its_purpose(server, tokens):
    tokens.get_token(READ)
    tokens.get_token(PUBLISH)
    assert [asked.body for asked in server.grants] == [
        {"repository_ids": [42], "permissions": PERMISSIONS[Purpose.READ]},
        {
            "repository_ids": [42],
            "permissions": {**PERMISSIONS[Purpose.PUBLISH], **OPTIONAL[Purpose.PUBLISH]},
        },
    ]


def test_no_purpose_may_push():
    writing = [one for one, granted in PERMISSIONS.items() if granted.get("contents") == "write"]
    assert writing == [Purpose.OPEN_DRAFT]
    assert not any("workflows" in granted for granted in PERMISSIONS.values())


@pytest.mark.parametrize(
    ("life", "kept"),
    [
        pytest.param(3_600, 3_300, id="an hour, less five minutes"),
        pytest.param(60, 54, id="a minute, less a tenth"),
    ],
)
def test_a_token_is_kept_until_shortly_before_it_expires(server, tokens, moment, life, kept):
    lives(server, life)
    first = tokens.get_token(READ)
    moment[0] = kept - 1
    assert tokens.get_token(READ) == first
    moment[0] = kept
    assert tokens.get_token(READ) != first


def test_a_forgotten_token_is_fetched_anew(tokens):
    first = tokens.get_token(READ)
    tokens.forget(READ)
    assert tokens.get_token(READ) != first


def test_many_who_ask_at_once_share_one_token(server, tokens):
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(tokens.get_token(READ))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert len(set(seen)) == len(server.grants) == 1


def test_a_token_is_masked_from_the_moment_it_is_known(tokens):
    assert tokens.get_token(READ) not in redact(f"Bearer {tokens.get_token(READ)}")


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (Reply(401, {"message": "A JSON web token could not be decoded"}), Unauthorized),
        (Reply(422, {"message": "The permissions requested are not granted"}), Unprocessable),
    ],
)
def test_a_refused_token_request_is_final(server, tokens, refusal, error):
    server.token_refusal = refusal
    with pytest.raises(error):
        tokens.get_token(READ)


PKCS8 = (Encoding.PEM, PrivateFormat.PKCS8)
OWN = rsa.generate_private_key(65537, 2048)
UNUSABLE = {
    "none": b"",
    "no key": b"no key",
    "torn": b"-----BEGIN RSA PRIVATE KEY-----\nxx\n",
    "public": OWN.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    "encrypted": OWN.private_bytes(*PKCS8, BestAvailableEncryption(b"word")),
    "not RSA": ec.generate_private_key(ec.SECP256R1()).private_bytes(*PKCS8, NoEncryption()),
}


@pytest.mark.parametrize("key", [key.decode() for key in UNUSABLE.values()], ids=UNUSABLE)
def test_a_key_that_cannot_sign_is_refused_at_once_and_not_shown(key):
    with pytest.raises(ValueError, match="R4P_PRIVATE_KEY") as refused:
        App(99, SecretStr(key))
    assert not key or key not in str(refused.value)


def test_a_revoked_token_is_replaced_in_mid_job(scene):
    issue = scene.repo.open_issue("Broken")
    scene.comment(issue)
    scene.standin.revoke_tokens(scene.repository.installation)
    scene.comment(issue, "second")
    assert len(scene.repo.comments(issue)) == 1


def test_a_wrong_app_id_is_explained(standin, app):
    with (
        connect(standin.url, app_id=app.app_id + 1, key=app.private_key) as github,
        pytest.raises(Unauthorized, match="R4P_APP_ID"),
    ):
        github.tokens.get_token(READ)
