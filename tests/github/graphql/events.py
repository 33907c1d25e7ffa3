"""GraphQL fields of timeline items, and the one table of all modelled fields."""

from tests.github.actions import threads
from tests.github.actions.closing_keywords import Reference
from tests.github.graphql.fields import (
    ISSUE,
    PULL,
    REPOSITORY,
    REVIEW,
    Arguments,
    Resolver,
    login,
    plain,
    repository,
)
from tests.github.graphql.git import (
    APP,
    BLOB,
    CHECK_RUN,
    COMMIT,
    ENTRY,
    REF,
    STATUS,
    STATUS_CONTEXT,
    SUITE,
)
from tests.github.graphql.nodes import (
    Connection,
    EventNode,
    GraphContext,
    IssueNode,
    PullNode,
    connection,
    thread,
)
from tests.github.world.http_values import NotModelled

_ITEM_TYPES = {
    "CROSS_REFERENCED_EVENT": "cross-referenced",
    "CONNECTED_EVENT": "connected",
    "DISCONNECTED_EVENT": "disconnected",
}


def _timeline(context: GraphContext, node: IssueNode, arguments: Arguments) -> Connection:
    wanted = arguments.get("itemTypes")
    if wanted is None or not set(wanted) <= _ITEM_TYPES.keys():
        raise NotModelled(f"timelineItems needs itemTypes among {sorted(_ITEM_TYPES)}")
    kinds = {_ITEM_TYPES[name] for name in wanted}
    fields = [
        EventNode(node.repository, node.issue, event)
        for event in node.issue.timeline
        if event.kind in kinds and context.sees(context.world.repositories[event.source_repository])
    ]
    return connection(fields, arguments)


def _source(context: GraphContext, node: EventNode, _: Arguments) -> IssueNode | PullNode:
    source = context.world.repositories[node.event.source_repository]
    return thread(source, source.issues[node.event.source_number])


def _will_close(context: GraphContext, node: EventNode, arguments: Arguments) -> bool:
    source = _source(context, node, arguments)
    here = Reference(node.repository.full_name.lower(), node.issue.number)
    targets = threads.find_closed_issues(context.world, source.repository, source.issue)
    return any(Reference(r.full_name.lower(), i.number) == here for r, i in targets)


def _table() -> dict[str, Resolver]:
    """Every `Type.field`, flat."""
    types: dict[str, dict[str, Resolver]] = {
        "Query": {"repository": repository},
        "Repository": REPOSITORY,
        "Issue": ISSUE | {"timelineItems": _timeline},
        "PullRequest": PULL,
        "PullRequestReview": REVIEW,
        "User": {"databaseId": plain(lambda n: n.id)},
        "Commit": COMMIT,
        "CheckSuite": SUITE,
        "CheckRun": CHECK_RUN,
        "App": APP,
        "Status": STATUS,
        "StatusContext": STATUS_CONTEXT,
        "Ref": REF,
        "Blob": BLOB,
        "TreeEntry": ENTRY,
        "PullRequestCommit": {"commit": plain(lambda n: n.commit)},
        "PullRequestChangedFile": {"path": plain(lambda n: n.change.path)},
        "PageInfo": {
            "hasNextPage": plain(lambda n: n.has_next),
            "endCursor": plain(lambda n: n.end),
            "hasPreviousPage": plain(lambda n: n.has_previous),
            "startCursor": plain(lambda n: n.start),
        },
        "CrossReferencedEvent": {"source": _source, "willCloseTarget": _will_close},
        "ConnectedEvent": {"subject": _source},
        "DisconnectedEvent": {"subject": _source},
        # Every connection and every kind of account.
        "*": {
            "nodes": plain(lambda n: n.nodes),
            "pageInfo": plain(lambda n: n.page),
            "login": login,
        },
    }
    return {f"{kind}.{name}": r for kind, fields in types.items() for name, r in fields.items()}


RESOLVERS = _table()
