"""Jobs about the pull request that sets the bot up in a new repository (pure).

The bot's own App decides whether a repository needs it, and the writer App opens it.
"""

from dataclasses import dataclass

from app.jobs.job import Job, Queue
from app.values.identifiers import RepositoryId


@dataclass(frozen=True, slots=True)
class OfferOnboarding(Job):
    """Find out whether a new repository needs the setup pull request: it has no settings file and no obstacle."""

    queue = Queue.GITHUB
    kind = "offer_onboarding"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class OpenOnboarding(Job):
    """Open the setup pull request of a repository as the writer App, unless there was one before."""

    queue = Queue.WRITER
    kind = "open_onboarding"

    repository: RepositoryId
