"""Decides what follows from a webhook delivery, whether GitHub sent it or the bot read it from GitHub's list (pure)."""

from collections.abc import Callable
from dataclasses import dataclass

from app.events import Ignored, RepositoryEvent, parse
from app.jobs.job import Planned
from app.policy.event_policy import NOT_ALLOWED, is_allowed, plan_jobs
from app.settings import IdentitySettings
from app.values.identifiers import DeliveryGuid, InstallationId, RepositoryId


@dataclass(frozen=True, slots=True)
class Decision:
    """The jobs that follow from a webhook delivery, and the installation and repository that own its data."""

    installation: InstallationId
    repository: RepositoryId | None
    planned: tuple[Planned, ...]


def build_decide(
    identity: IdentitySettings, allowed_accounts: frozenset[str] = frozenset()
) -> Callable[[str, DeliveryGuid, bytes], Decision | Ignored]:
    """Build the function that turns a webhook delivery into jobs, or into the reason to ignore it.

    `identity` names our own App, whose check runs the function ignores. `allowed_accounts` are those of
    `AccountSettings`.
    """

    def decide(event: str, delivery: DeliveryGuid, body: bytes) -> Decision | Ignored:
        parsed = parse(event, delivery, body, own_app=identity.app_id)
        if isinstance(parsed, Ignored):
            return parsed
        if not is_allowed(parsed, allowed_accounts):
            return Ignored(NOT_ALLOWED)
        repository = parsed.repository.id if isinstance(parsed, RepositoryEvent) else None
        planned = tuple(Planned(job) for job in plan_jobs(parsed, identity.bot_name))
        return Decision(parsed.installation, repository, planned)

    return decide
