"""GraphQL fields of what git stores: branches, commits, files."""

from tests.github.graphql.fields import Arguments, Resolver, plain
from tests.github.graphql.nodes import (
    BlobNode,
    CommitNode,
    EntryNode,
    GraphContext,
    RefNode,
)

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


COMMIT: dict[str, Resolver] = {
    "oid": plain(lambda n: n.info.sha),
    "file": _file,
}
ENTRY: dict[str, Resolver] = {"object": plain(lambda n: n.blob)}
BLOB: dict[str, Resolver] = {
    "oid": plain(lambda n: n.oid),
    "text": _blob_text,
    "byteSize": plain(lambda n: len(n.data)),
    "isTruncated": plain(lambda n: len(n.data) > _MAX_BLOB_TEXT),
}
REF: dict[str, Resolver] = {"name": plain(lambda n: n.name), "target": _head_commit}
