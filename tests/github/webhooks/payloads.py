"""Events of the world as GitHub's webhook payloads, checked and queued for every App."""

from tests.github.contract.api_version import drop_fields
from tests.github.git.changes import CommitInfo, list_changed_files, log
from tests.github.git.repository import EMPTY_TREE
from tests.github.objects import accounts, checks, issues, pulls
from tests.github.world.http_values import Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import (
    AppRecord,
    CheckRun,
    CheckSuite,
    Comment,
    Installation,
    Issue,
    Repository,
    Review,
    User,
)
from tests.github.world.world import World

_MAX_PUSH_COMMITS = 20


def emit(world: World, repo: Repository, event: str, payload: Json, sender: User) -> None:
    """Deliver a repository event to every App that is installed, awake and subscribed."""
    for installation in world.installations_on(repo):
        if installation.suspended_at is None and event in installation.app.events:
            body = payload | {
                "repository": payload.get("repository") or accounts.repository(world, repo),
                "sender": accounts.user(world, sender),
                "installation": _stub(installation),
            }
            deliver(world, installation.app, event, body)


# No address by the standard, and yet how GitHub writes a bot's.
_BOTS_ADDRESS = '[bot]@users.noreply.github.com" is not a "email"'


def deliver(world: World, app: AppRecord, event: str, payload: Json) -> None:
    """Queue one delivery and record where its body or headers break GitHub's schema."""
    shown = drop_fields(payload, world.contract.version.webhook_fields)
    delivery = world.deliveries.add(app, event, shown)
    for broken in world.contract.check_webhook(event, delivery.headers, delivery.body):
        if not broken.what.endswith(_BOTS_ADDRESS):
            world.journal.break_rule(broken.where, broken.what)


def _stub(installation: Installation) -> Json:
    return {"id": installation.id, "node_id": node_id("Installation", installation.id)}


def issue(
    world: World, repo: Repository, what: Issue, action: str, sender: User, **more: Json
) -> None:
    """Send an `issues` event."""
    body = {"action": action, "issue": issues.issue(world, repo, what), **more}
    emit(world, repo, "issues", body, sender)


def comment(
    world: World, repo: Repository, written: Comment, action: str, sender: User, **more: Json
) -> None:
    """Send an `issue_comment` event, for the App's own comments, too."""
    body = {
        "action": action,
        "issue": issues.issue(world, repo, repo.issues[written.number]),
        "comment": issues.comment(world, repo, written),
        **more,
    }
    emit(world, repo, "issue_comment", body, sender)


def pull(
    world: World, repo: Repository, what: Issue, action: str, sender: User, **more: object
) -> None:
    """Send a `pull_request` event."""
    if what.pull is None:
        raise ValueError(f"#{what.number} is not a pull request")
    body = {
        "action": action,
        "number": what.number,
        "pull_request": pulls.pull_request(world, repo, what, what.pull),
        **more,
    }
    emit(world, repo, "pull_request", body, sender)


def review(
    world: World, repo: Repository, what: Issue, given: Review, action: str = "submitted"
) -> None:
    """Send a `pull_request_review` event."""
    if what.pull is None:
        raise ValueError(f"#{what.number} is not a pull request")
    shown = pulls.review(world, repo, what, given)
    body = {
        "action": action,
        "review": shown | {"state": given.state.lower(), "updated_at": shown["submitted_at"]},
        "pull_request": pulls.pull_simple(world, repo, what, what.pull),
    }
    emit(world, repo, "pull_request_review", body, given.author)


def check_run(world: World, repo: Repository, run: CheckRun, action: str, sender: User) -> None:
    """Send a `check_run` event."""
    shown = checks.check_run(world, repo, run)
    suite = checks.check_suite(world, repo, repo.suites[run.suite_id])
    emit(
        world,
        repo,
        "check_run",
        {"action": action, "check_run": shown | {"check_suite": suite}},
        sender,
    )


def check_suite(
    world: World, repo: Repository, suite: CheckSuite, action: str, sender: User
) -> None:
    """Send a `check_suite` event."""
    shown = checks.check_suite(world, repo, suite)
    shown.pop("repository")
    emit(world, repo, "check_suite", {"action": action, "check_suite": shown}, sender)


def check_run_asked(
    world: World, repo: Repository, run: CheckRun, sender: User, identifier: str | None
) -> None:
    """Send a pressed button of a check run to its App; without a button ask to run it again."""
    suite = checks.check_suite(world, repo, repo.suites[run.suite_id])
    shown = checks.check_run(world, repo, run) | {"check_suite": suite}
    body: Json = {"action": "rerequested", "check_run": shown}
    if identifier is not None:
        body |= {"action": "requested_action", "requested_action": {"identifier": identifier}}
    _tell(world, repo, run.app_slug, ("check_run", body), sender)


def check_suite_asked(
    world: World, repo: Repository, suite: CheckSuite, action: str, sender: User
) -> None:
    """Ask one App to check a commit: `requested` after a push, `rerequested` by a person."""
    shown = checks.check_suite(world, repo, suite)
    shown.pop("repository")
    body = {"action": action, "check_suite": shown}
    _tell(world, repo, suite.app_slug, ("check_suite", body), sender)


def _tell(world: World, repo: Repository, slug: str, what: tuple[str, Json], sender: User) -> None:
    """Deliver an event to the one App it is meant for, if it is awake and subscribed."""
    event, payload = what
    for installation in world.installations_on(repo):
        app = installation.app
        if app.slug == slug and event in app.events and installation.suspended_at is None:
            body = payload | {
                "repository": accounts.repository(world, repo),
                "sender": accounts.user(world, sender),
                "installation": _stub(installation),
            }
            deliver(world, app, event, body)


def push(world: World, repo: Repository, branch: str, ends: tuple[str, str], sender: User) -> None:
    """Send a `push` event for a branch that moved from the first SHA to the second."""
    before, after = ends
    git = world.git(repo)
    fresh = before == "0" * 40
    wanted = f"{repo.head_sha if fresh else before}..{after}"
    commits = log(git, "--reverse", f"--max-count={_MAX_PUSH_COMMITS}", wanted)
    forced = not fresh and world.git(repo).merge_base(before, after) != before
    shown = [_push_commit(world, repo, info) for info in commits]
    seconds = int(world.clock.now())
    body: Json = {
        "ref": f"refs/heads/{branch}",
        "before": before,
        "after": after,
        "created": fresh,
        "deleted": False,
        "forced": forced,
        "base_ref": None,
        "compare": f"{world.url}/{repo.full_name}/compare/{before[:12]}...{after[:12]}",
        "commits": shown,
        "head_commit": _push_commit(world, repo, world.changes.commit(git, after)),
        "pusher": {"name": sender.login, "email": f"{sender.login}@users.noreply.github.com"},
        # The push event alone counts time in seconds and names the owner like a git identity.
        "repository": accounts.repository(world, repo)
        | {
            "created_at": int(repo.created_at),
            "pushed_at": seconds,
            "stargazers": 0,
            "master_branch": repo.default_branch,
            "owner": accounts.user(world, repo.owner) | {"name": repo.owner.login, "email": None},
        },
    }
    emit(world, repo, "push", body, sender)


def _push_commit(world: World, repo: Repository, info: CommitInfo) -> Json:
    old = info.parents[0] if info.parents else EMPTY_TREE
    files = list_changed_files(world.git(repo), old, info.sha)
    by_status = {
        key: [f.path for f in files if f.status == status]
        for key, status in (("added", "added"), ("removed", "removed"), ("modified", "modified"))
    }
    author = {"name": info.author.name, "email": info.author.email, "username": info.author.name}
    return {
        "id": info.sha,
        "tree_id": info.tree,
        "distinct": True,
        "message": info.message,
        "timestamp": pulls.utc(info.committer.at),
        "url": f"{world.url}/{repo.full_name}/commit/{info.sha}",
        "author": author,
        "committer": author,
        **by_status,
    }


def installation(world: World, record: Installation, action: str, sender: User) -> None:
    """Send an `installation` event; an App needs no subscription for it."""
    repos = [r for r in world.repositories.values() if r.id in record.repository_ids]
    body: Json = {
        "action": action,
        "installation": accounts.installation(world, record),
        "sender": accounts.user(world, sender),
        "repositories": [_short(r) for r in repos],
    }
    if action == "created":
        body["requester"] = None
    deliver(world, record.app, "installation", body)


def installation_repositories(
    world: World, record: Installation, repos: list[Repository], action: str, sender: User
) -> None:
    """Send an `installation_repositories` event; `action` is added or removed."""
    body: Json = {
        "action": action,
        "installation": accounts.installation(world, record),
        "repository_selection": record.selection,
        "repositories_added": [_short(r) for r in repos] if action == "added" else [],
        "repositories_removed": [_short(r) for r in repos] if action == "removed" else [],
        "requester": None,
        "sender": accounts.user(world, sender),
    }
    deliver(world, record.app, "installation_repositories", body)


def ping(world: World, app: AppRecord) -> None:
    """Send the `ping` that an App's hook gets when its URL is set."""
    hook = {
        "type": "App",
        "id": app.hook_id,
        "name": "web",
        "active": True,
        "app_id": app.id,
        "events": list(app.events),
        "config": {
            "content_type": "json",
            "insecure_ssl": "0",
            "secret": "********",
            "url": app.webhook_url,
        },
        "updated_at": accounts.app(world, app)["updated_at"],
        "created_at": accounts.app(world, app)["created_at"],
        "deliveries_url": accounts.api(world, "/app/hook/deliveries"),
    }
    zen = "Non-blocking is better than blocking."
    deliver(world, app, "ping", {"zen": zen, "hook_id": app.hook_id, "hook": hook})


def _short(repo: Repository) -> Json:
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
    }
