"""Issues, comments and reactions as GitHub's REST objects."""

import zlib

from tests.github.clock import optional_timestamp, timestamp
from tests.github.objects import accounts
from tests.github.world.http_values import Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import Comment, Issue, Reaction, Repository
from tests.github.world.world import World

REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def rollup(url: str, reactions: list[Reaction]) -> Json:
    """The number of reactions of each kind."""
    counts = {name: sum(r.content == name for r in reactions) for name in REACTIONS}
    return {"url": url, "total_count": len(reactions), **counts}


def reaction(world: World, given: Reaction) -> Json:
    """A reaction."""
    return {
        "id": given.id,
        "node_id": node_id("Reaction", given.id),
        "user": accounts.optional_user(world, given.user),
        "content": given.content,
        "created_at": timestamp(given.created_at),
    }


def comment(world: World, repo: Repository, written: Comment) -> Json:
    """An issue comment."""
    url = accounts.repository_api(world, repo, f"/issues/comments/{written.id}")
    kind = "pull" if repo.issues[written.number].pull else "issues"
    return {
        "id": written.id,
        "node_id": node_id("IssueComment", written.id),
        "url": url,
        "html_url": f"{world.url}/{repo.full_name}/{kind}/{written.number}"
        f"#issuecomment-{written.id}",
        "issue_url": accounts.repository_api(world, repo, f"/issues/{written.number}"),
        "user": accounts.optional_user(world, written.author),
        "created_at": timestamp(written.created_at),
        "updated_at": timestamp(written.updated_at),
        "body": written.body,
        "author_association": world.association(repo, written.author),
        "reactions": rollup(f"{url}/reactions", written.reactions),
        "performed_via_github_app": accounts.app(world, written.app) if written.app else None,
    }


def label(world: World, repo: Repository, name: str) -> Json:
    """A label of a repository. GitHub creates an unknown one with a grey of its own."""
    number = zlib.crc32(name.encode())
    return {
        "id": number,
        "node_id": node_id("Label", number),
        "url": accounts.repository_api(world, repo, f"/labels/{name}"),
        "name": name,
        "color": "ededed",
        "default": False,
        "description": None,
    }


def issue(world: World, repo: Repository, opened: Issue) -> Json:
    """An issue, or a pull request seen as one."""
    url = accounts.repository_api(world, repo, f"/issues/{opened.number}")
    html = f"{world.url}/{repo.full_name}/{'pull' if opened.pull else 'issues'}/{opened.number}"
    body: Json = {
        "id": opened.id,
        "node_id": node_id("PullRequest" if opened.pull else "Issue", opened.id),
        "url": url,
        "repository_url": accounts.repository_api(world, repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": html,
        "number": opened.number,
        "title": opened.title,
        "user": accounts.optional_user(world, opened.author),
        "labels": [label(world, repo, name) for name in opened.labels],
        "state": opened.state,
        "state_reason": opened.state_reason,
        "locked": opened.locked,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(repo.comments_of(opened.number)),
        "created_at": timestamp(opened.created_at),
        "updated_at": timestamp(opened.updated_at),
        "closed_at": optional_timestamp(opened.closed_at),
        "author_association": world.association(repo, opened.author),
        "body": opened.body or None,
        "reactions": rollup(f"{url}/reactions", []),
        "performed_via_github_app": None,
    }
    if opened.pull:
        pull_url = accounts.repository_api(world, repo, f"/pulls/{opened.number}")
        body["draft"] = opened.pull.draft
        body["pull_request"] = {
            "url": pull_url,
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "merged_at": optional_timestamp(opened.pull.merged_at),
        }
    return body
