"""REST operations on comments of issues and their reactions."""

from tests.github.actions import threads
from tests.github.actions.threads import Author
from tests.github.clock import timestamp
from tests.github.objects import accounts, issues
from tests.github.rest.paging import build_page
from tests.github.world.http_values import Answer, ApiError, Call, Json
from tests.github.world.state import Comment, Issue
from tests.github.world.world import World


def list_issues(world: World, call: Call) -> Answer:
    """GET .../issues: issues and pull requests that changed at `since` or later"""
    query = call.query
    since, state = query.get("since", ""), query.get("state", "open")
    listed = [
        thread
        for thread in call.repo.issues.values()
        if state in {"all", thread.state} and timestamp(thread.updated_at) >= since
    ]
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    listed.sort(
        key=lambda thread: (getattr(thread, key), thread.number),
        reverse=query.get("direction", "desc") == "desc",
    )
    shown = [issues.issue(world, call.repo, thread) for thread in listed]
    return build_page(shown, query, _url(world, call))


def list_comments(world: World, call: Call) -> Answer:
    """GET .../issues/{issue_number}/comments, oldest first"""
    since = call.query.get("since", "")
    listed_until = world.clock.now() - world.listing_lag
    written = [
        issues.comment(world, call.repo, c)
        for c in call.repo.comments_of(_issue(world, call).number)
        if timestamp(c.updated_at) >= since and c.created_at <= listed_until
    ]
    return build_page(written, call.query, _url(world, call))


def list_repository_comments(world: World, call: Call) -> Answer:
    """GET .../issues/comments: comments of all issues and pull requests that changed at `since` or later"""
    query = call.query
    written = [
        comment
        for number in call.repo.issues
        for comment in call.repo.comments_of(number)
        if timestamp(comment.updated_at) >= query.get("since", "")
    ]
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    written.sort(
        key=lambda comment: (getattr(comment, key), comment.id),
        reverse="sort" in query and query.get("direction", "desc") == "desc",
    )
    shown = [issues.comment(world, call.repo, comment) for comment in written]
    return build_page(shown, query, _url(world, call))


def create_comment(world: World, call: Call) -> Answer:
    """POST .../issues/{issue_number}/comments"""
    issue = _issue(world, call)
    comment = threads.add_comment(world, call.repo, issue, call.text("body"), _author(call))
    return _answer_created(issues.comment(world, call.repo, comment))


def update_comment(world: World, call: Call) -> Answer:
    """PATCH .../issues/comments/{comment_id}: an App may edit only what it wrote"""
    comment = _own_comment(world, call)
    threads.edit_comment(world, call.repo, comment, call.text("body"), call.caller.bot)
    return Answer(body=issues.comment(world, call.repo, comment))


def delete_comment(world: World, call: Call) -> Answer:
    """DELETE .../issues/comments/{comment_id}: the bot may delete only what it wrote"""
    comment = _own_comment(world, call)
    threads.delete_comment(world, call.repo, comment, call.caller.bot)
    return Answer(204)


def add_labels(world: World, call: Call) -> Answer:
    """POST .../issues/{issue_number}/labels: unknown labels are created"""
    issue = _issue(world, call)
    issue.labels += [name for name in call.body["labels"] if name not in issue.labels]
    return Answer(body=[issues.label(world, call.repo, name) for name in issue.labels])


def remove_label(world: World, call: Call) -> Answer:
    """DELETE .../issues/{issue_number}/labels/{name}"""
    issue, name = _issue(world, call), call.params["name"]
    if name not in issue.labels:
        raise ApiError(404, "Label does not exist")
    issue.labels.remove(name)
    return Answer(body=[issues.label(world, call.repo, kept) for kept in issue.labels])


def list_reactions(world: World, call: Call) -> Answer:
    """GET .../issues/comments/{comment_id}/reactions"""
    wanted = call.query.get("content")
    given = [
        issues.reaction(world, r)
        for r in _comment(world, call).reactions
        if wanted in {None, r.content}
    ]
    return build_page(given, call.query, _url(world, call))


def create_reaction(world: World, call: Call) -> Answer:
    """POST .../issues/comments/{comment_id}/reactions: 200 if it was there already"""
    comment = _comment(world, call)
    reaction, fresh = threads.react(world, comment, call.text("content"), call.caller.bot)
    return Answer(201 if fresh else 200, issues.reaction(world, reaction))


def _issue(world: World, call: Call) -> Issue:
    return world.issue(call.repo, call.number("issue_number"))


def _comment(world: World, call: Call) -> Comment:
    return world.comment(call.repo, call.number("comment_id"))


def _own_comment(world: World, call: Call) -> Comment:
    comment = _comment(world, call)
    token = call.caller.token
    if token is None or comment.app is not token.installation.app:
        raise ApiError(403, "Resource not accessible by integration")
    return comment


def _author(call: Call) -> Author:
    token = call.caller.token
    return Author(call.caller.bot, token.installation.app if token else None)


def _answer_created(body: Json) -> Answer:
    return Answer(201, body, {"Location": body["url"]})


def _url(world: World, call: Call) -> str:
    return accounts.api(world, call.path)
