"""Pull requests, commits, files, reviews and comparisons as GitHub's REST objects."""

from tests.github.clock import optional_timestamp, timestamp
from tests.github.git.changes import CommitInfo, Comparison, FileChange, Identity
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
        "head": _end(world, repo, pull.head_owner, pull.head_ref, pull.head_sha)
        | ({"repo": None} if pull.head_repository_deleted else {}),
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


def file_entry(world: World, repo: Repository, change: FileChange, sha: str) -> Json:
    """A changed file; binary files have no `patch`."""
    html = f"{world.url}/{repo.full_name}"
    path = f"/contents/{change.path}?ref={sha}"
    entry: Json = {
        "sha": change.oid,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{html}/blob/{sha}/{change.path}",
        "raw_url": f"{html}/raw/{sha}/{change.path}",
        "contents_url": accounts.repository_api(world, repo, path),
    }
    if change.patch is not None:
        entry["patch"] = change.patch
    if change.previous_path is not None:
        entry["previous_filename"] = change.previous_path
    return entry


def commit(world: World, repo: Repository, info: CommitInfo) -> Json:
    """A commit without its files."""
    url = accounts.repository_api(world, repo, f"/commits/{info.sha}")
    git_url = accounts.repository_api(world, repo, "/git")
    return {
        "url": url,
        "sha": info.sha,
        "node_id": node_id("Commit", info.sha),
        "html_url": f"{world.url}/{repo.full_name}/commit/{info.sha}",
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{git_url}/commits/{info.sha}",
            "author": _identity(info.author),
            "committer": _identity(info.committer),
            "message": info.message,
            "comment_count": 0,
            "tree": {"sha": info.tree, "url": f"{git_url}/trees/{info.tree}"},
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            },
        },
        "author": _account(world, info.author),
        "committer": _account(world, info.committer),
        "parents": [
            {
                "sha": parent,
                "url": accounts.repository_api(world, repo, f"/commits/{parent}"),
                "html_url": f"{world.url}/{repo.full_name}/commit/{parent}",
            }
            for parent in info.parents
        ],
    }


def _identity(who: Identity) -> Json:
    return {"name": who.name, "email": who.email, "date": utc(who.at)}


def utc(iso: str) -> str:
    """Git's ISO date as GitHub prints it; the stand-in's commits are all made in UTC."""
    return iso.replace("+00:00", "Z")


def _account(world: World, who: Identity) -> Json | None:
    login = who.email.partition("@")[0].partition("+")[2]
    return accounts.optional_user(world, world.users.get(login.lower()))


def comparison(world: World, repo: Repository, ends: tuple[str, str], compared: Comparison) -> Json:
    """A three-dot comparison of two SHAs."""
    base, head = ends
    git = world.git(repo)
    url = accounts.repository_api(world, repo, f"/compare/{base}...{head}")
    html = f"{world.url}/{repo.full_name}/compare/{base}...{head}"
    ahead, behind = len(compared.ahead), compared.behind
    if ahead and behind:
        status = "diverged"
    else:
        status = "ahead" if ahead else "behind" if behind else "identical"
    return {
        "url": url,
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commit(world, repo, world.changes.commit(git, base)),
        "merge_base_commit": commit(world, repo, world.changes.commit(git, compared.merge_base)),
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [commit(world, repo, info) for info in compared.ahead[:250]],
        "files": [file_entry(world, repo, f, head) for f in compared.files[:300]],
    }


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
