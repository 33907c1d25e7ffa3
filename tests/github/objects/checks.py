"""Check runs and check suites as GitHub's REST objects."""

from tests.github.clock import optional_timestamp, timestamp
from tests.github.objects import accounts, pulls
from tests.github.world.http_values import Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import CheckRun, CheckSuite, Issue, Pull, Repository
from tests.github.world.world import World


def check_run(world: World, repo: Repository, run: CheckRun) -> Json:
    """A check run."""
    url = accounts.repository_api(world, repo, f"/check-runs/{run.id}")
    html = f"{world.url}/{repo.full_name}/runs/{run.id}"
    return {
        "id": run.id,
        "node_id": node_id("CheckRun", run.id),
        "head_sha": run.head_sha,
        "external_id": run.external_id or "",
        "url": url,
        "html_url": html,
        "details_url": run.details_url or html,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": timestamp(run.started_at),
        "completed_at": optional_timestamp(run.completed_at),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "name": run.name,
        "check_suite": {"id": run.suite_id},
        "app": app_by_slug(world, run.app_slug),
        "pull_requests": pull_requests(world, repo, run.head_sha),
    }


def check_suite(world: World, repo: Repository, suite: CheckSuite) -> Json:
    """A check suite."""
    url = accounts.repository_api(world, repo, f"/check-suites/{suite.id}")
    runs = [r for r in repo.checks.values() if r.suite_id == suite.id]
    info = world.changes.commit(world.git(repo), suite.head_sha)
    heads = repo.pull_heads(suite.head_sha)
    branch = heads[0].pull.head_ref if heads and heads[0].pull else repo.default_branch
    return {
        "id": suite.id,
        "node_id": node_id("CheckSuite", suite.id),
        "head_branch": branch,
        "head_sha": suite.head_sha,
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": url,
        "before": info.parents[0] if info.parents else "0" * 40,
        "after": suite.head_sha,
        "pull_requests": pull_requests(world, repo, suite.head_sha),
        "app": app_by_slug(world, suite.app_slug),
        "repository": accounts.repository(world, repo),
        "created_at": timestamp(suite.created_at),
        "updated_at": timestamp(suite.updated_at),
        "rerequestable": True,
        "runs_rerequestable": True,
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{url}/check-runs",
        "head_commit": {
            "id": info.sha,
            "tree_id": info.tree,
            "message": info.message,
            "timestamp": pulls.utc(info.committer.at),
            "author": {"name": info.author.name, "email": info.author.email},
            "committer": {"name": info.committer.name, "email": info.committer.email},
        },
    }


def pull_requests(world: World, repo: Repository, sha: str) -> list[Json]:
    """The open same-repository pull requests at a commit; forks are never listed, as on GitHub."""
    return [
        _minimal(world, repo, issue, issue.pull)
        for issue in repo.pull_heads(sha)
        if issue.pull and not issue.pull.is_fork
    ]


def _minimal(world: World, repo: Repository, issue: Issue, pull: Pull) -> Json:
    inside = {"id": repo.id, "url": accounts.repository_api(world, repo), "name": repo.name}
    return {
        "id": pull.id,
        "number": issue.number,
        "url": accounts.repository_api(world, repo, f"/pulls/{issue.number}"),
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": inside},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": inside},
    }


def app_by_slug(world: World, slug: str) -> Json:
    """The app a check belongs to; a third-party one is made up from its slug."""
    for record in world.apps.values():
        if record.slug == slug:
            return accounts.app(world, record)
    owner = world.account("github", "Organization")
    number = sum(slug.encode())
    return {
        "id": number,
        "slug": slug,
        "node_id": node_id("App", number),
        "owner": accounts.user(world, owner),
        "name": slug,
        "description": "",
        "external_url": world.url,
        "html_url": f"{world.url}/apps/{slug}",
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
        "permissions": {"checks": "write", "metadata": "read"},
        "events": ["check_suite"],
    }
