"""Who may use the setup page."""

import pytest

from app.operator.setup.access import TOKEN_SECONDS, SetupAccess


@pytest.fixture
def clock():
    return [1_000.0]


@pytest.fixture
def access(clock):
    return SetupAccess(lambda: clock[0])


def test_the_token_opens_one_session(access):
    assert access.open_session("wrong") is None
    session = access.open_session(access.token)
    assert access.has_session(session)
    assert access.open_session(access.token) is None


def test_no_cookie_and_a_wrong_one_are_no_session(access):
    assert not access.has_session("")
    access.open_session(access.token)
    assert not access.has_session("")
    assert not access.has_session("é")


def test_token_and_session_end_after_an_hour(access, clock):
    session = access.open_session(access.token)
    clock[0] += TOKEN_SECONDS + 1
    assert not access.has_session(session)
    late = SetupAccess(lambda: clock[0])
    clock[0] += TOKEN_SECONDS + 1
    assert late.open_session(late.token) is None


def test_only_the_newest_state_counts_and_only_once(access):
    assert not access.spend_state("")
    old = access.create_state()
    new = access.create_state()
    assert access.state == new
    assert not access.spend_state(old)
    assert access.spend_state(new), "a wrong state changes nothing"
    assert not access.spend_state(new)
    assert access.state not in {old, new, ""}


def test_no_secret_shows_in_a_repr(access):
    session = access.open_session(access.token)
    shown = repr(access)
    assert all(secret not in shown for secret in (access.token, access.csrf, session))
