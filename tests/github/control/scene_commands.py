"""Control commands that play people: they open, comment, push, review, merge and revert."""

from collections.abc import Callable
from typing import Any

from tests.github.actions import checks, pulls, threads
from tests.github.actions.checks import Reporter
from tests.github.actions.pulls import Change, Files, NewPull
from tests.github.actions.threads import Author
from tests.github.objects import checks as objects_checks
from tests.github.objects import issues
from tests.github.webhooks import payloads
from tests.github.world.http_values import ApiError, Json, not_found
from tests.github.world.state import CheckRun, Comment, Issue, Repository
from tests.github.world.world import World

# ---- issues, comments


def _open_issue(world: World, repo: str, title: str, body: str, author: str) -> int:
    found = world.repository(repo)
    return threads.open_issue(world, found, title, body, world.account(author)).number


def _edit(world: World, repo: str, number: int, by: str | None, **texts: str | None) -> None:
    found, issue = _thread(world, repo, number)
    base = texts.pop("base", None)
    sender = world.account(by) if by else issue.author
    if base is not None:
        pulls.change_base(world, found, issue, base, sender)
    if any(text is not None for text in texts.values()):
        threads.edit(world, found, issue, sender, **texts)


def _set_state(world: World, repo: str, number: int, state: str, by: str) -> None:
    found, issue = _thread(world, repo, number)
    threads.set_state(world, found, issue, state, world.account(by))


def _lock(world: World, repo: str, number: int, locked: bool) -> None:
    found, issue = _thread(world, repo, number)
    issue.locked = locked
    send = payloads.pull if issue.pull else payloads.issue
    send(world, found, issue, "locked" if locked else "unlocked", found.owner)


def _delete_issue(world: World, repo: str, number: int) -> None:
    found, issue = _thread(world, repo, number)
    issue.deleted = True
    payloads.issue(world, found, issue, "deleted", found.owner)


def _comment(world: World, repo: str, number: int, body: str, author: str) -> int:
    found, issue = _thread(world, repo, number)
    return threads.add_comment(world, found, issue, body, Author(world.account(author))).id


def _edit_comment(world: World, repo: str, comment_id: int, body: str, by: str | None) -> None:
    found, comment = _written(world, repo, comment_id)
    sender = world.account(by) if by else comment.author
    threads.edit_comment(world, found, comment, body, sender)


def _delete_comment(world: World, repo: str, comment_id: int, by: str | None) -> None:
    found, comment = _written(world, repo, comment_id)
    sender = world.account(by) if by else found.owner
    threads.delete_comment(world, found, comment, sender)


def _react(world: World, repo: str, comment_id: int, content: str, user: str) -> int:
    _, comment = _written(world, repo, comment_id)
    reaction, _ = threads.react(world, comment, content, world.account(user))
    return reaction.id


def _link(world: World, repo: str, pull: int, issue: int, linked: bool) -> None:
    found, target = _thread(world, repo, issue)
    act = threads.link if linked else threads.unlink
    act(world, found, target, pull, found.owner)


# ---- pull requests


def _open_pr(world: World, repo: str, author: str, change: dict[str, Any], **words: Any) -> Json:
    new = NewPull(change=Change(**change), **words)
    issue = pulls.open_pull(world, world.repository(repo), new, world.account(author))
    return _pull_facts(issue)


def _push(world: World, repo: str, number: int, change: dict[str, Any], force: bool) -> str:
    found, issue = _thread(world, repo, number)
    return pulls.push(world, found, issue, Change(**change), force)


def _merge(world: World, repo: str, number: int, by: str, method: str) -> str:
    found, issue = _thread(world, repo, number)
    return pulls.merge(world, found, issue, world.account(by), method)


def _draft(world: World, repo: str, number: int, draft: bool, by: str | None) -> None:
    found, issue = _thread(world, repo, number)
    pulls.set_draft(world, found, issue, draft, world.account(by) if by else issue.author)


def _revert(world: World, repo: str, number: int, by: str) -> Json:
    found, issue = _thread(world, repo, number)
    return _pull_facts(pulls.revert(world, found, issue, world.account(by)))


def _review(world: World, repo: str, number: int, author: str, given: dict[str, Any]) -> int:
    found, issue = _thread(world, repo, number)
    comments = tuple((path, line, body) for path, line, body in given["comments"])
    written = pulls.Given(given["state"], given["body"], comments)
    return pulls.review(world, found, issue, written, world.account(author)).id


def _commit(
    world: World, repo: str, files: Files, message: str, author: str, branch: str | None
) -> str:
    found = world.repository(repo)
    words = (message, world.account(author))
    return pulls.commit_on_branch(world, found, branch or found.default_branch, files, words)


def _delete_fork(world: World, repo: str, number: int) -> None:
    _, pull = world.pull(world.repository(repo), number)
    pull.head_repository_deleted = True


def _check_suite(world: World, repo: str, sha: str, conclusion: str, app: str) -> int:
    by = Reporter(app, world.account(f"{app}[bot]", "Bot"))
    return checks.finish_suite(world, world.repository(repo), sha, conclusion, by).id


def _rerequest(world: World, repo: str, check_id: int, by: str, suite: bool) -> None:
    found = world.repository(repo)
    run, sender = _run(found, check_id), world.account(by)
    if suite:
        payloads.check_suite_asked(world, found, found.suites[run.suite_id], "rerequested", sender)
    else:
        payloads.check_run_asked(world, found, run, sender, None)


def _press(world: World, repo: str, check_id: int, identifier: str, by: str) -> None:
    found = world.repository(repo)
    checks.press(world, found, _run(found, check_id), identifier, world.account(by))


def _run(repo: Repository, check_id: int) -> CheckRun:
    if check_id not in repo.checks:
        raise not_found()
    return repo.checks[check_id]


def _pull(world: World, repo: str, number: int) -> Json:
    return _pull_facts(_thread(world, repo, number)[1])


# ---- looking


def _comments(world: World, repo: str, number: int) -> list[Json]:
    found = world.repository(repo)
    return [_comment_facts(world, found, c) for c in found.comments_of(number)]


def _comment_facts(world: World, repo: Repository, comment: Comment) -> Json:
    shown = issues.comment(world, repo, comment)
    names = ("id", "body", "created_at", "updated_at")
    return {name: shown[name] for name in names} | {
        "author": comment.author.login,
        "reactions": [[r.content, r.user.login] for r in comment.reactions],
    }


def _check_runs(world: World, repo: str, sha: str) -> list[Json]:
    found = world.repository(repo)
    runs = [r for r in found.checks.values() if r.head_sha == sha]
    return [
        objects_checks.check_run(world, found, r) | {"app": r.app_slug, "buttons": r.actions}
        for r in runs
    ]


def _issue_facts(world: World, repo: str, number: int) -> Json:
    _, issue = _thread(world, repo, number)
    return {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "author": issue.author.login,
    }


def _pull_facts(issue: Issue) -> Json:
    pull = issue.pull
    if pull is None:
        raise ApiError(404, f"#{issue.number} is an issue, not a pull request")
    return {
        "number": issue.number,
        "head_sha": pull.head_sha,
        "base_sha": pull.base_sha,
        "head_ref": pull.head_ref,
        "base_ref": pull.base_ref,
        "state": issue.state,
        "merged": pull.merged_at is not None,
        "draft": pull.draft,
    }


def _thread(world: World, repo: str, number: int) -> tuple[Repository, Issue]:
    found = world.repository(repo)
    return found, world.issue(found, number)


def _written(world: World, repo: str, comment_id: int) -> tuple[Repository, Comment]:
    found = world.repository(repo)
    return found, world.comment(found, comment_id)


COMMANDS: dict[str, Callable[..., object]] = {
    command.__name__.removeprefix("_"): command
    for command in (
        *(_open_issue, _edit, _set_state, _lock, _delete_issue, _comment, _edit_comment),
        *(_delete_comment, _react, _link, _open_pr, _push, _merge, _draft, _revert, _review),
        *(
            _rerequest,
            _press,
            _commit,
            _delete_fork,
            _check_suite,
            _pull,
            _comments,
            _check_runs,
            _issue_facts,
        ),
    )
}
