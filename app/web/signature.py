"""Checks a webhook's signature over the raw body (pure).

Nothing may parse a delivery before `verify` accepts it. The type `VerifiedBody` is the proof.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final, NewType

HEADER: Final = "X-Hub-Signature-256"
"""The header with the SHA-256 signature. The bot never reads the old `X-Hub-Signature` with SHA-1."""

VerifiedBody = NewType("VerifiedBody", bytes)
"""Raw bytes of a delivery that `verify` has accepted."""

_SHAPE: Final = re.compile(r"sha256=([0-9a-f]{64})")


class BadSignature(Exception):
    """A webhook's signature does not match its body. The message holds no secret and no correct digest."""


def verify(body: bytes, header: str | None, secrets: Sequence[bytes]) -> VerifiedBody:
    """Return a webhook's body as verified if `header` signs it with one of the secrets; raise BadSignature otherwise.

    `header` is the value of `X-Hub-Signature-256`, or None. Two values joined by a comma are an error. Two secrets are
    valid while you replace one by another. The function tries each of them, so its time does not tell which matched.
    """
    if not secrets or not all(secrets):
        raise BadSignature("no webhook secret, or an empty one: set R4P_WEBHOOK_SECRET")
    claimed = parse_claim(header)
    matches = [hmac.compare_digest(_digest(secret, body), claimed) for secret in secrets]
    if not any(matches):
        raise BadSignature(
            f"{HEADER} doesn't match the body of {len(body)} bytes under any of {len(secrets)}"
            " secrets: compare R4P_WEBHOOK_SECRET with the App's webhook secret"
        )
    return VerifiedBody(body)


def parse_claim(header: str | None) -> bytes:
    """Return the 32-byte digest in a signature header, without a check against a body.

    Raises BadSignature for a missing or malformed header. The webhook calls it before it reads the body, to reject a
    request without a signature.
    """
    if header is None:
        raise BadSignature(f"the header {HEADER} is missing: set a secret in the App's webhook")
    match = _SHAPE.fullmatch(header)
    if match is None:
        raise BadSignature(f"the header {HEADER} is not `sha256=` and 64 hexadecimal digits")
    return bytes.fromhex(match.group(1))


def sign(body: bytes, secret: bytes) -> str:
    """Return the signature header that GitHub would send with a body: `sha256=` and 64 hexadecimal digits."""
    return f"sha256={_digest(secret, body).hex()}"


def _digest(secret: bytes, body: bytes) -> bytes:
    return hmac.new(secret, body, hashlib.sha256).digest()
