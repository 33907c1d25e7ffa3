"""Jobs about draft pull requests (pure).

Two Apps share them: the writer App opens the draft, and the bot's own App replies.
"""

from dataclasses import dataclass

from app.jobs.job import Job, Queue
from app.values.identifiers import RepositoryId


@dataclass(frozen=True, slots=True)
class OpenDraft(Job):
    """Open the draft pull request that a maintainer asked for; `draft` is its row id."""

    queue = Queue.WRITER
    kind = "open_draft"

    repository: RepositoryId
    draft: int
    """Id of its row in `drafts`."""


@dataclass(frozen=True, slots=True)
class TellDraft(Job):
    """Reply to a maintainer's request whether the draft pull request with row id `draft` could be opened."""

    queue = Queue.GITHUB
    kind = "tell_draft"

    repository: RepositoryId
    draft: int
    """Id of its row in `drafts`."""
