"""Draft pull requests of alternatives: when one may be opened, and why one is not (pure)."""

from enum import StrEnum

from app.settings.repo_config import RepoConfig
from app.values.identifiers import IssueNumber
from model.domain import PatchId


class NotOpened(StrEnum):
    """Why there is no draft; `app/comments/draft_text.py` has the sentences."""

    NOT_WANTED = "not_wanted"
    """The repository's settings don't say that it wants any."""
    NO_WRITER = "no_writer"
    """The operator gave no second App."""
    NOT_INSTALLED = "not_installed"
    """The second App is not on the repository."""
    NO_RIGHT = "no_right"
    """It is, without a permission that it needs."""
    BAD_DIFF = "bad_diff"
    """The diff is not one that we take from an agent."""
    MOVED = "moved"
    """The code has moved on, and the diff does not apply any more."""
    NO_CODE = "no_code"
    """The branch that it is for could not be read."""
    BRANCH_TAKEN = "branch_taken"
    """There is a branch of that name that is not ours."""
    REFUSED = "refused"
    """GitHub refuses it, for another reason."""


def refused(config: RepoConfig, *, has_writer: bool) -> NotOpened | None:
    """Why none may be opened; None: one may. The repository's word is asked for first, then the operator's."""
    if not config.draft_pull_requests:
        return NotOpened.NOT_WANTED
    return None if has_writer else NotOpened.NO_WRITER


def branch(issue: IssueNumber, alternative: PatchId) -> str:
    """Where the alternative is put. An alternative's number is never used twice, so nor is this."""
    return f"r4p/issue-{issue}-{alternative}"
