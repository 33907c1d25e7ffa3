"""With an allow-list the bot acts on the events of the named accounts only."""

import json

import pytest

from app.events import Ignored
from app.policy.delivery_decision import Decision, build_decide
from app.policy.event_policy import NOT_ALLOWED
from app.settings import IdentitySettings
from tests.github.contract import Contract


def decide(event, action, allowed, **changes):
    payload = Contract.load().webhook_example(event, action) | changes
    body = json.dumps(payload).encode()
    return build_decide(IdentitySettings(), frozenset(allowed))(event, "guid", body)


def find_owner(event, action):
    payload = Contract.load().webhook_example(event, action)
    return payload["repository"]["owner"]["login"]


@pytest.mark.parametrize("allowed", [(), ("OWNER", "x"), ("77",)], ids=["all", "login", "id"])
def test_the_events_of_allowed_accounts_are_kept(allowed):
    login = find_owner("issues", "opened").upper()
    named = tuple(account.replace("OWNER", login) for account in allowed)
    decided = decide("issues", "opened", named, installation={"id": 77})
    assert isinstance(decided, Decision)


def test_the_events_of_other_accounts_are_ignored_under_one_reason():
    decided = decide("issues", "opened", ("stranger",), installation={"id": 77})
    assert decided == Ignored(NOT_ALLOWED)


def test_a_new_installation_of_another_account_is_ignored_and_its_end_is_not():
    assert decide("installation", "created", ("stranger",)) == Ignored(NOT_ALLOWED)
    assert isinstance(decide("installation", "deleted", ("stranger",)), Decision)
