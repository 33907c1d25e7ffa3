"""One repository of the stand-in, as the people who work in it see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.github.control.client_types import CheckFacts, CommentFacts, IssueFacts, PullFacts

Send = Callable[..., Any]
Files = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Repo:
    """Acts on a repository; every method returns once the stand-in has done it.

    Webhooks of what was done may still be under way: `StandIn.drain` waits for them.
    """

    full_name: str
    id: int
    first_sha: str
    """The commit the repository was made with."""
    send: Send

    def _do(self, command: str, **arguments: Any) -> Any:
        return self.send(command, repo=self.full_name, **arguments)

    # ---- issues

    def open_issue(self, title: str, body: str = "", author: str = "reporter") -> int:
        """Open an issue; its number."""
        return int(self._do("open_issue", title=title, body=body, author=author))

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        by: str | None = None,
    ) -> None:
        """Change title or body; None leaves as is. `by` None is the author."""
        self._do("edit", number=number, by=by, title=title, body=body)

    def issue(self, number: int) -> IssueFacts:
        """How an issue stands."""
        return IssueFacts(**self._do("issue_facts", number=number))

    def close(self, number: int, by: str = "maintainer") -> None:
        """Close an issue, or a pull request without merging."""
        self._do("set_state", number=number, state="closed", by=by)

    def reopen(self, number: int, by: str = "maintainer") -> None:
        """Reopen an issue or pull request."""
        self._do("set_state", number=number, state="open", by=by)

    def lock(self, number: int, *, locked: bool = True) -> None:
        """Lock or unlock the conversation."""
        self._do("lock", number=number, locked=locked)

    def delete_issue(self, number: int) -> None:
        """Delete an issue: 410 from now on."""
        self._do("delete_issue", number=number)

    # ---- comments

    def comment(self, number: int, body: str, author: str = "reporter") -> int:
        """Comment on an issue or pull request; the comment's id."""
        return int(self._do("comment", number=number, body=body, author=author))

    def edit_comment(self, comment_id: int, body: str, by: str | None = None) -> None:
        """Replace a comment's text; `by` None is its author."""
        self._do("edit_comment", comment_id=comment_id, body=body, by=by)

    def delete_comment(self, comment_id: int, by: str | None = None) -> None:
        """Delete a comment; `by` None is the repository's owner."""
        self._do("delete_comment", comment_id=comment_id, by=by)

    def react(self, comment_id: int, content: str, user: str = "reporter") -> int:
        """React to a comment (+1, -1, laugh, ...); the reaction's id. GitHub sends no webhook."""
        return int(self._do("react", comment_id=comment_id, content=content, user=user))

    def comments(self, number: int) -> list[CommentFacts]:
        """The comments on an issue or pull request, oldest first."""
        return [
            CommentFacts(**c | {"reactions": tuple((r[0], r[1]) for r in c["reactions"])})
            for c in self._do("comments", number=number)
        ]

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
        """Open a pull request with whole files (None deletes) or a unified diff as its change."""
        change = {"files": files, "diff": diff}
        found = self._do(
            "open_pr",
            author=author,
            change=change,
            title=title,
            body=body,
            base=base,
            draft=draft,
            fork=fork,
        )
        return PullFacts(**found)

    def push(
        self,
        number: int,
        *,
        files: Files | None = None,
        diff: str | None = None,
        force: bool = False,
    ) -> str:
        """Add a commit to the head, or replace all by one on the base's tip; the new SHA."""
        change = {"files": files, "diff": diff}
        return str(self._do("push", number=number, change=change, force=force))

    def edit_pr(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        by: str | None = None,
    ) -> None:
        """Change title, body or base branch; None leaves as is."""
        self._do("edit", number=number, by=by, title=title, body=body, base=base)

    def merge(self, number: int, by: str = "maintainer", method: str = "merge") -> str:
        """Merge by merge, squash or rebase; the merge commit's SHA."""
        return str(self._do("merge", number=number, by=by, method=method))

    def ready(self, number: int, by: str | None = None) -> None:
        """Mark a draft as ready for review."""
        self._do("draft", number=number, draft=False, by=by)

    def draft(self, number: int, by: str | None = None) -> None:
        """Turn a pull request into a draft."""
        self._do("draft", number=number, draft=True, by=by)

    def revert(self, number: int, by: str = "maintainer") -> PullFacts:
        """Open the pull request that reverts a merged one."""
        return PullFacts(**self._do("revert", number=number, by=by))

    def review(
        self,
        number: int,
        state: str = "APPROVED",
        author: str = "maintainer",
        body: str = "",
        *,
        comments: Sequence[tuple[str, int, str]] = (),
    ) -> int:
        """Submit a review: APPROVED, CHANGES_REQUESTED or COMMENTED; its id.

        `comments` are path, line and text of remarks on single lines.
        """
        given = {"state": state, "body": body, "comments": list(comments)}
        return int(self._do("review", number=number, author=author, given=given))

    def pull(self, number: int) -> PullFacts:
        """How a pull request stands."""
        return PullFacts(**self._do("pull", number=number))

    def head(self, number: int) -> str:
        """The head SHA of a pull request."""
        return self.pull(number).head_sha

    def delete_fork(self, number: int) -> None:
        """The head repository disappears; the commits stay under refs/pull."""
        self._do("delete_fork", number=number)

    def link(self, pull: int, issue: int) -> None:
        """Link a pull request to an issue by hand."""
        self._do("link", pull=pull, issue=issue, linked=True)

    def unlink(self, pull: int, issue: int) -> None:
        """Take a manual link away."""
        self._do("link", pull=pull, issue=issue, linked=False)

    # ---- commits and checks

    def commit(
        self,
        files: Files,
        message: str = "Change",
        author: str = "maintainer",
        branch: str | None = None,
    ) -> str:
        """Push a commit straight to a branch (None: the default one); its SHA."""
        return str(self._do("commit", files=files, message=message, author=author, branch=branch))

    def check_suite(self, sha: str, conclusion: str, app: str = "ci") -> int:
        """A third party's check suite on a commit completes; its id."""
        return int(self._do("check_suite", sha=sha, conclusion=conclusion, app=app))

    def press(self, check_id: int, identifier: str, by: str = "maintainer") -> None:
        """Press one of a check run's buttons."""
        self._do("press", check_id=check_id, identifier=identifier, by=by)

    def rerequest(self, check_id: int, by: str = "maintainer", *, suite: bool = False) -> None:
        """Ask for a check run, or its whole suite, to be run again."""
        self._do("rerequest", check_id=check_id, by=by, suite=suite)

    def check_runs(self, pull: int) -> list[CheckFacts]:
        """The check runs on a pull request's present head, oldest first."""
        return self.check_runs_of(self.head(pull))

    def check_runs_of(self, sha: str) -> list[CheckFacts]:
        """The check runs on a commit, oldest first."""
        plain = ("id", "name", "head_sha", "status", "conclusion")
        more = ("details_url", "external_id", "app", "buttons")
        return [
            CheckFacts(
                **{name: run[name] for name in plain + more},
                **{name: run["output"][name] for name in ("title", "summary", "text")},
            )
            for run in self._do("check_runs", sha=sha)
        ]
