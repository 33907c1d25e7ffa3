"""REST operations on repositories: contents, commits, comparisons, collaborators, users."""

import base64

from tests.github.clock import timestamp
from tests.github.git.changes import changed_files, log
from tests.github.git.repository import EMPTY_TREE, Blob, TreeEntry
from tests.github.objects import accounts, pulls
from tests.github.rest.paging import page
from tests.github.rest.pulls import resolve
from tests.github.world.http_values import Answer, ApiError, Call, Json, not_found
from tests.github.world.world import World

_MAX_INLINE_BYTES = 1024 * 1024
_MAX_COMMITS = 10_000


def get_repository(world: World, call: Call) -> Answer:
    """GET /repos/{owner}/{repo}"""
    counts = {"network_count": 0, "subscribers_count": 0}
    return Answer(body=accounts.repository(world, call.repo) | counts)


def get_content(world: World, call: Call) -> Answer:
    """GET .../contents/{path}: a file, a directory listing, or raw bytes if Accept asks"""
    path = call.params["path"].strip("/")
    ref = call.query.get("ref", call.repo.default_branch)
    try:
        sha = resolve(world, call, ref)
    except ApiError as error:
        raise ApiError(404, f"No commit found for the ref {ref}") from error
    git = world.git(call.repo)
    blob = git.blob(sha, path) if path else None
    if blob is not None:
        if call.headers.get("accept", "").startswith("application/vnd.github.raw"):
            return Answer(body=blob.data, media_type="application/vnd.github.raw+json")
        return Answer(body=_file(world, call, path, ref, blob))
    entries = git.tree(sha, path)
    if entries is None:
        raise not_found()
    return Answer(body=[_entry(world, call, path, ref, entry) for entry in entries])


def _file(world: World, call: Call, path: str, ref: str, blob: Blob) -> Json:
    inline = len(blob.data) <= _MAX_INLINE_BYTES
    text = base64.encodebytes(blob.data).decode() if inline else ""
    encoding = {"encoding": "base64" if inline else "none", "content": text}
    item = _item(world, call, (path, ref), blob.oid, len(blob.data))
    return {"type": "file", **item, **encoding}


def _entry(world: World, call: Call, folder: str, ref: str, entry: TreeEntry) -> Json:
    kind = {"blob": "file", "tree": "dir", "commit": "submodule"}[entry.kind]
    path = f"{folder}/{entry.name}".strip("/")
    return {"type": kind, **_item(world, call, (path, ref), entry.oid, entry.size)}


def _item(world: World, call: Call, place: tuple[str, str], oid: str, size: int) -> Json:
    path, ref = place
    url = accounts.repository_api(world, call.repo, f"/contents/{path}?ref={ref}")
    git_url = accounts.repository_api(world, call.repo, f"/git/blobs/{oid}")
    html = f"{world.url}/{call.repo.full_name}/blob/{ref}/{path}"
    return {
        "size": size,
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": oid,
        "url": url,
        "git_url": git_url,
        "html_url": html,
        "download_url": f"{world.url}/{call.repo.full_name}/raw/{ref}/{path}",
        "_links": {"self": url, "git": git_url, "html": html},
    }


def get_commit(world: World, call: Call) -> Answer:
    """GET .../commits/{ref}: with its files, 300 at most"""
    sha = resolve(world, call, call.params["ref"])
    git = world.git(call.repo)
    info = world.changes.commit(git, sha)
    files = changed_files(git, info.parents[0] if info.parents else EMPTY_TREE, sha)
    added = sum(f.additions for f in files)
    deleted = sum(f.deletions for f in files)
    body = pulls.commit(world, call.repo, info) | {
        "stats": {"additions": added, "deletions": deleted, "total": added + deleted},
        "files": [pulls.file_entry(world, call.repo, f, sha) for f in files[:300]],
    }
    return Answer(body=body)


def list_commits(world: World, call: Call) -> Answer:
    """GET .../commits of a branch or SHA, newest first; `path` and `since` narrow it"""
    sha = resolve(world, call, call.query.get("sha", call.repo.default_branch))
    arguments = [f"--max-count={_MAX_COMMITS}"]
    arguments += [
        f"--{name}={call.query[name]}" for name in ("since", "until") if name in call.query
    ]
    arguments += [sha, "--", *([call.query["path"]] if "path" in call.query else [])]
    infos = log(world.git(call.repo), *arguments)
    shown = [pulls.commit(world, call.repo, info) for info in infos]
    return page(shown, call.query, accounts.api(world, call.path))


def compare(world: World, call: Call) -> Answer:
    """GET .../compare/{basehead}"""
    base_name, dots, head_name = call.params["basehead"].partition("...")
    if not dots:
        raise not_found()
    try:
        ends = resolve(world, call, base_name), resolve(world, call, head_name.rpartition(":")[2])
    except ApiError as error:
        raise not_found() from error
    compared = world.changes.compare(world.git(call.repo), *ends)
    return Answer(body=pulls.comparison(world, call.repo, ends, compared))


def get_permission(world: World, call: Call) -> Answer:
    """GET .../collaborators/{username}/permission"""
    who = world.user(call.params["username"])
    return Answer(body=accounts.permission(world, who, world.role(call.repo, who)))


def get_user(world: World, call: Call) -> Answer:
    """GET /users/{username}"""
    who = world.user(call.params["username"])
    moment = timestamp(world.clock.now())
    unknown = ("name", "company", "location", "email", "hireable", "bio", "twitter_username")
    counts = ("public_repos", "public_gists", "followers", "following")
    body: Json = accounts.user(world, who)
    body |= dict.fromkeys(unknown) | dict.fromkeys(counts, 0)
    return Answer(body=body | {"blog": "", "created_at": moment, "updated_at": moment})
