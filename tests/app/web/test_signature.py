"""The door's lock: GitHub's published vector, and everything that must not open it."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.signature import BadSignature, sign, verify

SECRET = b"It's a Secret to Everybody"
BODY = b"Hello, World!"
DIGEST = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
SIGNATURE = f"sha256={DIGEST}"


def test_githubs_published_vector_opens_the_door():
    assert verify(BODY, SIGNATURE, [SECRET]) == BODY
    assert sign(BODY, SECRET) == SIGNATURE


def test_while_secrets_are_replaced_the_old_and_the_new_one_both_open():
    assert verify(BODY, SIGNATURE, [b"new", SECRET]) == BODY
    assert verify(BODY, SIGNATURE, [SECRET, b"new"]) == BODY


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param(DIGEST, id="no algorithm"),
        pytest.param(f"sha1={hmac.new(SECRET, BODY, hashlib.sha1).hexdigest()}", id="sha1 only"),
        pytest.param(f"sha1={DIGEST}", id="sha1 named, sha256 sent"),
        pytest.param(f"{SIGNATURE}, {SIGNATURE}", id="sent twice"),
        pytest.param(f"{SIGNATURE},{SIGNATURE}", id="sent twice without a space"),
        pytest.param(SIGNATURE[:-1], id="one digit short"),
        pytest.param("sha256=", id="no digest"),
        pytest.param(SIGNATURE + "0", id="one digit long"),
        pytest.param(SIGNATURE + "\n", id="a line break behind it"),
        pytest.param(" " + SIGNATURE, id="a space before it"),
        pytest.param("sha256=" + "é" * 64, id="not ASCII"),
        pytest.param("sha256=" + "٣" * 64, id="digits that are not ASCII"),
        pytest.param("sha256=" + DIGEST.upper(), id="upper case, which GitHub never sends"),
        pytest.param("sha256=" + "0" * 64, id="another digest"),
    ],
)
def test_a_wrong_header_is_refused_and_never_a_crash(header):
    with pytest.raises(BadSignature) as refusal:
        verify(BODY, header, [SECRET])
    assert DIGEST not in str(refusal.value)
    assert SECRET.decode() not in str(refusal.value)


@pytest.mark.parametrize("secrets", [[], [b""], [SECRET, b""]])
def test_without_a_secret_nothing_is_proven(secrets):
    with pytest.raises(BadSignature, match="R4P_WEBHOOK_SECRET"):
        verify(BODY, SIGNATURE, secrets)


@given(body=st.binary(), secret=st.binary(min_size=1), flipped=st.integers(min_value=0))
def test_a_flipped_bit_breaks_the_signature(body, secret, flipped):
    header = sign(body, secret)
    assert verify(body, header, [secret]) == body
    changed = bytearray(body or b"\0")
    changed[flipped % len(changed)] ^= 1 << flipped % 8
    with pytest.raises(BadSignature):
        verify(bytes(changed), header, [secret])
