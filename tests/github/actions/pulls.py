"""People's actions on pull requests, made in real git: open, push, edit, review, merge, revert."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.github.actions import checks, threads
from tests.github.git.repository import GitError
from tests.github.webhooks import payloads
from tests.github.world.http_values import ApiError
from tests.github.world.state import Issue, LineComment, Pull, Repository, Review, User
from tests.github.world.world import World

Files = Mapping[str, str | None]
_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class Change:
    """A change of code: whole files by path (None deletes) or a unified diff."""

    files: Files | None = None
    diff: str | None = None


@dataclass(frozen=True, slots=True)
class NewPull:
    """A pull request to open. `base` None means the default branch."""

    title: str
    body: str
    change: Change
    base: str | None = None
    draft: bool = False
    fork: bool = True


def open_pull(world: World, repo: Repository, new: NewPull, author: User) -> Issue:
    """Commit the change on its base and open a pull request for it."""
    base = new.base or repo.default_branch
    base_sha = branch_tip(repo, base)
    head_sha = _commit(world, repo, base_sha, new.change, (new.title, author))
    ref = f"{author.login.removesuffix('[bot]')}-patch-{max(repo.issues, default=0) + 1}"
    return add_pull(world, repo, new, (ref, head_sha), author)


def add_pull(
    world: World, repo: Repository, new: NewPull, head: tuple[str, str], author: User
) -> Issue:
    """Open a pull request for a commit that exists: `head` is its branch name and SHA."""
    base = new.base or repo.default_branch
    ref, sha = head
    issue = threads.new_issue(world, repo, new.title, new.body, author)
    issue.pull = Pull(
        id=world.ids.next("pull"),
        base_ref=base,
        base_sha=branch_tip(repo, base),
        head_ref=ref,
        head_sha=sha,
        head_owner=author if new.fork else repo.owner,
        is_fork=new.fork,
        draft=new.draft,
    )
    is_there = repo.branches.get(ref) == sha
    _set_head(world, repo, issue, sha)
    if not new.fork and not is_there:
        _send_push(world, repo, ref, (_NOTHING, sha), author)
    world.comparison(repo, issue.pull)  # read once here, so that later requests are fast
    payloads.pull(world, repo, issue, "opened", author)
    threads.add_mentions(world, repo, issue, new.body)
    return issue


def push(world: World, repo: Repository, issue: Issue, change: Change, force: bool) -> str:
    """Add a commit to the head, or with `force` replace all commits by one on the base's tip."""
    pull = _pull(issue)
    before = pull.head_sha
    parent = branch_tip(repo, pull.base_ref) if force else before
    after = _commit(world, repo, parent, change, (f"Update {issue.title}", issue.author))
    pull.base_sha = branch_tip(repo, pull.base_ref)
    _set_head(world, repo, issue, after)
    issue.updated_at = world.clock.now()
    if not pull.is_fork:
        _send_push(world, repo, pull.head_ref, (before, after), issue.author)
    payloads.pull(world, repo, issue, "synchronize", issue.author, before=before, after=after)
    return after


def change_base(world: World, repo: Repository, issue: Issue, base: str, sender: User) -> None:
    """Point the pull request at another branch."""
    pull = _pull(issue)
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    pull.base_ref, pull.base_sha = base, branch_tip(repo, base)
    issue.updated_at = world.clock.now()
    payloads.pull(world, repo, issue, "edited", sender, changes=changes)


def set_draft(world: World, repo: Repository, issue: Issue, draft: bool, sender: User) -> None:
    """Mark as draft, or as ready for review."""
    _pull(issue).draft = draft
    issue.updated_at = world.clock.now()
    action = "converted_to_draft" if draft else "ready_for_review"
    payloads.pull(world, repo, issue, action, sender)


@dataclass(frozen=True, slots=True)
class ReviewText:
    """The state, text and line remarks of a review."""

    state: str
    """APPROVED, CHANGES_REQUESTED or COMMENTED."""
    body: str
    comments: tuple[tuple[str, int, str], ...] = ()
    """Path, line and text of each remark on a line."""


def review(world: World, repo: Repository, issue: Issue, given: ReviewText, author: User) -> Review:
    """Submit a review."""
    pull = _pull(issue)
    fresh = Review(
        id=world.ids.next("review"),
        author=author,
        state=given.state,
        body=given.body,
        commit_id=pull.head_sha,
        submitted_at=world.clock.now(),
        comments=tuple(
            LineComment(world.ids.next("review_comment"), *remark) for remark in given.comments
        ),
    )
    pull.reviews.append(fresh)
    issue.updated_at = fresh.submitted_at
    payloads.review(world, repo, issue, fresh)
    return fresh


def merge(world: World, repo: Repository, issue: Issue, user: User, method: str) -> str:
    """Merge by merge, squash or rebase; on 405 nothing has changed."""
    pull = _pull(issue)
    if issue.state != "open" or pull.draft:
        raise ApiError(405, "Pull Request is not mergeable")
    before = branch_tip(repo, pull.base_ref)
    after = _merge_commit(world, repo, issue, user, method)
    now = world.clock.now()
    pull.merged_at, pull.merged_by, pull.merge_commit_sha = now, user, after
    pull.merged_onto = before
    issue.state, issue.closed_at, issue.closed_by, issue.updated_at = "closed", now, user, now
    move_branch(world, repo, pull.base_ref, after)
    payloads.pull(world, repo, issue, "closed", user)
    _send_push(world, repo, pull.base_ref, (before, after), user)
    if pull.base_ref == repo.default_branch:
        for closed_repo, closed_issue in threads.find_closed_issues(world, repo, issue):
            threads.set_state(world, closed_repo, closed_issue, "closed", user)
    return after


def revert(world: World, repo: Repository, issue: Issue, user: User) -> Issue:
    """Open the pull request that GitHub's Revert button opens."""
    pull = _pull(issue)
    if pull.merge_commit_sha is None or pull.merged_onto is None:
        raise ApiError(422, f"Pull request #{issue.number} is not merged, so it cannot be reverted")
    title = f'Revert "{issue.title}"'
    message = f"{title}\n\nThis reverts commit {pull.merge_commit_sha}."
    undone = (pull.merge_commit_sha, pull.merged_onto)
    try:
        sha = world.git(repo).transplant(
            branch_tip(repo, pull.base_ref), undone, message, world.signature(user)
        )
    except GitError as error:
        raise ApiError(422, f"#{issue.number} cannot be reverted cleanly: {error}") from error
    new = NewPull(
        title=title,
        body=f"Reverts {repo.full_name}#{issue.number}",
        change=Change(),
        base=pull.base_ref,
        fork=False,
    )
    return add_pull(world, repo, new, (f"revert-{issue.number}-{pull.head_ref}", sha), user)


def commit_on_branch(
    world: World, repo: Repository, branch: str, files: Files, words: tuple[str, User]
) -> str:
    """Push a commit of whole files straight to a branch; a new branch starts at the default's."""
    message, author = words
    before = repo.branches.get(branch)
    parent = before or repo.branches.get(repo.default_branch)
    after = world.git(repo).commit_files(parent, files, message, world.signature(author))
    move_branch(world, repo, branch, after)
    _send_push(world, repo, branch, (before or _NOTHING, after), author)
    return after


def create_branch(world: World, repo: Repository, branch: str, sha: str, user: User) -> None:
    """Create a branch at an existing commit."""
    move_branch(world, repo, branch, sha)
    _send_push(world, repo, branch, (_NOTHING, sha), user)


def move_branch(world: World, repo: Repository, branch: str, sha: str) -> None:
    """Point a branch at a commit."""
    world.git(repo).set_ref(f"refs/heads/{branch}", sha)
    repo.branches[branch] = sha
    repo.pushed_at = world.clock.now()


def branch_tip(repo: Repository, branch: str) -> str:
    """Return the commit of a branch; 422 for an unknown branch."""
    if branch not in repo.branches:
        raise ApiError(422, f"Branch {branch!r} does not exist in {repo.full_name}")
    return repo.branches[branch]


def _send_push(
    world: World, repo: Repository, branch: str, ends: tuple[str, str], user: User
) -> None:
    payloads.push(world, repo, branch, ends, user)
    checks.request_suites(world, repo, ends[1], user)


def _pull(issue: Issue) -> Pull:
    if issue.pull is None:
        raise ApiError(404, f"#{issue.number} is an issue, not a pull request")
    return issue.pull


def _commit(
    world: World, repo: Repository, parent: str, change: Change, words: tuple[str, User]
) -> str:
    message, author = words
    git = world.git(repo)
    who = world.signature(author)
    try:
        if change.diff is not None:
            return git.commit_diff(parent, change.diff, message, who)
        return git.commit_files(parent, change.files or {}, message, who)
    except GitError as error:
        raise ApiError(422, f"the change does not apply to {parent[:12]}: {error}") from error


def _set_head(world: World, repo: Repository, issue: Issue, sha: str) -> None:
    pull = _pull(issue)
    pull.head_sha = sha
    world.git(repo).set_ref(f"refs/pull/{issue.number}/head", sha)
    if not pull.is_fork:
        world.git(repo).set_ref(f"refs/heads/{pull.head_ref}", sha)
        repo.branches[pull.head_ref] = sha


def _merge_commit(world: World, repo: Repository, issue: Issue, user: User, method: str) -> str:
    pull = _pull(issue)
    git = world.git(repo)
    base = branch_tip(repo, pull.base_ref)
    who = world.signature(user)
    tree = git.merge_trees(base, pull.head_sha)
    if tree is None:
        raise ApiError(405, "Pull Request has merge conflicts")
    if method == "rebase":
        return _rebase(world, repo, issue, base)
    if method == "squash":
        return git.commit_tree(tree, [base], f"{issue.title} (#{issue.number})", who)
    if method != "merge":
        raise ApiError(422, f"merge method {method!r} must be merge, squash or rebase")
    message = (
        f"Merge pull request #{issue.number} from {pull.head_owner.login}/{pull.head_ref}"
        f"\n\n{issue.title}"
    )
    return git.commit_tree(tree, [base, pull.head_sha], message, who)


def _rebase(world: World, repo: Repository, issue: Issue, base: str) -> str:
    """Repeat each commit of the head on the base's tip."""
    git, tip = world.git(repo), base
    who = world.signature(issue.author)
    for info in world.changes.compare(git, base, _pull(issue).head_sha).ahead:
        tip = git.transplant(tip, (info.parents[0], info.sha), info.message, who)
    return tip
