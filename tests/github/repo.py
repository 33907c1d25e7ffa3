"""A repository of the stand-in, with everything that people and CI do in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.github.actions import checks, pulls, threads
from tests.github.actions.pulls import Change, Files, NewPull
from tests.github.actions.threads import Author
from tests.github.facts import CheckFacts, CommentFacts, IssueFacts, PullFacts
from tests.github.repo_records import RepoRecords
from tests.github.server_thread import run_on_server
from tests.github.webhooks import payloads


@dataclass(frozen=True, slots=True)
class Repo(RepoRecords):
    """Acts on a repository; every method returns when the stand-in has finished the action.

    The webhooks of an action may still be on their way: `StandIn.drain` waits for them.
    Unknown numbers and refused actions raise StandInError.
    """

    # ---- issues

    @run_on_server
    def open_issue(self, title: str, body: str = "", author: str = "reporter") -> int:
        """Open an issue; return its number."""
        user = self._world.account(author)
        return threads.open_issue(self._world, self._record, title, body, user).number

    @run_on_server
    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        user: str | None = None,
    ) -> None:
        """Change title or body; None keeps the old text. `user` None is the author."""
        issue = self._issue(number)
        sender = self._account(user, issue.author)
        threads.edit(self._world, self._record, issue, sender, title=title, body=body)

    @run_on_server
    def issue(self, number: int) -> IssueFacts:
        """Return the state of an issue."""
        return IssueFacts.of_record(self._issue(number))

    def close(self, number: int, user: str = "maintainer") -> None:
        """Close an issue, or a pull request without merging it."""
        self._set_state(number, "closed", user)

    def reopen(self, number: int, user: str = "maintainer") -> None:
        """Reopen an issue or a pull request."""
        self._set_state(number, "open", user)

    @run_on_server
    def _set_state(self, number: int, state: str, user: str) -> None:
        issue = self._issue(number)
        threads.set_state(self._world, self._record, issue, state, self._world.account(user))

    @run_on_server
    def lock(self, number: int, *, locked: bool = True) -> None:
        """Lock or unlock the conversation."""
        issue = self._issue(number)
        issue.locked = locked
        send = payloads.pull if issue.pull else payloads.issue
        action = "locked" if locked else "unlocked"
        send(self._world, self._record, issue, action, self._record.owner)

    @run_on_server
    def delete_issue(self, number: int) -> None:
        """Delete an issue; GitHub answers 410 from now on."""
        issue = self._issue(number)
        issue.deleted = True
        payloads.issue(self._world, self._record, issue, "deleted", self._record.owner)

    # ---- comments

    @run_on_server
    def comment(self, number: int, body: str, author: str = "reporter") -> int:
        """Comment on an issue or pull request; return the comment's id."""
        writer = Author(self._world.account(author))
        issue = self._issue(number)
        return threads.add_comment(self._world, self._record, issue, body, writer).id

    @run_on_server
    def edit_comment(self, comment_id: int, body: str, user: str | None = None) -> None:
        """Replace a comment's text; `user` None is the author."""
        comment = self._world.comment(self._record, comment_id)
        sender = self._account(user, comment.author)
        threads.edit_comment(self._world, self._record, comment, body, sender)

    @run_on_server
    def delete_comment(self, comment_id: int, user: str | None = None) -> None:
        """Delete a comment; `user` None is the repository's owner."""
        comment = self._world.comment(self._record, comment_id)
        sender = self._account(user, self._record.owner)
        threads.delete_comment(self._world, self._record, comment, sender)

    @run_on_server
    def react(self, comment_id: int, content: str, user: str = "reporter") -> int:
        """React to a comment (+1, -1, laugh, ...) and return the reaction's id.

        GitHub sends no webhook for it.
        """
        comment = self._world.comment(self._record, comment_id)
        reaction, _ = threads.react(self._world, comment, content, self._world.account(user))
        return reaction.id

    @run_on_server
    def comments(self, number: int) -> list[CommentFacts]:
        """Return the comments on an issue or pull request, oldest first."""
        return [CommentFacts.of_record(comment) for comment in self._record.comments_of(number)]

    # ---- pull requests

    @run_on_server
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
        user = self._world.account(author)
        return PullFacts.of_record(pulls.open_pull(self._world, self._record, new, user))

    @run_on_server
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
        issue = self._issue(number)
        return pulls.push(self._world, self._record, issue, Change(files, diff), force)

    def edit_pr(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        user: str | None = None,
    ) -> None:
        """Change title, body or base branch; None keeps the old value."""
        if base is not None:
            self._change_base(number, base, user)
        if title is not None or body is not None:
            self.edit_issue(number, title=title, body=body, user=user)

    @run_on_server
    def _change_base(self, number: int, base: str, user: str | None) -> None:
        issue = self._issue(number)
        sender = self._account(user, issue.author)
        pulls.change_base(self._world, self._record, issue, base, sender)

    @run_on_server
    def merge(self, number: int, user: str = "maintainer", method: str = "merge") -> str:
        """Merge by merge, squash or rebase; return the SHA of the merge commit."""
        merger = self._world.account(user)
        return pulls.merge(self._world, self._record, self._issue(number), merger, method)

    def ready(self, number: int, user: str | None = None) -> None:
        """Mark a draft as ready for review."""
        self._set_draft(number, False, user)

    def draft(self, number: int, user: str | None = None) -> None:
        """Turn a pull request into a draft."""
        self._set_draft(number, True, user)

    @run_on_server
    def _set_draft(self, number: int, draft: bool, user: str | None) -> None:
        issue = self._issue(number)
        sender = self._account(user, issue.author)
        pulls.set_draft(self._world, self._record, issue, draft, sender)

    @run_on_server
    def revert(self, number: int, user: str = "maintainer") -> PullFacts:
        """Open the pull request that reverts a merged one."""
        author = self._world.account(user)
        reverting = pulls.revert(self._world, self._record, self._issue(number), author)
        return PullFacts.of_record(reverting)

    @run_on_server
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
        given = pulls.ReviewText(state, body, tuple(comments))
        user = self._world.account(author)
        return pulls.review(self._world, self._record, self._issue(number), given, user).id

    @run_on_server
    def pull(self, number: int) -> PullFacts:
        """Return the state of a pull request."""
        return PullFacts.of_record(self._issue(number))

    def head(self, number: int) -> str:
        """Return the head SHA of a pull request."""
        return self.pull(number).head_sha

    @run_on_server
    def link(self, pull: int, issue: int) -> None:
        """Link a pull request to an issue by hand."""
        threads.link(self._record, self._issue(issue), pull)

    @run_on_server
    def unlink(self, pull: int, issue: int) -> None:
        """Take a manual link away."""
        threads.unlink(self._record, self._issue(issue), pull)

    # ---- commits and checks

    @run_on_server
    def commit(
        self,
        files: Files,
        message: str = "Change",
        author: str = "maintainer",
        branch: str | None = None,
    ) -> str:
        """Push a commit to a branch (None: the default branch) and return its SHA."""
        words = (message, self._world.account(author))
        branch = branch or self._record.default_branch
        return pulls.commit_on_branch(self._world, self._record, branch, files, words)

    @run_on_server
    def read_file(self, path: str, branch: str) -> bytes | None:
        """Return a file at the tip of a branch, or None if it is not there."""
        blob = self._world.git(self._record).blob(self._record.branches[branch], path)
        return blob.data if blob else None

    @run_on_server
    def check_suite(self, sha: str, conclusion: str, app: str = "ci") -> int:
        """Complete the check suite of a third party's App on a commit; return its id."""
        reporter = self._get_reporter(app)
        return checks.finish_suite(self._world, self._record, sha, conclusion, reporter).id

    @run_on_server
    def report_check(self, sha: str, name: str, conclusion: str | None, app: str = "ci") -> None:
        """Report a check run of a third party's App on a commit; without a conclusion it still runs."""
        body = {"name": name, "head_sha": sha} | ({"conclusion": conclusion} if conclusion else {})
        checks.create(self._world, self._record, body, self._get_reporter(app))

    @run_on_server
    def report_status(self, sha: str, context: str, state: str) -> None:
        """Set a commit status."""
        self._record.statuses.setdefault(sha, {})[context] = state

    @run_on_server
    def press(self, check_id: int, identifier: str, user: str = "maintainer") -> None:
        """Press a button of a check run."""
        sender = self._world.account(user)
        checks.press(self._world, self._record, self._check_run(check_id), identifier, sender)

    @run_on_server
    def rerequest(self, check_id: int, user: str = "maintainer", *, suite: bool = False) -> None:
        """Ask GitHub to run a check run, or its whole suite, again."""
        run, sender = self._check_run(check_id), self._world.account(user)
        if suite:
            target = self._record.suites[run.suite_id]
            payloads.check_suite_asked(self._world, self._record, target, "rerequested", sender)
        else:
            payloads.check_run_asked(self._world, self._record, run, sender, None)

    def check_runs(self, pull: int) -> list[CheckFacts]:
        """Return the check runs on a pull request's present head, oldest first."""
        return self.check_runs_of(self.head(pull))

    @run_on_server
    def check_runs_of(self, sha: str) -> list[CheckFacts]:
        """Return the check runs on a commit, oldest first."""
        runs = [run for run in self._record.checks.values() if run.head_sha == sha]
        return [CheckFacts.of_record(self._world, self._record, run) for run in runs]
