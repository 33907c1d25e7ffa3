"""GraphQL fields of what git stores: branches, commits, files."""

from tests.github.graphql.fields import Arguments, Resolver, plain
from tests.github.graphql.nodes import (
    BlobNode,
    CommitNode,
    Connection,
    EntryNode,
    GraphContext,
    RefNode,
    StatusNode,
    SuiteNode,
    connection,
)
from tests.github.objects.checks import app_by_slug
from tests.github.world.http_values import NotModelled

_MAX_BLOB_TEXT = 512_000


def _blob_text(_: GraphContext, node: BlobNode, __: Arguments) -> str | None:
    """A file's text, cut at 512,000 bytes; null for a binary file."""
    if b"\0" in node.data:
        return None
    return node.data[:_MAX_BLOB_TEXT].decode(errors="replace")


def _head_commit(context: GraphContext, node: RefNode, _: Arguments) -> CommitNode:
    """The commit a branch points at."""
    git = context.world.git(node.repository)
    sha = node.repository.branches[node.name]
    return CommitNode(node.repository, context.world.changes.commit(git, sha))


def _file(context: GraphContext, node: CommitNode, arguments: Arguments) -> EntryNode | None:
    """Return the entry at a path of the commit's tree; only files are modelled."""
    context.demand(node.repository, "contents=read")
    git = context.world.git(node.repository)
    blob = context.world.changes.blob(git, node.info.sha, arguments["path"])
    return EntryNode(BlobNode(blob.oid, blob.data)) if blob else None


def _list_suites(context: GraphContext, node: CommitNode, arguments: Arguments) -> Connection:
    context.demand(node.repository, "checks=read")
    suites = [s for s in node.repository.suites.values() if s.head_sha == node.info.sha]
    return connection([SuiteNode(node.repository, suite) for suite in suites], arguments)


def _list_runs(_: GraphContext, node: SuiteNode, arguments: Arguments) -> Connection:
    """The newest run of each name, as `checkType: LATEST` says."""
    if arguments.get("filterBy") != {"checkType": "LATEST"}:
        raise NotModelled("checkRuns without filterBy: {checkType: LATEST}")
    runs = [run for run in node.repository.checks.values() if run.suite_id == node.suite.id]
    return connection(list({run.name: run for run in runs}.values()), arguments)


def _status(context: GraphContext, node: CommitNode, _: Arguments) -> StatusNode | None:
    context.demand(node.repository, "statuses=read")
    states = node.repository.statuses.get(node.info.sha)
    return StatusNode(list(states.items())) if states else None


def _app_id(context: GraphContext, slug: str, _: Arguments) -> int:
    shown: int = app_by_slug(context.world, slug)["id"]
    return shown


COMMIT: dict[str, Resolver] = {
    "checkSuites": _list_suites,
    "status": _status,
    "oid": plain(lambda n: n.info.sha),
    "file": _file,
}
SUITE: dict[str, Resolver] = {
    "app": plain(lambda n: n.suite.app_slug),
    "checkRuns": _list_runs,
}
CHECK_RUN: dict[str, Resolver] = {
    "name": plain(lambda n: n.name),
    "status": plain(lambda n: n.status.upper()),
    "conclusion": plain(lambda n: n.conclusion and n.conclusion.upper()),
}
APP: dict[str, Resolver] = {"databaseId": _app_id}
STATUS: dict[str, Resolver] = {"contexts": plain(lambda n: n.contexts)}
STATUS_CONTEXT: dict[str, Resolver] = {
    "context": plain(lambda n: n[0]),
    "state": plain(lambda n: n[1].upper()),
}
ENTRY: dict[str, Resolver] = {"object": plain(lambda n: n.blob)}
BLOB: dict[str, Resolver] = {
    "oid": plain(lambda n: n.oid),
    "text": _blob_text,
    "byteSize": plain(lambda n: len(n.data)),
    "isTruncated": plain(lambda n: len(n.data) > _MAX_BLOB_TEXT),
}
REF: dict[str, Resolver] = {"name": plain(lambda n: n.name), "target": _head_commit}
