"""Decides which new repositories get the pull request that sets the bot up, and when (pure)."""

from typing import Final

from app.events import Event, InstallationAction, InstallationEvent
from app.github.facts import RepositoryFacts
from app.jobs.job import Planned
from app.jobs.onboarding_jobs import OfferOnboarding
from app.policy.event_policy import list_new_repositories
from app.settings.config_layers import DEFAULTS_REPOSITORY

BRANCH: Final = "r4p/setup"
"""Branch of the setup pull request. A pull request from it, in any state, means that the bot has asked."""
PACE_SECONDS: Final = 60.0
"""Time between the setup pull requests for the repositories of one delivery."""


def plan_onboarding(event: Event) -> tuple[Planned, ...]:
    """Return one job for each repository that a webhook event makes visible, a minute apart.

    New permissions make no repository visible, though the event may list all of them.
    """
    if _grants_permissions(event):
        return ()
    return tuple(
        Planned(OfferOnboarding(event.installation, repository.id), number * PACE_SECONDS)
        for number, repository in enumerate(list_new_repositories(event))
    )


def _grants_permissions(event: Event) -> bool:
    granted = InstallationAction.NEW_PERMISSIONS_ACCEPTED
    return isinstance(event, InstallationEvent) and event.action is granted


def find_obstacle(facts: RepositoryFacts, *, has_default: bool) -> str | None:
    """Return why a repository gets no setup pull request, in words for the log; None if it gets one.

    `has_default` says whether the organisation's repository `.github` has a settings file.
    """
    reasons = (
        (facts.config is not None, "it has a settings file"),
        (has_default, "its organisation has default settings"),
        (
            facts.full_name.lower().endswith(f"/{DEFAULTS_REPOSITORY}"),
            "its settings file would be the default of the whole organisation",
        ),
        (facts.is_archived, "it is archived"),
        (facts.is_fork, "it is a fork"),
        (facts.default_sha is None, "it is empty"),
    )
    return next((why for holds, why in reasons if holds), None)
