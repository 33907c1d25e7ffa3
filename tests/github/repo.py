"""One repository of the stand-in, with everything that people and CI do in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.github.actions import checks, pulls, threads
from tests.github.actions.checks import Reporter
from tests.github.actions.pulls import Change, Files, NewPull
from tests.github.actions.threads import Author
from tests.github.facts import CheckFacts, CommentFacts, IssueFacts, PullFacts
from tests.github.server_thread import ServerThread
from tests.github.webhooks import payloads
from tests.github.world.http_values import not_found
from tests.github.world.state import CheckRun, Issue, Repository
from tests.github.world.world import World

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Repo:
    """Acts on a repository; every method returns when the stand-in has finished the action.

    The webhooks of an action may still be on their way: `StandIn.drain` waits for them.
    Unknown numbers and refused actions raise StandInError.
    """

    full_name: str
    id: int
    first_sha: str
    """The commit that the repository was created with."""
    server: ServerThread

    # ---- issues

    def open_issue(self, title: str, body: str = "", author: str = "reporter") -> int:
        """Open an issue; return its number."""

        def act(world: World, repo: Repository) -> int:
            return threads.open_issue(world, repo, title, body, world.account(author)).number

        return self._call(act)

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        by: str | None = None,
    ) -> None:
        """Change title or body; None keeps the old text. `by` None is the author."""

        def act(world: World, repo: Repository, issue: Issue) -> None:
            sender = world.account(by) if by else issue.author
            if title is not None or body is not None:
                threads.edit(world, repo, issue, sender, title=title, body=body)

        self._call_issue(number, act)

    def issue(self, number: int) -> IssueFacts:
        """Return the state of an issue."""
        return self._call_issue(number, lambda _, __, issue: IssueFacts.of_record(issue))

    def close(self, number: int, by: str = "maintainer") -> None:
        """Close an issue, or a pull request without merging it."""
        self._set_state(number, "closed", by)

    def reopen(self, number: int, by: str = "maintainer") -> None:
        """Reopen an issue or a pull request."""
        self._set_state(number, "open", by)

    def _set_state(self, number: int, state: str, by: str) -> None:
        def act(world: World, repo: Repository, issue: Issue) -> None:
            threads.set_state(world, repo, issue, state, world.account(by))

        self._call_issue(number, act)

    def lock(self, number: int, *, locked: bool = True) -> None:
        """Lock or unlock the conversation."""

        def act(world: World, repo: Repository, issue: Issue) -> None:
            issue.locked = locked
            send = payloads.pull if issue.pull else payloads.issue
            send(world, repo, issue, "locked" if locked else "unlocked", repo.owner)

        self._call_issue(number, act)

    def delete_issue(self, number: int) -> None:
        """Delete an issue; GitHub answers 410 from now on."""

        def act(world: World, repo: Repository, issue: Issue) -> None:
            issue.deleted = True
            payloads.issue(world, repo, issue, "deleted", repo.owner)

        self._call_issue(number, act)

    # ---- comments

    def comment(self, number: int, body: str, author: str = "reporter") -> int:
        """Comment on an issue or pull request; return the comment's id."""

        def act(world: World, repo: Repository, issue: Issue) -> int:
            return threads.add_comment(world, repo, issue, body, Author(world.account(author))).id

        return self._call_issue(number, act)

    def edit_comment(self, comment_id: int, body: str, by: str | None = None) -> None:
        """Replace a comment's text; `by` None is the author."""

        def act(world: World, repo: Repository) -> None:
            comment = world.comment(repo, comment_id)
            sender = world.account(by) if by else comment.author
            threads.edit_comment(world, repo, comment, body, sender)

        self._call(act)

    def delete_comment(self, comment_id: int, by: str | None = None) -> None:
        """Delete a comment; `by` None is the repository's owner."""

        def act(world: World, repo: Repository) -> None:
            sender = world.account(by) if by else repo.owner
            threads.delete_comment(world, repo, world.comment(repo, comment_id), sender)

        self._call(act)

    def react(self, comment_id: int, content: str, user: str = "reporter") -> int:
        """React to a comment (+1, -1, laugh, ...) and return the reaction's id.

        GitHub sends no webhook for it.
        """

        def act(world: World, repo: Repository) -> int:
            comment = world.comment(repo, comment_id)
            reaction, _ = threads.react(world, comment, content, world.account(user))
            return reaction.id

        return self._call(act)

    def comments(self, number: int) -> list[CommentFacts]:
        """Return the comments on an issue or pull request, oldest first."""
        return self._call(
            lambda _, repo: [CommentFacts.of_record(c) for c in repo.comments_of(number)]
        )

    # ---- pull requests

    def open_pr(
        self,
        title: str,
        body: str = "",
        author: str = "contributor",
        *,
        files: Files | None = None,
        diff: str | None = None,
        base: str | None = None,
        draft: bool = False,
        fork: bool = True,
    ) -> PullFacts:
        """Open a pull request that changes whole files (None deletes) or applies a unified diff."""
        new = NewPull(title, body, Change(files, diff), base, draft, fork)

        def act(world: World, repo: Repository) -> PullFacts:
            return PullFacts.of_record(pulls.open_pull(world, repo, new, world.account(author)))

        return self._call(act)

    def push(
        self,
        number: int,
        *,
        files: Files | None = None,
        diff: str | None = None,
        force: bool = False,
    ) -> str:
        """Add a commit to the head and return its SHA.

        With `force` the commit replaces all others and starts at the tip of the base.
        """
        change = Change(files, diff)

        def act(world: World, repo: Repository, issue: Issue) -> str:
            return pulls.push(world, repo, issue, change, force)

        return self._call_issue(number, act)

    def edit_pr(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        by: str | None = None,
    ) -> None:
        """Change title, body or base branch; None keeps the old value."""

        def act(world: World, repo: Repository, issue: Issue) -> None:
            if base is not None:
                sender = world.account(by) if by else issue.author
                pulls.change_base(world, repo, issue, base, sender)

        self._call_issue(number, act)
        self.edit_issue(number, title=title, body=body, by=by)

    def merge(self, number: int, by: str = "maintainer", method: str = "merge") -> str:
        """Merge by merge, squash or rebase; return the SHA of the merge commit."""

        def act(world: World, repo: Repository, issue: Issue) -> str:
            return pulls.merge(world, repo, issue, world.account(by), method)

        return self._call_issue(number, act)

    def ready(self, number: int, by: str | None = None) -> None:
        """Mark a draft as ready for review."""
        self._set_draft(number, False, by)

    def draft(self, number: int, by: str | None = None) -> None:
        """Turn a pull request into a draft."""
        self._set_draft(number, True, by)

    def _set_draft(self, number: int, draft: bool, by: str | None) -> None:
        def act(world: World, repo: Repository, issue: Issue) -> None:
            sender = world.account(by) if by else issue.author
            pulls.set_draft(world, repo, issue, draft, sender)

        self._call_issue(number, act)

    def revert(self, number: int, by: str = "maintainer") -> PullFacts:
        """Open the pull request that reverts a merged one."""

        def act(world: World, repo: Repository, issue: Issue) -> PullFacts:
            return PullFacts.of_record(pulls.revert(world, repo, issue, world.account(by)))

        return self._call_issue(number, act)

    def review(
        self,
        number: int,
        state: str = "APPROVED",
        author: str = "maintainer",
        body: str = "",
        *,
        comments: Sequence[tuple[str, int, str]] = (),
    ) -> int:
        """Submit a review (APPROVED, CHANGES_REQUESTED or COMMENTED) and return its id.

        `comments` are path, line and text of remarks on single lines.
        """
        given = pulls.Given(state, body, tuple(comments))

        def act(world: World, repo: Repository, issue: Issue) -> int:
            return pulls.review(world, repo, issue, given, world.account(author)).id

        return self._call_issue(number, act)

    def pull(self, number: int) -> PullFacts:
        """Return the state of a pull request."""
        return self._call_issue(number, lambda _, __, issue: PullFacts.of_record(issue))

    def head(self, number: int) -> str:
        """Return the head SHA of a pull request."""
        return self.pull(number).head_sha

    def delete_fork(self, number: int) -> None:
        """Delete the head repository; its commits stay under refs/pull."""

        def act(world: World, repo: Repository) -> None:
            _, pull = world.pull(repo, number)
            pull.head_repository_deleted = True

        self._call(act)

    def link(self, pull: int, issue: int) -> None:
        """Link a pull request to an issue by hand."""
        self._call_issue(
            issue, lambda world, repo, target: threads.link(world, repo, target, pull, repo.owner)
        )

    def unlink(self, pull: int, issue: int) -> None:
        """Take a manual link away."""
        self._call_issue(
            issue, lambda world, repo, target: threads.unlink(world, repo, target, pull, repo.owner)
        )

    # ---- commits and checks

    def commit(
        self,
        files: Files,
        message: str = "Change",
        author: str = "maintainer",
        branch: str | None = None,
    ) -> str:
        """Push a commit to a branch (None: the default branch) and return its SHA."""

        def act(world: World, repo: Repository) -> str:
            words = (message, world.account(author))
            return pulls.commit_on_branch(world, repo, branch or repo.default_branch, files, words)

        return self._call(act)

    def check_suite(self, sha: str, conclusion: str, app: str = "ci") -> int:
        """Complete the check suite of a third party's App on a commit; return its id."""

        def act(world: World, repo: Repository) -> int:
            reporter = Reporter(app, world.account(f"{app}[bot]", "Bot"))
            return checks.finish_suite(world, repo, sha, conclusion, reporter).id

        return self._call(act)

    def press(self, check_id: int, identifier: str, by: str = "maintainer") -> None:
        """Press a button of a check run."""

        def act(world: World, repo: Repository) -> None:
            run = _check_run(repo, check_id)
            checks.press(world, repo, run, identifier, world.account(by))

        self._call(act)

    def rerequest(self, check_id: int, by: str = "maintainer", *, suite: bool = False) -> None:
        """Ask GitHub to run a check run, or its whole suite, again."""

        def act(world: World, repo: Repository) -> None:
            run, sender = _check_run(repo, check_id), world.account(by)
            if suite:
                asked = repo.suites[run.suite_id]
                payloads.check_suite_asked(world, repo, asked, "rerequested", sender)
            else:
                payloads.check_run_asked(world, repo, run, sender, None)

        self._call(act)

    def check_runs(self, pull: int) -> list[CheckFacts]:
        """Return the check runs on a pull request's present head, oldest first."""
        return self.check_runs_of(self.head(pull))

    def check_runs_of(self, sha: str) -> list[CheckFacts]:
        """Return the check runs on a commit, oldest first."""

        def act(world: World, repo: Repository) -> list[CheckFacts]:
            runs = [run for run in repo.checks.values() if run.head_sha == sha]
            return [CheckFacts.of_record(world, repo, run) for run in runs]

        return self._call(act)

    # ---- on the server's thread

    def _call(self, act: Callable[[World, Repository], T]) -> T:
        return self.server.call(lambda world: act(world, world.repository(self.full_name)))

    def _call_issue(self, number: int, act: Callable[[World, Repository, Issue], T]) -> T:
        return self._call(lambda world, repo: act(world, repo, world.issue(repo, number)))


def _check_run(repo: Repository, check_id: int) -> CheckRun:
    if check_id not in repo.checks:
        raise not_found()
    return repo.checks[check_id]
