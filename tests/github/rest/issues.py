"""REST operations on issues, their comments and reactions, and the timeline."""

from tests.github.actions import threads
from tests.github.actions.threads import Author
from tests.github.clock import timestamp
from tests.github.objects import accounts, issues
from tests.github.rest.paging import page
from tests.github.world.http_values import Answer, ApiError, Call, Json
from tests.github.world.node_ids import node_id
from tests.github.world.state import Comment, Issue, Repository, TimelineEvent
from tests.github.world.world import World


def get_issue(world: World, call: Call) -> Answer:
    """GET .../issues/{issue_number}"""
    return Answer(body=issues.issue_detail(world, call.repo, _issue(world, call)))


def list_issues(world: World, call: Call) -> Answer:
    """GET .../issues: pull requests are listed too"""
    state = call.query.get("state", "open")
    since = call.query.get("since", "")
    newest = call.query.get("sort", "created")
    key = {"updated": "updated_at", "created": "created_at", "comments": "number"}[newest]
    listed = [
        i
        for i in call.repo.issues.values()
        if not i.deleted and state in {"all", i.state} and timestamp(i.updated_at) >= since
    ]
    down = call.query.get("direction", "desc") == "desc"
    listed.sort(key=lambda i: (getattr(i, key), i.number), reverse=down)
    return page([issues.issue(world, call.repo, i) for i in listed], call.query, _url(world, call))


def list_comments(world: World, call: Call) -> Answer:
    """GET .../issues/{issue_number}/comments, oldest first"""
    since = call.query.get("since", "")
    listed_until = world.clock.now() - world.listing_lag
    written = [
        issues.comment(world, call.repo, c)
        for c in call.repo.comments_of(_issue(world, call).number)
        if timestamp(c.updated_at) >= since and c.created_at <= listed_until
    ]
    return page(written, call.query, _url(world, call))


def create_comment(world: World, call: Call) -> Answer:
    """POST .../issues/{issue_number}/comments"""
    issue = _issue(world, call)
    comment = threads.add_comment(world, call.repo, issue, call.text("body"), _author(call))
    return _answer_created(issues.comment(world, call.repo, comment))


def get_comment(world: World, call: Call) -> Answer:
    """GET .../issues/comments/{comment_id}"""
    return Answer(body=issues.comment(world, call.repo, _comment(world, call)))


def update_comment(world: World, call: Call) -> Answer:
    """PATCH .../issues/comments/{comment_id}: an App may edit only what it wrote"""
    comment = _own_comment(world, call)
    threads.edit_comment(world, call.repo, comment, call.text("body"), call.caller.bot)
    return Answer(body=issues.comment(world, call.repo, comment))


def delete_comment(world: World, call: Call) -> Answer:
    """DELETE .../issues/comments/{comment_id}"""
    threads.delete_comment(world, call.repo, _own_comment(world, call), call.caller.bot)
    return Answer(204)


def list_reactions(world: World, call: Call) -> Answer:
    """GET .../issues/comments/{comment_id}/reactions"""
    wanted = call.query.get("content")
    given = [
        issues.reaction(world, r)
        for r in _comment(world, call).reactions
        if wanted in {None, r.content}
    ]
    return page(given, call.query, _url(world, call))


def create_reaction(world: World, call: Call) -> Answer:
    """POST .../issues/comments/{comment_id}/reactions: 200 if it was there already"""
    comment = _comment(world, call)
    reaction, fresh = threads.react(world, comment, call.text("content"), call.caller.bot)
    return Answer(201 if fresh else 200, issues.reaction(world, reaction))


def delete_reaction(world: World, call: Call) -> Answer:
    """DELETE .../issues/comments/{comment_id}/reactions/{reaction_id}"""
    comment = _comment(world, call)
    wanted = call.number("reaction_id")
    kept = [r for r in comment.reactions if r.id != wanted or r.user is not call.caller.bot]
    if len(kept) == len(comment.reactions):
        raise ApiError(404, "Not Found")
    comment.reactions = kept
    return Answer(204)


def timeline(world: World, call: Call) -> Answer:
    """GET .../issues/{issue_number}/timeline: events and comments, oldest first"""
    issue = _issue(world, call)
    entries = [(e.at, e.id, _event(world, call.repo, issue, e)) for e in issue.timeline]
    entries += [
        (c.created_at, c.id, _build_comment_event(world, call.repo, c))
        for c in call.repo.comments_of(issue.number)
        if not c.author.deleted
    ]
    shown = [body for _, _, body in sorted(entries, key=lambda entry: entry[:2])]
    return page(shown, call.query, _url(world, call))


def _build_comment_event(world: World, repo: Repository, comment: Comment) -> Json:
    shown = issues.comment(world, repo, comment)
    return {"event": "commented", "actor": shown["user"], **shown}


def _event(world: World, repo: Repository, issue: Issue, event: TimelineEvent) -> Json:
    shown: Json = {"event": event.kind, "actor": accounts.user(world, event.actor)}
    if event.kind == "cross-referenced" and event.source_number is not None:
        source_repo = world.repositories[event.source_repository or ""]
        source = issues.issue(world, source_repo, source_repo.issues[event.source_number])
        moments = {"created_at": timestamp(event.at), "updated_at": timestamp(event.at)}
        source["repository"] = accounts.repository(world, source_repo)
        return shown | moments | {"source": {"type": "issue", "issue": source}}
    more = {"state_reason": issue.state_reason} if event.kind == "closed" else {}
    return {
        "id": event.id,
        "node_id": node_id("Event", event.id),
        "url": accounts.repository_api(world, repo, f"/issues/events/{event.id}"),
        **shown,
        "commit_id": event.commit_id,
        "commit_url": event.commit_id
        and accounts.repository_api(world, repo, f"/commits/{event.commit_id}"),
        "created_at": timestamp(event.at),
        "performed_via_github_app": None,
        **more,
    }


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
