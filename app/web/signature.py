"""Did GitHub write these bytes? A webhook's signature checked over the raw body (pure).

Nothing may parse a delivery before `verify` has answered; `VerifiedBody` is the proof.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final, NewType

HEADER: Final = "X-Hub-Signature-256"
"""The old `X-Hub-Signature` carries SHA-1 and is never looked at."""

VerifiedBody = NewType("VerifiedBody", bytes)
"""A delivery's raw bytes, made only by `verify`."""

_SHAPE: Final = re.compile(r"sha256=([0-9a-f]{64})")


class BadSignature(Exception):
    """The body isn't proven to be GitHub's; the message never holds a secret or a right digest."""


def verify(body: bytes, header: str | None, secrets: Sequence[bytes]) -> VerifiedBody:
    """The same bytes as proven, when `header` signs them with any of `secrets`.

    Several secrets are accepted while one is being replaced by another; every one of them is
    tried, so the time taken doesn't say which matched. `header` is the one value of
    `X-Hub-Signature-256`, None when it is missing; two values joined by a comma are refused.
    """
    if not secrets or not all(secrets):
        raise BadSignature("no webhook secret, or an empty one: set R4P_WEBHOOK_SECRET")
    claimed = claimed_digest(header)
    matches = [hmac.compare_digest(_digest(secret, body), claimed) for secret in secrets]
    if not any(matches):
        raise BadSignature(
            f"{HEADER} doesn't match the body of {len(body)} bytes under any of {len(secrets)}"
            " secrets: compare R4P_WEBHOOK_SECRET with the App's webhook secret"
        )
    return VerifiedBody(body)


def claimed_digest(header: str | None) -> bytes:
    """The digest that the header claims. Raises BadSignature when it is missing or malformed.

    It proves nothing yet: it lets a request without a signature be refused before its body is read.
    """
    if header is None:
        raise BadSignature(f"the header {HEADER} is missing: set a secret in the App's webhook")
    shape = _SHAPE.fullmatch(header)
    if shape is None:
        raise BadSignature(f"the header {HEADER} is not `sha256=` and 64 hexadecimal digits")
    return bytes.fromhex(shape.group(1))


def sign(body: bytes, secret: bytes) -> str:
    """The header's value that GitHub would send."""
    return f"sha256={_digest(secret, body).hex()}"


def _digest(secret: bytes, body: bytes) -> bytes:
    return hmac.new(secret, body, hashlib.sha256).digest()
