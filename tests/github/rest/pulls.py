"""REST operations on pull requests and check runs."""

from tests.github.actions import checks
from tests.github.actions.checks import Reporter
from tests.github.git.repository import GitError
from tests.github.objects import accounts, pulls
from tests.github.objects import checks as objects_checks
from tests.github.rest.paging import counted_page, page
from tests.github.world.http_values import Answer, ApiError, Call, invalid, not_found
from tests.github.world.state import CheckRun, Issue, Pull
from tests.github.world.world import World

_MAX_DIFF_FILES = 300
_MAX_DIFF_LINES = 20_000
_MAX_LISTED_FILES = 3_000
_MAX_LISTED_COMMITS = 250


def get_pull(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}: JSON, or a diff or patch if Accept asks for it"""
    issue, pull = _pull(world, call)
    accept = call.headers.get("accept", "")
    for form in ("diff", "patch"):
        if accept.split(";")[0].strip() in {
            f"application/vnd.github.{form}",
            f"application/vnd.github.v3.{form}",
        }:
            return _text(world, call, pull, form)
    return Answer(body=pulls.pull_request(world, call.repo, issue, pull))


def _text(world: World, call: Call, pull: Pull, form: str) -> Answer:
    git = world.git(call.repo)
    compared = world.comparison(call.repo, pull)
    if len(compared.files) > _MAX_DIFF_FILES:
        raise _too_large(f"the maximum number of files ({_MAX_DIFF_FILES})")
    ends = (compared.merge_base, pull.head_sha)
    if form == "diff":
        text = git.run_bytes("diff", "-M", *ends)
    else:
        text = git.run_bytes("format-patch", "--stdout", f"{ends[0]}..{ends[1]}")
    if text.count(b"\n") > _MAX_DIFF_LINES:
        raise _too_large(f"the maximum number of lines ({_MAX_DIFF_LINES})")
    return Answer(body=text, media_type=f"application/vnd.github.v3.{form}; charset=utf-8")


def _too_large(limit: str) -> ApiError:
    message = f"Sorry, the diff exceeded {limit}."
    errors = [{"resource": "PullRequest", "field": "diff", "code": "too_large"}]
    return ApiError(406, message, errors=errors)


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
    return page(shown, query, _url(world, call))


def list_files(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}/files: 3,000 at most"""
    _, pull = _pull(world, call)
    changed = world.comparison(call.repo, pull).files[:_MAX_LISTED_FILES]
    shown = [pulls.file_entry(world, call.repo, f, pull.head_sha) for f in changed]
    return page(shown, call.query, _url(world, call))


def list_commits(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}/commits: 250 at most"""
    _, pull = _pull(world, call)
    ahead = world.comparison(call.repo, pull).ahead[:_MAX_LISTED_COMMITS]
    shown = [pulls.commit(world, call.repo, info) for info in ahead]
    return page(shown, call.query, _url(world, call))


def list_reviews(world: World, call: Call) -> Answer:
    """GET .../pulls/{pull_number}/reviews, oldest first"""
    issue, pull = _pull(world, call)
    shown = [pulls.review(world, call.repo, issue, r) for r in pull.reviews]
    return page(shown, call.query, _url(world, call))


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
    return page(shown, call.query, _url(world, call))


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


def get_check(world: World, call: Call) -> Answer:
    """GET .../check-runs/{check_run_id}"""
    return Answer(body=objects_checks.check_run(world, call.repo, _check(call)))


def checks_of_ref(world: World, call: Call) -> Answer:
    """GET .../commits/{ref}/check-runs: the latest of each name and App unless filter=all"""
    sha = resolve(world, call, call.params["ref"])
    name, app_id = call.query.get("check_name"), call.query.get("app_id")
    runs = [r for r in call.repo.checks.values() if r.head_sha == sha and name in {None, r.name}]
    if call.query.get("filter", "latest") == "latest":
        runs = list({(r.name, r.app_slug): r for r in runs}.values())
    shown = [objects_checks.check_run(world, call.repo, r) for r in reversed(runs)]
    shown = [r for r in shown if app_id in {None, str(r["app"]["id"])}]
    return counted_page("check_runs", shown, call.query, _url(world, call))


def suites_of_ref(world: World, call: Call) -> Answer:
    """GET .../commits/{ref}/check-suites"""
    sha = resolve(world, call, call.params["ref"])
    suites = [s for s in call.repo.suites.values() if s.head_sha == sha]
    shown = [objects_checks.check_suite(world, call.repo, s) for s in suites]
    return counted_page("check_suites", shown, call.query, _url(world, call))


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
