"""Decides whether the bot may open a draft pull request, and names what keeps it from opening one (pure)."""

from enum import StrEnum

from app.settings.repo_config import RepoConfig
from app.values.identifiers import IssueNumber
from model.domain import PatchId


class DraftRefusal(StrEnum):
    """Why the bot opens no pull request: a draft of an alternative, or the one that sets the bot up in a repository.

    `app/comments/draft_text.py` has the sentences about a draft, `worker/publishing/open_onboarding.py` the others.
    """

    NOT_WANTED = "not_wanted"
    """The repository's settings do not allow drafts."""
    NO_WRITER = "no_writer"
    """The operator has configured no writer App."""
    NOT_INSTALLED = "not_installed"
    """The writer App is not installed on the repository."""
    NO_RIGHT = "no_right"
    """The writer App lacks a permission."""
    BAD_DIFF = "bad_diff"
    """The diff changes what a diff of the bot may not change."""
    MOVED = "moved"
    """The code has changed, and the diff does not apply any more."""
    NO_CODE = "no_code"
    """The bot could not read the base branch."""
    BRANCH_TAKEN = "branch_taken"
    """A branch of that name exists, and the bot did not make it."""
    REFUSED = "refused"
    """GitHub refuses the pull request for another reason."""


def find_refusal(config: RepoConfig, *, has_writer: bool) -> DraftRefusal | None:
    """Return why the bot may open no draft pull request, or None if it may.

    `has_writer` says whether the operator has configured a writer App. If both refuse, the result names the
    repository's settings.
    """
    if not config.draft_pull_requests:
        return DraftRefusal.NOT_WANTED
    return None if has_writer else DraftRefusal.NO_WRITER


def name_branch(issue: IssueNumber, alternative: PatchId) -> str:
    """Return the branch name of an alternative's draft pull request, such as `r4p/issue-7-A1`.

    Numbers of alternatives are never used twice, so names are unique.
    """
    return f"r4p/issue-{issue}-{alternative}"
