"""Pull requests as GitHub describes them, with the fields that a test names."""

from app.github.facts import IssueState, PullRequest
from app.values.identifiers import CommitSha, PullNumber


def build_pull(number, state, head, base, base_ref="main", author=None) -> PullRequest:
    """Build the pull request of a test in `octo/repo`."""
    return PullRequest(
        number=PullNumber(number),
        repository="octo/repo",
        body="",
        state=IssueState(state),
        is_draft=False,
        author=author,
        base_ref=base_ref,
        base_sha=CommitSha(base),
        head_sha=CommitSha(head),
    )
