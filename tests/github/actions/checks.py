"""Creating and changing check runs and suites, with GitHub's limits."""

from dataclasses import dataclass

from tests.github.webhooks import payloads
from tests.github.world.http_values import ApiError, Json, invalid
from tests.github.world.state import CheckRun, CheckSuite, Repository, User
from tests.github.world.world import World

MAX_TEXT = 65_535
MAX_ACTIONS = 3
_CONCLUSIONS = frozenset(
    {"success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"}
)
_PLAIN_FIELDS = ("name", "details_url", "external_id")


@dataclass(frozen=True, slots=True)
class Reporter:
    """The App that reports a check, as an account and a slug."""

    slug: str
    user: User


def create(world: World, repo: Repository, body: Json, reporter: Reporter) -> CheckRun:
    """Create a check run on a commit; 422 if the commit is unknown or a text is too long."""
    sha = world.git(repo).resolve(f"{body['head_sha']}^{{commit}}")
    if sha is None or sha != body["head_sha"]:
        raise ApiError(422, f"No commit found for SHA: {body['head_sha']}")
    _check_limits(body)
    suite = get_or_create_suite(world, repo, sha, reporter.slug)
    run = CheckRun(
        id=world.ids.next("check"),
        name=body["name"],
        head_sha=sha,
        suite_id=suite.id,
        app_slug=reporter.slug,
        status="queued",
        started_at=world.clock.now(),
    )
    repo.checks[run.id] = run
    _apply(world, run, body)
    _settle(world, repo, suite)
    payloads.check_run(world, repo, run, "created", reporter.user)
    if run.status == "completed":
        payloads.check_run(world, repo, run, "completed", reporter.user)
    return run


def update(world: World, repo: Repository, run: CheckRun, body: Json, reporter: Reporter) -> None:
    """Change a check run; only the App that created it is allowed to."""
    if run.app_slug != reporter.slug:
        raise ApiError(403, f"Invalid app_id: this check run does not belong to {reporter.slug}")
    _check_limits(body)
    was = run.status
    _apply(world, run, body)
    _settle(world, repo, repo.suites[run.suite_id])
    if run.status == "completed" and was != "completed":
        payloads.check_run(world, repo, run, "completed", reporter.user)


def get_or_create_suite(world: World, repo: Repository, sha: str, slug: str) -> CheckSuite:
    """Return the suite of an App on a commit; create it if it is new."""
    for suite in repo.suites.values():
        if suite.head_sha == sha and suite.app_slug == slug:
            return suite
    now = world.clock.now()
    suite = CheckSuite(world.ids.next("check"), sha, slug, now, now)
    repo.suites[suite.id] = suite
    return suite


def finish_suite(
    world: World, repo: Repository, sha: str, conclusion: str, reporter: Reporter
) -> CheckSuite:
    """Complete a third party's suite (CI) on a commit."""
    suite = get_or_create_suite(world, repo, sha, reporter.slug)
    suite.status, suite.conclusion = "completed", conclusion
    suite.updated_at = world.clock.now()
    payloads.check_suite(world, repo, suite, "completed", reporter.user)
    return suite


def press(world: World, repo: Repository, run: CheckRun, identifier: str, user: User) -> None:
    """Press a button of a check run; 422 for an unknown button."""
    if identifier not in run.actions:
        raise ApiError(422, f"check run {run.id} has no button {identifier!r}: {list(run.actions)}")
    payloads.check_run_asked(world, repo, run, user, identifier)


def request_suites(world: World, repo: Repository, sha: str, sender: User) -> None:
    """Create a suite, and send a request, for every App that may write checks."""
    for installation in world.installations_on(repo):
        if installation.permissions.get("checks") == "write" and not installation.suspended_at:
            suite = get_or_create_suite(world, repo, sha, installation.app.slug)
            payloads.check_suite_asked(world, repo, suite, "requested", sender)


def _apply(world: World, run: CheckRun, body: Json) -> None:
    for name in _PLAIN_FIELDS:
        if name in body:
            setattr(run, name, body[name])
    output = body.get("output") or {}
    for name in ("title", "summary", "text"):
        if name in output:
            setattr(run, name, output[name])
    if "actions" in body:
        run.actions = {action["identifier"]: action["label"] for action in body["actions"]}
    run.status = body.get("status", run.status)
    if "conclusion" in body:
        run.conclusion, run.status = body["conclusion"], "completed"
        run.completed_at = world.clock.now()
    elif run.status == "completed" and run.conclusion is None:
        raise invalid("CheckRun", "conclusion", "missing_field")
    elif run.status != "completed":
        run.conclusion = run.completed_at = None


def _settle(world: World, repo: Repository, suite: CheckSuite) -> None:
    runs = [r for r in repo.checks.values() if r.suite_id == suite.id]
    suite.updated_at = world.clock.now()
    if all(r.status == "completed" for r in runs):
        suite.status = "completed"
        bad = [r.conclusion for r in runs if r.conclusion in {"failure", "timed_out", "cancelled"}]
        suite.conclusion = bad[0] if bad else "success"
    else:
        suite.status, suite.conclusion = "in_progress", None


def _check_limits(body: Json) -> None:
    output = body.get("output") or {}
    for name in ("summary", "text"):
        if len(output.get(name) or "") > MAX_TEXT:
            raise invalid(
                "CheckRun", name, "custom", f"{name} exceeds a maximum of {MAX_TEXT} characters"
            )
    if len(body.get("actions", ())) > MAX_ACTIONS:
        raise invalid("CheckRun", "actions", "custom", f"more than {MAX_ACTIONS} actions")
    if body.get("conclusion") not in _CONCLUSIONS | {None}:
        raise invalid("CheckRun", "conclusion")
