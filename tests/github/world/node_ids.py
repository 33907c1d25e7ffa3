"""Opaque global ids in the form GitHub's GraphQL API gives them. Pure."""

import base64

_PREFIX = {
    "User": "U",
    "Repository": "R",
    "App": "A",
    "Issue": "I",
    "PullRequest": "PR",
    "IssueComment": "IC",
    "Reaction": "REA",
    "CheckRun": "CR",
    "CheckSuite": "CS",
    "Label": "LA",
    "Installation": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u",
    "PullRequestReview": "PRR",
    "Commit": "C",
}


def node_id(kind: str, number: int | str) -> str:
    """The node id of an object by its GraphQL type and database id (or SHA)."""
    tail = base64.urlsafe_b64encode(f"{kind}:{number}".encode()).decode().rstrip("=")
    return f"{_PREFIX.get(kind, kind)}_kwDO{tail}"
