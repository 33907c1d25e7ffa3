"""Merged pull requests, as the database describes them to git."""

from datetime import UTC, datetime

from app.db.store.outcomes.outcomes import MergedPull
from app.values.identifiers import CommitSha, PullNumber

MERGED_AT = datetime(2026, 3, 1, tzinfo=UTC)


def build_merged(head, base, merge, *, number=5, branch="main") -> MergedPull:
    """Build a pull request that was merged into a branch."""
    commits = (CommitSha(head), CommitSha(base), CommitSha(merge))
    return MergedPull(PullNumber(number), *commits, MERGED_AT, branch, "main")
