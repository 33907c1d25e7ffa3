"""Accounts, repositories, Apps and installations as GitHub's REST objects."""

from urllib.parse import quote

from tests.github.clock import optional_timestamp, timestamp
from tests.github.world.http_values import REST_PREFIX, Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import AppRecord, Installation, Repository, Role, User
from tests.github.world.world import World

_USER_URLS = (
    ("followers", "/followers"),
    ("following", "/following{/other_user}"),
    ("gists", "/gists{/gist_id}"),
    ("starred", "/starred{/owner}{/repo}"),
    ("subscriptions", "/subscriptions"),
    ("organizations", "/orgs"),
    ("repos", "/repos"),
    ("events", "/events{/privacy}"),
    ("received_events", "/received_events"),
)
_REPOSITORY_URLS = {
    "archive": "{archive_format}{/ref}",
    "assignees": "assignees{/user}",
    "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}",
    "collaborators": "collaborators{/collaborator}",
    "comments": "comments{/number}",
    "commits": "commits{/sha}",
    "compare": "compare/{base}...{head}",
    "contents": "contents/{+path}",
    "contributors": "contributors",
    "deployments": "deployments",
    "downloads": "downloads",
    "events": "events",
    "forks": "forks",
    "git_commits": "git/commits{/sha}",
    "git_refs": "git/refs{/sha}",
    "git_tags": "git/tags{/sha}",
    "hooks": "hooks",
    "issue_comment": "issues/comments{/number}",
    "issue_events": "issues/events{/number}",
    "issues": "issues{/number}",
    "keys": "keys{/key_id}",
    "labels": "labels{/name}",
    "languages": "languages",
    "merges": "merges",
    "milestones": "milestones{/number}",
    "notifications": "notifications{?since,all,participating}",
    "pulls": "pulls{/number}",
    "releases": "releases{/id}",
    "stargazers": "stargazers",
    "statuses": "statuses/{sha}",
    "subscribers": "subscribers",
    "subscription": "subscription",
    "tags": "tags",
    "teams": "teams",
    "trees": "git/trees{/sha}",
}


def api(world: World, path: str) -> str:
    """The REST URL of `path`."""
    return f"{world.url}{REST_PREFIX}{path}"


def repository_api(world: World, repository: Repository, path: str = "") -> str:
    """The REST URL of something inside a repository."""
    return api(world, f"/repos/{repository.full_name}{path}")


def user(world: World, who: User) -> Json:
    """A simple-user."""
    url = api(world, f"/users/{quote(who.login)}")
    is_app = who.type == "Bot" and who.login.endswith("[bot]")
    page = f"apps/{who.login.removesuffix('[bot]')}" if is_app else who.login
    return {
        "login": who.login,
        "id": who.id,
        "node_id": node_id("User", who.id),
        "avatar_url": f"{world.url}/avatars/u/{who.id}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.url}/{page}",
        **{f"{name}_url": url + path for name, path in _USER_URLS},
        "type": who.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def optional_user(world: World, who: User | None) -> Json | None:
    """A simple-user, or null for nobody and for deleted accounts."""
    return None if who is None or who.deleted else user(world, who)


def repository(world: World, repo: Repository) -> Json:
    """A repository with every URL and count GitHub prints."""
    url = repository_api(world, repo)
    html = f"{world.url}/{repo.full_name}"
    opened = sum(i.state == "open" and not i.deleted for i in repo.issues.values())
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(world, repo.owner),
        "html_url": html,
        "description": None,
        "fork": repo.is_fork,
        "url": url,
        **{f"{name}_url": f"{url}/{path}" for name, path in _REPOSITORY_URLS.items()},
        "created_at": timestamp(repo.created_at),
        "updated_at": timestamp(repo.pushed_at),
        "pushed_at": timestamp(repo.pushed_at),
        "git_url": f"git://{html.partition('://')[2]}.git",
        "ssh_url": f"git@{world.url.partition('://')[2]}:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "size": 0,
        **dict.fromkeys(("stargazers_count", "watchers_count", "watchers"), 0),
        **dict.fromkeys(("forks_count", "forks"), 0),
        **dict.fromkeys(("open_issues_count", "open_issues"), opened),
        **dict.fromkeys(("has_issues", "has_projects", "has_downloads", "has_wiki"), True),
        "archived": repo.is_archived,
        **dict.fromkeys(("has_pages", "has_discussions", "disabled"), False),
        **dict.fromkeys(("is_template", "web_commit_signoff_required"), False),
        "allow_forking": True,
        "has_pull_requests": repo.has_pull_requests,
        "pull_request_creation_policy": repo.creation_policy,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "default_branch": repo.default_branch,
    }


def app(world: World, record: AppRecord) -> Json:
    """An integration."""
    return {
        "id": record.id,
        "slug": record.slug,
        "node_id": node_id("App", record.id),
        "client_id": record.client_id,
        "owner": user(world, record.owner),
        "name": record.slug,
        "description": "",
        "external_url": record.webhook_url or world.url,
        "html_url": f"{world.url}/apps/{record.slug}",
        "created_at": timestamp(record.created_at),
        "updated_at": timestamp(record.created_at),
        "permissions": dict(record.permissions),
        "events": list(record.events),
    }


def installation(world: World, record: Installation) -> Json:
    """An installation."""
    account = user(world, record.account)
    del account["user_view_type"]  # GitHub leaves it out here
    return {
        "id": record.id,
        "client_id": record.app.client_id,
        "account": account,
        "repository_selection": record.selection,
        "access_tokens_url": api(world, f"/app/installations/{record.id}/access_tokens"),
        "repositories_url": api(world, "/installation/repositories"),
        "html_url": f"{world.url}/settings/installations/{record.id}",
        "app_id": record.app.id,
        "app_slug": record.app.slug,
        "target_id": record.account.id,
        "target_type": record.account.type,
        "permissions": dict(record.permissions),
        "events": list(record.app.events),
        "created_at": timestamp(record.created_at),
        "updated_at": timestamp(record.updated_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": optional_user(world, record.suspended_by),
        "suspended_at": optional_timestamp(record.suspended_at),
    }


def permission(world: World, who: User, role: Role) -> Json:
    """The answer about a collaborator: the level in four steps, the role in six."""
    level = {Role.TRIAGE: Role.READ, Role.MAINTAIN: Role.WRITE}.get(role, role)
    ranks = list(Role)
    steps = {"pull": Role.READ, "triage": Role.TRIAGE, "push": Role.WRITE}
    steps |= {"maintain": Role.MAINTAIN, "admin": Role.ADMIN}
    granted = {name: ranks.index(role) >= ranks.index(least) for name, least in steps.items()}
    detail = user(world, who) | {"permissions": granted, "role_name": role.value}
    return {"permission": level.value, "role_name": role.value, "user": detail}
