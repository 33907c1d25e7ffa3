"""The GraphQL fields the stand-in models, each resolved from the same state as REST."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.github.actions import threads
from tests.github.clock import optional_timestamp, timestamp
from tests.github.git.repository import GitError
from tests.github.graphql.nodes import (
    BlobNode,
    CommitNode,
    Connection,
    FileNode,
    GraphContext,
    IssueNode,
    LabelNode,
    PullCommitNode,
    PullNode,
    RefNode,
    RepositoryNode,
    connection,
    failure,
    thread,
)
from tests.github.world.node_ids import node_id
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


def viewer(context: GraphContext, _: object, __: Arguments) -> User:
    """The App's bot account."""
    return context.caller.bot


def rate_limit(context: GraphContext, _: object, __: Arguments) -> dict[str, int]:
    """The caller's GraphQL budget."""
    return {"cost": 1, **context.world.limits.status(context.caller.key, "graphql")}


def _thread(
    context: GraphContext, node: RepositoryNode, arguments: Arguments
) -> IssueNode | PullNode:
    context.demand(node.repository, "issues=read; pull_requests=read")
    number = arguments["number"]
    issue = node.repository.issues.get(number)
    if issue is None or issue.deleted:
        what = f"Could not resolve to an issue or pull request with the number of {number}."
        raise failure("NOT_FOUND", what)
    return thread(node.repository, issue)


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


def _pulls(context: GraphContext, node: RepositoryNode, arguments: Arguments) -> Connection:
    context.demand(node.repository, "pull_requests=read")
    states = arguments.get("states")
    nodes = [
        PullNode(node.repository, issue, issue.pull)
        for issue in node.repository.issues.values()
        if issue.pull is not None
    ]
    wanted = [pull for pull in nodes if states is None or _pull_state(pull) in states]
    return connection(wanted, arguments)


def _object(
    context: GraphContext, node: RepositoryNode, arguments: Arguments
) -> BlobNode | CommitNode | None:
    context.demand(node.repository, "contents=read")
    git = context.world.git(node.repository)
    expression = arguments.get("expression") or arguments.get("oid") or ""
    revision, colon, path = expression.partition(":")
    if revision == "HEAD":
        revision = node.repository.head_sha
    if colon:
        blob = context.world.changes.blob(git, revision, path)
        return BlobNode(blob.oid, blob.data) if blob else None
    try:
        sha = git.resolve(f"{revision}^{{commit}}")
    except (GitError, ValueError):
        return None
    return CommitNode(node.repository, context.world.changes.commit(git, sha)) if sha else None


def _author(_: GraphContext, node: Any, __: Arguments) -> User | None:
    author: User = node.issue.author
    return None if author.deleted else author


def login(_: GraphContext, node: User, __: Arguments) -> str:
    """GraphQL names bots without the `[bot]` that REST appends."""
    return node.login.removesuffix("[bot]")


def _closed_by(context: GraphContext, node: IssueNode, arguments: Arguments) -> Connection:
    nodes = []
    for repository, issue in threads.find_closing_pulls(context.world, node.repository, node.issue):
        shut = issue.state == "closed" and issue.pull and issue.pull.merged_at is None
        by_hand = repository is node.repository and issue.number in node.issue.linked_pulls
        if (
            context.sees(repository)
            and (arguments.get("includeClosedPrs") or not shut)
            and (by_hand or not arguments.get("userLinkedOnly"))
        ):
            nodes.append(thread(repository, issue))
    return connection(nodes, arguments)


def _closes(context: GraphContext, node: PullNode, arguments: Arguments) -> Connection:
    targets = threads.find_closed_issues(context.world, node.repository, node.issue)
    by_hand = node.issue.number
    nodes = [
        IssueNode(repository, issue)
        for repository, issue in targets
        if context.sees(repository)
        and (by_hand in issue.linked_pulls or not arguments.get("userLinkedOnly"))
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


def _mergeable(context: GraphContext, node: PullNode, _: Arguments) -> str:
    if node.issue.state != "open":
        return "UNKNOWN"
    base = node.repository.branches[node.pull.base_ref]
    git = context.world.git(node.repository)
    fits = context.world.changes.mergeable(git, base, node.pull.head_sha)
    return "MERGEABLE" if fits else "CONFLICTING"


def _merge_commit(context: GraphContext, node: PullNode, _: Arguments) -> CommitNode | None:
    sha = node.pull.merge_commit_sha
    if sha is None:
        return None
    info = context.world.changes.commit(context.world.git(node.repository), sha)
    return CommitNode(node.repository, info)


def _comments(_: GraphContext, node: Any, arguments: Arguments) -> Connection:
    return connection(node.repository.comments_of(node.issue.number), {"first": 100, **arguments})


def _url(context: GraphContext, node: Any, _: Arguments) -> str:
    kind = "pull" if isinstance(node, PullNode) else "issues"
    return f"{context.world.url}/{node.repository.full_name}/{kind}/{node.issue.number}"


def plain(read: Callable[[Any], object]) -> Resolver:
    """A field that needs neither the world nor arguments."""
    return lambda _, node, __: read(node)


def _count_changes(name: str) -> Resolver:
    """A count of the pull request's comparison."""
    return lambda context, node, _: getattr(
        context.world.comparison(node.repository, node.pull), name
    )


_THREAD: dict[str, Resolver] = {
    "databaseId": plain(lambda n: n.issue.id),
    "fullDatabaseId": plain(lambda n: n.issue.id),
    "id": plain(lambda n: node_id("Issue", n.issue.id)),
    "number": plain(lambda n: n.issue.number),
    "title": plain(lambda n: n.issue.title),
    "body": plain(lambda n: n.issue.body),
    "state": plain(lambda n: n.issue.state.upper()),
    "closed": plain(lambda n: n.issue.state == "closed"),
    "locked": plain(lambda n: n.issue.locked),
    "author": _author,
    "authorAssociation": lambda c, n, _: c.world.association(n.repository, n.issue.author),
    "createdAt": plain(lambda n: timestamp(n.issue.created_at)),
    "updatedAt": plain(lambda n: timestamp(n.issue.updated_at)),
    "closedAt": plain(lambda n: optional_timestamp(n.issue.closed_at)),
    "repository": plain(lambda n: RepositoryNode(n.repository)),
    "url": _url,
    "comments": _comments,
    "labels": lambda _, n, a: connection([LabelNode(name) for name in n.issue.labels], a),
}
ISSUE: dict[str, Resolver] = _THREAD | {
    "stateReason": plain(lambda n: n.issue.state_reason and n.issue.state_reason.upper()),
    "closedByPullRequestsReferences": _closed_by,
}
PULL: dict[str, Resolver] = _THREAD | {
    "databaseId": plain(lambda n: n.pull.id),
    "fullDatabaseId": plain(lambda n: n.pull.id),
    "id": plain(lambda n: node_id("PullRequest", n.pull.id)),
    "state": plain(_pull_state),
    "isDraft": plain(lambda n: n.pull.draft),
    "merged": plain(lambda n: n.pull.merged_at is not None),
    "mergedAt": plain(lambda n: optional_timestamp(n.pull.merged_at)),
    "mergedBy": plain(lambda n: n.pull.merged_by),
    "mergeCommit": _merge_commit,
    "mergeable": _mergeable,
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
    "closingIssuesReferences": _closes,
}
REPOSITORY: dict[str, Resolver] = {
    "databaseId": plain(lambda n: n.repository.id),
    "id": plain(lambda n: node_id("Repository", n.repository.id)),
    "name": plain(lambda n: n.repository.name),
    "nameWithOwner": plain(lambda n: n.repository.full_name),
    "owner": plain(lambda n: n.repository.owner),
    "isPrivate": plain(lambda n: n.repository.private),
    "isArchived": plain(lambda _: False),
    "url": lambda c, n, _: f"{c.world.url}/{n.repository.full_name}",
    "defaultBranchRef": plain(lambda n: RefNode(n.repository, n.repository.default_branch)),
    "object": _object,
    "issue": _issue,
    "pullRequest": _pull,
    "issueOrPullRequest": _thread,
    "pullRequests": _pulls,
}
