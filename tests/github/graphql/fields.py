"""The GraphQL fields the stand-in models, each resolved from the same state as REST."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.github.actions import threads
from tests.github.clock import optional_timestamp, timestamp
from tests.github.graphql.nodes import (
    BlobNode,
    CommitNode,
    Connection,
    FileNode,
    GraphContext,
    IssueNode,
    PullCommitNode,
    PullNode,
    RefNode,
    RepositoryNode,
    ReviewNode,
    connection,
    failure,
    thread,
)
from tests.github.world.http_values import NotModelled
from tests.github.world.state import User

Arguments = Mapping[str, Any]
Resolver = Callable[[GraphContext, Any, Arguments], object]


def repository(context: GraphContext, _: object, arguments: Arguments) -> RepositoryNode:
    """`repository(owner:, name:)`; NOT_FOUND for what the caller may not see."""
    name = f"{arguments['owner']}/{arguments['name']}"
    record = context.world.repositories.get(name.lower())
    if record is None or not context.sees(record):
        raise failure("NOT_FOUND", f"Could not resolve to a Repository with the name '{name}'.")
    return RepositoryNode(record)


def _issue(context: GraphContext, node: RepositoryNode, arguments: Arguments) -> IssueNode:
    context.demand(node.repository, "issues=read; pull_requests=read")
    issue = node.repository.issues.get(arguments["number"])
    if issue is None or issue.deleted or issue.pull is not None:
        what = f"Could not resolve to an Issue with the number of {arguments['number']}."
        raise failure("NOT_FOUND", what)
    return IssueNode(node.repository, issue)


def _pull(context: GraphContext, node: RepositoryNode, arguments: Arguments) -> PullNode:
    context.demand(node.repository, "pull_requests=read")
    issue = node.repository.issues.get(arguments["number"])
    if issue is None or issue.pull is None:
        what = f"Could not resolve to a PullRequest with the number of {arguments['number']}."
        raise failure("NOT_FOUND", what)
    return PullNode(node.repository, issue, issue.pull)


def _blob(context: GraphContext, node: RepositoryNode, arguments: Arguments) -> BlobNode | None:
    """`object(expression: "HEAD:path")`, the only form that the bot asks for."""
    context.demand(node.repository, "contents=read")
    revision, _, path = arguments["expression"].partition(":")
    if revision != "HEAD":
        raise NotModelled(f"the object {revision!r}, only HEAD:path")
    git = context.world.git(node.repository)
    blob = context.world.changes.blob(git, node.repository.head_sha, path)
    return BlobNode(blob.oid, blob.data) if blob else None


def _author(_: GraphContext, node: Any, __: Arguments) -> User | None:
    author: User = node.issue.author
    return None if author.deleted else author


def login(_: GraphContext, node: User, __: Arguments) -> str:
    """GraphQL names bots without the `[bot]` that REST appends."""
    return node.login.removesuffix("[bot]")


def _list_closing_pulls(context: GraphContext, node: IssueNode, arguments: Arguments) -> Connection:
    nodes = []
    for repository, issue in threads.find_closing_pulls(context.world, node.repository, node.issue):
        shut = issue.state == "closed" and issue.pull and issue.pull.merged_at is None
        if context.sees(repository) and (arguments.get("includeClosedPrs") or not shut):
            nodes.append(thread(repository, issue))
    return connection(nodes, arguments)


def _list_closed_issues(context: GraphContext, node: PullNode, arguments: Arguments) -> Connection:
    targets = threads.find_closed_issues(context.world, node.repository, node.issue)
    nodes = [
        IssueNode(repository, issue) for repository, issue in targets if context.sees(repository)
    ]
    return connection(nodes, arguments)


def _pull_state(node: PullNode) -> str:
    return "MERGED" if node.pull.merged_at is not None else node.issue.state.upper()


def _list_changed_files(context: GraphContext, node: PullNode, arguments: Arguments) -> Connection:
    files = context.world.comparison(node.repository, node.pull).files
    return connection([FileNode(change) for change in files], arguments)


def _commits(context: GraphContext, node: PullNode, arguments: Arguments) -> Connection:
    ahead = context.world.comparison(node.repository, node.pull).ahead
    nodes = [PullCommitNode(CommitNode(node.repository, info)) for info in ahead]
    return connection(nodes, arguments)


def _list_reviews(_: GraphContext, node: PullNode, arguments: Arguments) -> Connection:
    nodes = [ReviewNode(node.repository, review) for review in node.pull.reviews]
    return connection(nodes, arguments)


def _review_commit(context: GraphContext, node: ReviewNode, _: Arguments) -> CommitNode:
    git = context.world.git(node.repository)
    info = context.world.changes.commit(git, node.review.commit_id)
    return CommitNode(node.repository, info)


def _merge_commit(context: GraphContext, node: PullNode, _: Arguments) -> CommitNode | None:
    sha = node.pull.merge_commit_sha
    if sha is None:
        return None
    info = context.world.changes.commit(context.world.git(node.repository), sha)
    return CommitNode(node.repository, info)


def plain(read: Callable[[Any], object]) -> Resolver:
    """A field that needs neither the world nor arguments."""
    return lambda _, node, __: read(node)


def _count_changes(name: str) -> Resolver:
    """A count of the pull request's comparison."""
    return lambda context, node, _: getattr(
        context.world.comparison(node.repository, node.pull), name
    )


_THREAD: dict[str, Resolver] = {
    "number": plain(lambda n: n.issue.number),
    "title": plain(lambda n: n.issue.title),
    "body": plain(lambda n: n.issue.body),
    "author": _author,
    "authorAssociation": lambda c, n, _: c.world.association(n.repository, n.issue.author),
    "createdAt": plain(lambda n: timestamp(n.issue.created_at)),
    "updatedAt": plain(lambda n: timestamp(n.issue.updated_at)),
    "repository": plain(lambda n: RepositoryNode(n.repository)),
}
ISSUE: dict[str, Resolver] = _THREAD | {
    "databaseId": plain(lambda n: n.issue.id),
    "state": plain(lambda n: n.issue.state.upper()),
    "stateReason": plain(lambda n: n.issue.state_reason and n.issue.state_reason.upper()),
    "locked": plain(lambda n: n.issue.locked),
    "closedByPullRequestsReferences": _list_closing_pulls,
}
PULL: dict[str, Resolver] = _THREAD | {
    "databaseId": plain(lambda n: n.pull.id),
    "state": plain(_pull_state),
    "isDraft": plain(lambda n: n.pull.draft),
    "mergedAt": plain(lambda n: optional_timestamp(n.pull.merged_at)),
    "mergeCommit": _merge_commit,
    "baseRefName": plain(lambda n: n.pull.base_ref),
    "baseRefOid": plain(lambda n: n.pull.base_sha),
    "headRefName": plain(lambda n: n.pull.head_ref),
    "headRefOid": plain(lambda n: n.pull.head_sha),
    "isCrossRepository": plain(lambda n: n.pull.is_fork),
    "additions": _count_changes("additions"),
    "deletions": _count_changes("deletions"),
    "changedFiles": lambda c, n, _: len(c.world.comparison(n.repository, n.pull).files),
    "files": _list_changed_files,
    "commits": _commits,
    "reviews": _list_reviews,
    "closingIssuesReferences": _list_closed_issues,
}
REVIEW: dict[str, Resolver] = {
    "fullDatabaseId": plain(lambda n: str(n.review.id)),
    "body": plain(lambda n: n.review.body),
    "state": plain(lambda n: n.review.state),
    "submittedAt": plain(lambda n: timestamp(n.review.submitted_at)),
    "lastEditedAt": plain(lambda n: optional_timestamp(n.review.edited_at)),
    "author": plain(lambda n: None if n.review.author.deleted else n.review.author),
    "commit": _review_commit,
}
REPOSITORY: dict[str, Resolver] = {
    "databaseId": plain(lambda n: n.repository.id),
    "nameWithOwner": plain(lambda n: n.repository.full_name),
    "isPrivate": plain(lambda n: n.repository.private),
    "isArchived": plain(lambda n: n.repository.is_archived),
    "isFork": plain(lambda n: n.repository.is_fork),
    "defaultBranchRef": plain(lambda n: RefNode(n.repository, n.repository.default_branch)),
    "object": _blob,
    "issue": _issue,
    "pullRequest": _pull,
}
