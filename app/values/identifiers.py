"""GitHub's identifiers as types, so that a pull number can't stand where an installation id belongs (pure)."""

from dataclasses import dataclass
from typing import NewType

InstallationId = NewType("InstallationId", int)
RepositoryId = NewType("RepositoryId", int)
IssueNumber = NewType("IssueNumber", int)
PullNumber = NewType("PullNumber", int)
AlternativeNumber = NewType("AlternativeNumber", int)
"""Counts the alternatives of a group from 1, in the order they came; it stays when another text or base is judged."""
CommentId = NewType("CommentId", int)
AskedIn = NewType("AskedIn", str)
"""Where a command was written: a comment's id, or `review-` and a review's, which are counted apart."""
CommitSha = NewType("CommitSha", str)
DeliveryGuid = NewType("DeliveryGuid", str)
JobId = NewType("JobId", int)
EvaluationId = NewType("EvaluationId", int)


@dataclass(frozen=True, slots=True)
class RepositoryRef:
    """A repository as an installation sees it; the id survives renames, the name is for URLs."""

    installation: InstallationId
    id: RepositoryId
    full_name: str
    """`owner/name`"""


@dataclass(frozen=True, slots=True)
class IssueRef:
    """One issue of one repository."""

    repository: RepositoryRef
    number: IssueNumber
