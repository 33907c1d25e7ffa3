"""Which new repositories get the setup pull request, and how far apart."""

from dataclasses import replace

import pytest

from app.events import (
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    InstalledRepository,
)
from app.github.facts import ConfigBlob, RepositoryFacts
from app.jobs.job import Planned
from app.jobs.onboarding_jobs import OfferOnboarding
from app.policy.onboarding_policy import find_obstacle, plan_onboarding
from tests.builders.github.webhook_payloads import MONA, build_check_event

PLAIN = RepositoryFacts("octo/cat", "main", "a" * 40, None)
LISTED = tuple(InstalledRepository(number, f"octo/repo-{number}") for number in (70, 71, 72))
COMMON = {
    "delivery": "guid",
    "installation": 7,
    "account": "octo",
    "account_id": 1,
    "sender": MONA,
}


def test_the_repositories_of_one_delivery_are_asked_a_minute_apart():
    event = InstallationEvent(**COMMON, action=InstallationAction.CREATED, repositories=LISTED)
    assert plan_onboarding(event) == tuple(
        Planned(OfferOnboarding(7, number), seconds)
        for number, seconds in ((70, 0.0), (71, 60.0), (72, 120.0))
    )


@pytest.mark.parametrize(
    "event",
    [
        InstallationEvent(**COMMON, action=InstallationAction.SUSPEND, repositories=LISTED),
        InstallationEvent(
            **COMMON, action=InstallationAction.NEW_PERMISSIONS_ACCEPTED, repositories=LISTED
        ),
        InstallationRepositoriesEvent(**COMMON, added=(), removed=LISTED),
        build_check_event(),
    ],
    ids=["suspended", "new permissions", "removed", "about a check"],
)
def test_nothing_is_planned_without_a_new_repository(event):
    assert plan_onboarding(event) == ()


@pytest.mark.parametrize(
    ("change", "has_default", "why"),
    [
        ({}, False, None),
        ({"config": ConfigBlob(3, "no!")}, False, "it has a settings file"),
        ({}, True, "its organisation has default settings"),
        (
            {"full_name": "octo/.GitHub"},
            False,
            "its settings file would be the default of the whole organisation",
        ),
        ({"is_archived": True}, False, "it is archived"),
        ({"is_fork": True}, False, "it is a fork"),
        ({"default_branch": None, "default_sha": None}, False, "it is empty"),
    ],
)
def test_an_obstacle_is_named(change, has_default, why):
    assert find_obstacle(replace(PLAIN, **change), has_default=has_default) == why
