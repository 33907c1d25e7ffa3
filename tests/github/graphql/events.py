"""GraphQL fields of timeline items, and the one table of all modelled fields."""

from operator import itemgetter

from tests.github.actions import threads
from tests.github.actions.closing_keywords import Reference
from tests.github.clock import timestamp
from tests.github.graphql.fields import (
    ISSUE,
    PULL,
    REPOSITORY,
    Arguments,
    Resolver,
    login,
    plain,
    rate_limit,
    repository,
    viewer,
)
from tests.github.graphql.git import BLOB, COMMIT, ENTRY, REF
from tests.github.graphql.nodes import (
    Connection,
    EventNode,
    GraphContext,
    IssueNode,
    PullNode,
    connection,
    thread,
    type_name,
)
from tests.github.world.http_values import NotModelled
from tests.github.world.node_ids import node_id

_ITEM_TYPES = {
    "CROSS_REFERENCED_EVENT": "cross-referenced",
    "CONNECTED_EVENT": "connected",
    "DISCONNECTED_EVENT": "disconnected",
    "CLOSED_EVENT": "closed",
    "REOPENED_EVENT": "reopened",
    "MERGED_EVENT": "merged",
}


def _timeline(
    context: GraphContext, node: IssueNode | PullNode, arguments: Arguments
) -> Connection:
    wanted = arguments.get("itemTypes")
    if wanted is None or not set(wanted) <= _ITEM_TYPES.keys():
        raise NotModelled(f"timelineItems needs itemTypes among {sorted(_ITEM_TYPES)}")
    kinds = {_ITEM_TYPES[name] for name in wanted}
    fields = [
        EventNode(node.repository, node.issue, event)
        for event in node.issue.timeline
        if event.kind in kinds and _source_is_visible(context, event.source_repository)
    ]
    return connection(fields, arguments)


def _source_is_visible(context: GraphContext, full_name: str | None) -> bool:
    return full_name is None or context.sees(context.world.repositories[full_name])


def _source(context: GraphContext, node: EventNode, _: Arguments) -> IssueNode | PullNode:
    source = context.world.repositories[node.event.source_repository or ""]
    return thread(source, source.issues[node.event.source_number or 0])


def _will_close(context: GraphContext, node: EventNode, arguments: Arguments) -> bool:
    source = _source(context, node, arguments)
    here = Reference(node.repository.full_name.lower(), node.issue.number)
    targets = threads.find_closed_issues(context.world, source.repository, source.issue)
    return any(Reference(r.full_name.lower(), i.number) == here for r, i in targets)


def _is_cross_repository(_: GraphContext, node: EventNode, __: Arguments) -> bool:
    return node.event.source_repository != node.repository.full_name.lower()


_EVENT: dict[str, Resolver] = {
    "id": plain(lambda n: node_id(type_name(n), n.event.id)),
    "actor": plain(lambda n: None if n.event.actor.deleted else n.event.actor),
    "createdAt": plain(lambda n: timestamp(n.event.at)),
    "isCrossRepository": _is_cross_repository,
}
_TARGET = plain(lambda n: thread(n.repository, n.issue))


def _table() -> dict[str, Resolver]:
    """Every `Type.field`, flat."""
    types: dict[str, dict[str, Resolver]] = {
        "Query": {"repository": repository, "rateLimit": rate_limit, "viewer": viewer},
        "Repository": REPOSITORY,
        "Issue": ISSUE | {"timelineItems": _timeline},
        "PullRequest": PULL | {"timelineItems": _timeline},
        "Commit": COMMIT,
        "Ref": REF,
        "Blob": BLOB,
        "TreeEntry": ENTRY,
        "StatusCheckRollup": {"state": plain(lambda n: n.state)},
        "PullRequestCommit": {"commit": plain(lambda n: n.commit)},
        "PullRequestChangedFile": {
            "path": plain(lambda n: n.change.path),
            "additions": plain(lambda n: n.change.additions),
            "deletions": plain(lambda n: n.change.deletions),
        },
        "Label": {"name": plain(lambda n: n.name)},
        "PageInfo": {
            "hasNextPage": plain(lambda n: n.has_next),
            "hasPreviousPage": plain(lambda n: n.has_previous),
            "startCursor": plain(lambda n: n.start),
            "endCursor": plain(lambda n: n.end),
        },
        "RateLimit": {"resetAt": plain(lambda n: timestamp(n["reset"]))}
        | {name: plain(itemgetter(name)) for name in ("cost", "limit", "remaining", "used")},
        "CrossReferencedEvent": _EVENT
        | {"source": _source, "target": _TARGET, "willCloseTarget": _will_close},
        "ConnectedEvent": _EVENT | {"subject": _source, "source": _TARGET},
        "DisconnectedEvent": _EVENT | {"subject": _source, "source": _TARGET},
        "ClosedEvent": _EVENT,
        "ReopenedEvent": _EVENT,
        "MergedEvent": _EVENT,
        # Every connection and every kind of account.
        "*": {
            "nodes": plain(lambda n: n.nodes),
            "totalCount": plain(lambda n: n.total),
            "pageInfo": plain(lambda n: n.page),
            "login": login,
        },
    }
    return {f"{kind}.{name}": r for kind, fields in types.items() for name, r in fields.items()}


RESOLVERS = _table()
