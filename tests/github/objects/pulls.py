"""Pull requests and reviews as GitHub's REST objects."""

from tests.github.clock import optional_timestamp, timestamp
from tests.github.objects import accounts, issues
from tests.github.world.http_values import Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import Issue, LineComment, Pull, Repository, Review, User
from tests.github.world.world import World


def pull_simple(world: World, repo: Repository, issue: Issue, pull: Pull) -> Json:
    """A pull request as lists show it."""
    url = accounts.repository_api(world, repo, f"/pulls/{issue.number}")
    issue_url = accounts.repository_api(world, repo, f"/issues/{issue.number}")
    html = f"{world.url}/{repo.full_name}/pull/{issue.number}"
    statuses = accounts.repository_api(world, repo, f"/statuses/{pull.head_sha}")
    as_issue = issues.issue(world, repo, issue)
    shared = ("number", "state", "locked", "title", "user", "body", "labels", "milestone")
    more = ("active_lock_reason", "created_at", "updated_at", "closed_at", "assignee", "assignees")
    links = {
        "self": url,
        "html": html,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": accounts.repository_api(world, repo, "/pulls/comments{/number}"),
        "commits": f"{url}/commits",
        "statuses": statuses,
    }
    flat = {k: v for k, v in links.items() if k not in {"self", "html", "issue"}}
    return {
        "url": url,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue_url,
        **{f"{name}_url": value for name, value in flat.items()},
        **{name: as_issue[name] for name in shared + more},
        "merged_at": optional_timestamp(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "requested_reviewers": [],
        "requested_teams": [],
        "draft": pull.draft,
        "head": _end(world, repo, pull.head_owner, pull.head_ref, pull.head_sha),
        "base": _end(world, repo, repo.owner, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": value} for name, value in links.items()},
        "author_association": as_issue["author_association"],
        "auto_merge": None,
    }


def pull_request(world: World, repo: Repository, issue: Issue, pull: Pull) -> Json:
    """A pull request fetched by itself: with counts and mergeability."""
    changed = world.comparison(repo, pull)
    is_open = issue.state == "open"
    mergeable = (
        world.changes.mergeable(world.git(repo), repo.branches[pull.base_ref], pull.head_sha)
        if is_open
        else None
    )
    state = {True: "clean", False: "dirty", None: "unknown"}[mergeable]
    return pull_simple(world, repo, issue, pull) | {
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": "draft" if is_open and pull.draft else state,
        "merged_by": accounts.optional_user(world, pull.merged_by),
        "comments": len(repo.comments_of(issue.number)),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": len(changed.ahead),
        "additions": changed.additions,
        "deletions": changed.deletions,
        "changed_files": len(changed.files),
    }


def _end(world: World, repo: Repository, owner: User, ref: str, sha: str) -> Json:
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": accounts.optional_user(world, owner),
        "repo": accounts.repository(world, repo),
    }


def utc(iso: str) -> str:
    """Git's ISO date as GitHub prints it; the stand-in's commits are all made in UTC."""
    return iso.replace("+00:00", "Z")


def review(world: World, repo: Repository, issue: Issue, given: Review) -> Json:
    """A submitted review."""
    pull_url = accounts.repository_api(world, repo, f"/pulls/{issue.number}")
    page = f"{world.url}/{repo.full_name}/pull/{issue.number}"
    html = f"{page}#pullrequestreview-{given.id}"
    return {
        "id": given.id,
        "node_id": node_id("PullRequestReview", given.id),
        "user": accounts.optional_user(world, given.author),
        "body": given.body,
        "state": given.state,
        "html_url": html,
        "pull_request_url": pull_url,
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        "submitted_at": timestamp(given.submitted_at),
        "commit_id": given.commit_id,
        "author_association": world.association(repo, given.author),
    }


def review_comment(
    world: World, repo: Repository, issue: Issue, given: Review, remark: LineComment
) -> Json:
    """A review's remark on a line, with the fields that GitHub's schema requires (`line` is not one)."""
    pull_url = accounts.repository_api(world, repo, f"/pulls/{issue.number}")
    url = accounts.repository_api(world, repo, f"/pulls/comments/{remark.id}")
    html = f"{world.url}/{repo.full_name}/pull/{issue.number}#discussion_r{remark.id}"
    submitted_at = timestamp(given.submitted_at)
    return {
        "url": url,
        "pull_request_review_id": given.id,
        "id": remark.id,
        "node_id": node_id("PullRequestReviewComment", remark.id),
        "diff_hunk": f"@@ -{remark.line} +{remark.line} @@",
        "path": remark.path,
        "position": 1,
        "original_position": 1,
        "commit_id": given.commit_id,
        "original_commit_id": given.commit_id,
        "user": accounts.optional_user(world, given.author),
        "body": remark.body,
        "created_at": submitted_at,
        "updated_at": submitted_at,
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": world.association(repo, given.author),
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "pull_request": {"href": pull_url},
        },
    }
