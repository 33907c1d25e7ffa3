"""REST operations on git's own objects, and the creation of pull requests."""

import base64
import binascii
import re

from tests.github.actions import pulls
from tests.github.actions.pulls import Change, NewPull
from tests.github.git.changes import CommitInfo
from tests.github.git.repository import GitError
from tests.github.objects import accounts
from tests.github.objects import pulls as objects_pulls
from tests.github.world.http_values import (
    Answer,
    ApiError,
    Call,
    Json,
    NotModelled,
    invalid,
    not_found,
)
from tests.github.world.node_ids import node_id
from tests.github.world.world import World

_OBJECT = re.compile(r"[0-9a-f]{40}")
_BRANCH = "refs/heads/"


def create_blob(world: World, call: Call) -> Answer:
    """POST .../git/blobs"""
    text = call.text("content")
    if call.body.get("encoding", "utf-8") == "base64":
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise invalid("Blob", "content") from error
    else:
        data = text.encode()
    sha = world.git(call.repo).write_blob(data)
    url = _api(world, call, f"/blobs/{sha}")
    return Answer(201, {"url": url, "sha": sha}, {"Location": url})


def create_tree(world: World, call: Call) -> Answer:
    """POST .../git/trees: entries on top of `base_tree`; a null `sha` deletes"""
    git = world.git(call.repo)
    base, entries = call.body.get("base_tree"), call.body["tree"]
    if not isinstance(base, str):
        raise NotModelled("a tree without base_tree")
    if git.resolve(f"{base}^{{tree}}") is None:
        raise ApiError(404, "Not Found")
    try:
        sha = git.edit_tree(base, [_entry(world, call, entry) for entry in entries])
    except GitError as error:
        raise ApiError(422, f"GitRPC::BadObjectState: {error}") from error
    shown = [
        {"path": entry.name, "mode": entry.mode, "type": entry.kind, "sha": entry.oid}
        for entry in git.list_tree(sha)
    ]
    url = _api(world, call, f"/trees/{sha}")
    body: Json = {"sha": sha, "url": url, "truncated": False, "tree": shown}
    return Answer(201, body, {"Location": url})


def _entry(world: World, call: Call, entry: Json) -> tuple[str, str, str | None]:
    """Mode, path, blob (None: it is deleted)."""
    if "content" in entry:
        sha = world.git(call.repo).write_blob(entry["content"].encode())
        return entry["mode"], entry["path"], sha
    return entry["mode"], entry["path"], entry["sha"]


def create_commit(world: World, call: Call) -> Answer:
    """POST .../git/commits, with the caller as author"""
    git = world.git(call.repo)
    who = world.signature(call.caller.bot)
    try:
        tree, parents = call.text("tree"), call.body.get("parents", [])
        sha = git.commit_tree(tree, parents, call.text("message"), who)
    except GitError as error:
        raise ApiError(422, f"Tree SHA does not exist: {error}") from error
    body = _commit(world, call, world.changes.commit(git, sha))
    return Answer(201, body, {"Location": body["url"]})


def get_commit(world: World, call: Call) -> Answer:
    """GET .../git/commits/{commit_sha}"""
    git, sha = world.git(call.repo), call.params["commit_sha"]
    if _OBJECT.fullmatch(sha) is None or git.resolve(f"{sha}^{{commit}}") is None:
        raise not_found()
    return Answer(body=_commit(world, call, world.changes.commit(git, sha)))


def create_ref(world: World, call: Call) -> Answer:
    """POST .../git/refs: a new branch"""
    ref, sha = call.text("ref"), call.text("sha")
    if not ref.startswith(_BRANCH):
        raise NotModelled(f"a reference outside {_BRANCH}")
    name = ref.removeprefix(_BRANCH)
    if name in call.repo.branches:
        raise ApiError(422, "Reference already exists")
    if _OBJECT.fullmatch(sha) is None or world.git(call.repo).resolve(f"{sha}^{{commit}}") is None:
        raise ApiError(422, "Object does not exist")
    pulls.create_branch(world, call.repo, name, sha, call.caller.bot)
    body = _ref(world, call, name)
    return Answer(201, body, {"Location": body["url"]})


def get_ref(world: World, call: Call) -> Answer:
    """GET .../git/ref/{ref}"""
    name = call.params["ref"].removeprefix("heads/")
    if name not in call.repo.branches:
        raise not_found()
    return Answer(body=_ref(world, call, name))


def create_pull(world: World, call: Call) -> Answer:
    """POST .../pulls: of a branch of the same repository"""
    repo, head, base = call.repo, call.text("head"), call.text("base")
    if ":" in head:
        raise NotModelled("a head in another repository")
    for name, branch in (("head", head), ("base", base)):
        if branch not in repo.branches:
            raise invalid("PullRequest", name)
    there = (pull.pull for pull in repo.issues.values() if pull.pull and pull.state == "open")
    if any((pull.head_ref, pull.base_ref, pull.is_fork) == (head, base, False) for pull in there):
        message = f"A pull request already exists for {repo.owner.login}:{head}."
        raise invalid("PullRequest", "head", "custom", message)
    body = call.body.get("body") or ""
    draft = bool(call.body.get("draft"))
    new = NewPull(call.text("title"), body, Change(), base, draft=draft, fork=False)
    issue = pulls.add_pull(world, repo, new, (head, repo.branches[head]), call.caller.bot)
    if issue.pull is None:
        raise not_found()
    shown = objects_pulls.pull_request(world, repo, issue, issue.pull)
    return Answer(201, shown, {"Location": shown["url"]})


def _commit(world: World, call: Call, info: CommitInfo) -> Json:
    html = f"{world.url}/{call.repo.full_name}/commit"
    people = {
        name: {"name": entry.name, "email": entry.email, "date": entry.at}
        for name, entry in (("author", info.author), ("committer", info.committer))
    }
    unsigned = {"verified": False, "reason": "unsigned"}
    return {
        "sha": info.sha,
        "node_id": node_id("Commit", info.sha),
        "url": _api(world, call, f"/commits/{info.sha}"),
        "html_url": f"{html}/{info.sha}",
        **people,
        "tree": {"sha": info.tree, "url": _api(world, call, f"/trees/{info.tree}")},
        "message": info.message,
        "parents": [
            {
                "sha": entry,
                "url": _api(world, call, f"/commits/{entry}"),
                "html_url": f"{html}/{entry}",
            }
            for entry in info.parents
        ],
        "verification": unsigned | dict.fromkeys(("signature", "payload", "verified_at")),
    }


def _ref(world: World, call: Call, branch: str) -> Json:
    sha = call.repo.branches[branch]
    url = _api(world, call, f"/commits/{sha}")
    return {
        "ref": f"{_BRANCH}{branch}",
        "node_id": node_id("Ref", branch),
        "url": _api(world, call, f"/{_BRANCH}{branch}"),
        "object": {"type": "commit", "sha": sha, "url": url},
    }


def _api(world: World, call: Call, path: str) -> str:
    return accounts.repository_api(world, call.repo, f"/git{path}")
