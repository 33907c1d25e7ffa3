"""GitHub's identifiers as types, so that mypy finds a pull number in the place of an installation id (pure)."""

from dataclasses import dataclass
from typing import NewType

InstallationId = NewType("InstallationId", int)
RepositoryId = NewType("RepositoryId", int)
IssueNumber = NewType("IssueNumber", int)
PullNumber = NewType("PullNumber", int)
AlternativeNumber = NewType("AlternativeNumber", int)
"""Number of an alternative in its group, from 1 in order of creation. It never changes."""
CommentId = NewType("CommentId", int)
CommandSource = NewType("CommandSource", str)
"""Where a command was written: a comment's id, or `review-` and a review's id."""
CommitSha = NewType("CommitSha", str)
DeliveryGuid = NewType("DeliveryGuid", str)
JobId = NewType("JobId", int)
EvaluationId = NewType("EvaluationId", int)


@dataclass(frozen=True, slots=True)
class RepositoryRef:
    """A repository: its installation's id, its own id, which survives renames, and its `owner/name` for URLs."""

    installation: InstallationId
    id: RepositoryId
    full_name: str
    """`owner/name`"""


@dataclass(frozen=True, slots=True)
class IssueRef:
    """An issue, identified by its repository and its number in that repository."""

    repository: RepositoryRef
    number: IssueNumber
