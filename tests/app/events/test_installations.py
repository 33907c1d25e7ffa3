from datetime import UTC, datetime

import pytest

from app.events import (
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    InstalledRepository,
)
from tests.builders.github.webhook_payloads import MONA, envelope, installation, read


@pytest.mark.parametrize("action", list(InstallationAction))
def test_an_installation_lists_its_repositories(action):
    payload = installation(action=action, repositories=[{"id": 70, "full_name": "octo/cat"}])
    assert read("installation", payload) == InstallationEvent(
        delivery="guid",
        installation=7,
        account="octo",
        account_id=1,
        sender=MONA,
        action=action,
        repositories=(InstalledRepository(70, "octo/cat"),),
    )


@pytest.mark.parametrize(
    ("written", "read_at"),
    [
        ("2026-03-01T13:00:00+01:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("yesterday", None),
        (None, None),
    ],
)
def test_an_installation_says_since_when_it_is_suspended(written, read_at):
    payload = installation(action="suspend")
    payload["installation"]["suspended_at"] = written
    assert read("installation", payload).suspended_at == read_at


def test_an_installation_may_list_nothing():
    assert read("installation", installation(action="suspend")).repositories == ()


def test_repositories_taken_out_of_an_installation_are_listed():
    payload = installation(
        action="removed",
        repositories_added=[],
        repositories_removed=[{"id": 70, "full_name": "octo/cat"}],
    )
    assert read("installation_repositories", payload) == InstallationRepositoriesEvent(
        delivery="guid",
        installation=7,
        account="octo",
        account_id=1,
        sender=MONA,
        added=(),
        removed=(InstalledRepository(70, "octo/cat"),),
    )


def test_an_enterprise_account_is_named_by_its_slug():
    payload = envelope(
        action="created", installation={"id": 7, "account": {"id": 1, "slug": "octo-enterprise"}}
    )
    assert read("installation", payload).account == "octo-enterprise"
