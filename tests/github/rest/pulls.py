"""REST operations on pull requests and check runs."""

from tests.github.actions import checks
from tests.github.actions.checks import Reporter
from tests.github.git.repository import GitError
from tests.github.objects import accounts, pulls
from tests.github.objects import checks as objects_checks
from tests.github.rest.paging import build_counted_page, build_page
from tests.github.world.http_values import Answer, ApiError, Call, invalid, not_found
from tests.github.world.state import CheckRun, Issue, Pull
from tests.github.world.world import World

_DIFFS = frozenset({"application/vnd.github.diff", "application/vnd.github.v3.diff"})
_DIFF_FILES = 300
_DIFF_LINES = 20_000
"""GitHub's limits of one diff: https://github.com/cpp-linter/cpp-linter-action/issues/249"""


def list_pulls(world: World, call: Call) -> Answer:
    """GET .../pulls"""
    query = call.query
    state, base, head = query.get("state", "open"), query.get("base"), query.get("head")
    pulls_found = [
        (issue, issue.pull)
        for issue in call.repo.issues.values()
        if issue.pull
        and state in {"all", issue.state}
        and base in {None, issue.pull.base_ref}
        and head in {None, f"{issue.pull.head_owner.login}:{issue.pull.head_ref}"}
    ]
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    pulls_found.sort(
        key=lambda pair: (getattr(pair[0], key), pair[0].number),
        reverse=query.get("direction", "desc") == "desc",
    )
    shown = [pulls.pull_simple(world, call.repo, issue, pull) for issue, pull in pulls_found]
    return build_page(shown, query, _url(world, call))


def get_pull(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}: JSON, or the diff from the merge base to the head"""
    issue, pull = _pull(world, call)
    if call.accept not in _DIFFS:
        return Answer(body=pulls.pull_request(world, call.repo, issue, pull))
    git = world.git(call.repo)
    shown = git.diff(git.merge_base(pull.base_sha, pull.head_sha), pull.head_sha)
    changed = len(world.comparison(call.repo, pull).files)
    if changed > _DIFF_FILES:
        raise _too_large(f"files ({_DIFF_FILES})")
    if shown.count(b"\n") > _DIFF_LINES:
        raise _too_large(f"lines ({_DIFF_LINES})")
    media = {"Content-Type": f"{call.accept}; charset=utf-8"}
    return Answer(body=shown, headers=media | {"X-GitHub-Media-Type": "github.v3; param=diff"})


def _too_large(what: str) -> ApiError:
    """Build GitHub's answer for a diff beyond its limits."""
    message = f"Sorry, the diff exceeded the maximum number of {what}."
    detail = {"resource": "PullRequest", "field": "diff", "code": "too_large"}
    return ApiError(406, message, errors=[detail])


def list_review_comments(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}/reviews/{review_id}/comments"""
    issue, pull = _pull(world, call)
    wanted = call.number("review_id")
    given = next((review for review in pull.reviews if review.id == wanted), None)
    if given is None:
        raise not_found()
    shown = [
        pulls.review_comment(world, call.repo, issue, given, review) for review in given.comments
    ]
    return build_page(shown, call.query, _url(world, call))


def create_check(world: World, call: Call) -> Answer:
    """POST .../check-runs"""
    call.text("name"), call.text("head_sha")  # both are required
    run = checks.create(world, call.repo, call.body, _reporter(call))
    body = objects_checks.check_run(world, call.repo, run)
    return Answer(201, body, {"Location": body["url"]})


def update_check(world: World, call: Call) -> Answer:
    """PATCH .../check-runs/{check_run_id}"""
    run = _check(call)
    checks.update(world, call.repo, run, call.body, _reporter(call))
    return Answer(body=objects_checks.check_run(world, call.repo, run))


def checks_of_ref(world: World, call: Call) -> Answer:
    """GET .../commits/{ref}/check-runs: the latest of each name and App unless filter=all"""
    sha = resolve(world, call, call.params["ref"])
    name, app_id = call.query.get("check_name"), call.query.get("app_id")
    runs = [r for r in call.repo.checks.values() if r.head_sha == sha and name in {None, r.name}]
    if call.query.get("filter", "latest") == "latest":
        runs = list({(r.name, r.app_slug): r for r in runs}.values())
    shown = [objects_checks.check_run(world, call.repo, r) for r in reversed(runs)]
    shown = [r for r in shown if app_id in {None, str(r["app"]["id"])}]
    return build_counted_page("check_runs", shown, call.query, _url(world, call))


def resolve(world: World, call: Call, ref: str) -> str:
    """Return the commit of a branch, full ref or SHA; 422 in GitHub's words."""
    tip = call.repo.branches.get(ref.removeprefix("heads/"))
    try:
        sha = tip or world.git(call.repo).resolve(f"{ref}^{{commit}}")
    except (GitError, ValueError):  # a NUL in the name cannot reach git
        sha = None
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    return sha


def _pull(world: World, call: Call) -> tuple[Issue, Pull]:
    return world.pull(call.repo, call.number("pull_number"))


def _check(call: Call) -> CheckRun:
    run = call.repo.checks.get(call.number("check_run_id"))
    if run is None:
        raise not_found()
    return run


def _reporter(call: Call) -> Reporter:
    token = call.caller.token
    if token is None:
        raise invalid("CheckRun", "app")
    return Reporter(token.installation.app.slug, call.caller.bot)


def _url(world: World, call: Call) -> str:
    return accounts.api(world, call.path)
