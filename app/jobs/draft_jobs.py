"""The jobs about draft pull requests, for two keys: who may open one may say nothing on issues (pure)."""

from dataclasses import dataclass

from app.jobs.job import Job, Queue
from app.values.identifiers import RepositoryId


@dataclass(frozen=True, slots=True)
class OpenDraft(Job):
    """Open the draft pull request that a maintainer asked for."""

    queue = Queue.WRITER
    kind = "open_draft"

    repository: RepositoryId
    draft: int
    """Its row in `drafts`."""


@dataclass(frozen=True, slots=True)
class TellDraft(Job):
    """Tell whoever asked what came of it."""

    queue = Queue.GITHUB
    kind = "tell_draft"

    repository: RepositoryId
    draft: int
