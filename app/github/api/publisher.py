"""Write to GitHub as the bot's App: one comment, one check run per head, and reactions.

A write is planned, sent once and confirmed. If the answer is lost it is ambiguous: the next attempt
looks for it, adopts it, or sends it again. Normally nothing is read before a write.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.github.api import rest_reader
from app.github.api.effect_store import EffectKey, EffectStore
from app.github.api_call import Call, Json, Method
from app.github.errors import Ambiguous, NotFound
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.github.wire import rest
from app.values.identifiers import CommentId, CommitSha, IssueNumber, RepositoryRef

LONGEST_COMMENT: Final = 65_536
"""Most characters of a comment on GitHub."""


@dataclass(frozen=True, slots=True)
class CommentDraft:
    """The wanted content of the bot's verdict comment or reply on an issue."""

    issue: IssueNumber
    body: str
    marker: str
    """Hidden text in `body`, by which the bot finds its comment again when the id is lost."""

    def __post_init__(self) -> None:
        if not self.marker or self.marker not in self.body:
            raise ValueError(f"comment on #{self.issue}: the body lacks its marker {self.marker!r}")
        if len(self.body) > LONGEST_COMMENT:
            raise ValueError(
                f"comment on #{self.issue}: {len(self.body)} characters, GitHub takes"
                f" {LONGEST_COMMENT}: shorten the reasons"
            )


@dataclass(frozen=True, slots=True)
class CheckButton:
    """A button on the bot's check run; GitHub shows at most three."""

    label: str
    description: str
    identifier: str


@dataclass(frozen=True, slots=True)
class CheckDraft:
    """The wanted content of the bot's check run on the head commit of a pull request."""

    name: str
    head_sha: CommitSha
    conclusion: str
    """GitHub's word for the result: `success`, `neutral`, `failure` or `skipped`. The caller decides."""
    title: str
    summary: str
    details_url: str | None = None
    actions: tuple[CheckButton, ...] = ()


@dataclass(frozen=True, slots=True)
class Publisher:
    """Writes comments, check runs and reactions as the bot's App.

    Every method raises a GitHubError when GitHub refuses. After Ambiguous, call the same method again later: it first
    looks on GitHub for the result of the earlier call.
    """

    github: GitHub
    effects: EffectStore

    def comment(self, key: EffectKey, draft: CommentDraft) -> CommentId:
        """Create or update the bot's comment and return its id. Send nothing when it shows `draft` already.

        `key` names the comment in the database. If a person deleted or edited the comment, it stays so until `draft`
        has new content.
        """
        base = f"/repos/{key.repository.full_name}/issues"
        thing = _PublishedItem(
            key,
            body={"body": draft.body},
            create_path=f"{base}/{draft.issue}/comments",
            edit_path=f"{base}/comments",
            create_only={},
            find=lambda: self._find_comment(key, draft),
        )
        return CommentId(self._bring_up_to_date(thing))

    def check_run(self, key: EffectKey, draft: CheckDraft) -> int:
        """Create or update the bot's check run on `draft.head_sha` and return its id. Send nothing if it shows `draft`.

        `key` names the check run in the database and on GitHub.
        """
        path = f"/repos/{key.repository.full_name}/check-runs"
        thing = _PublishedItem(
            key,
            body=_build_check_body(draft),
            create_path=path,
            edit_path=path,
            create_only={"head_sha": draft.head_sha, "external_id": key.name},
            find=lambda: self._find_check_run(key, draft),
        )
        return self._bring_up_to_date(thing)

    def react(self, repository: RepositoryRef, comment: CommentId, content: str) -> None:
        """Add a reaction to a comment as the App. `content` is GitHub's name for it, such as `eyes`.

        It needs no plan, because GitHub keeps one reaction of a kind per author.
        """
        path = f"/repos/{repository.full_name}/issues/comments/{comment}/reactions"
        call = Call(Method.POST, path, body={"content": content})
        self.github.write(repository, call, self.github.permit_write(repository))

    def _bring_up_to_date(self, thing: "_PublishedItem") -> int:
        effect = self.effects.load(thing.key)
        if effect is not None and effect.github_id is not None:
            if effect.shows(thing.digest):
                return effect.github_id
            return self._edit(thing, effect.github_id)
        existing = thing.find() if effect is not None else None
        if existing is None:
            return self._create(thing)
        if existing.is_current:
            self.effects.confirm(thing.key, existing.id, thing.digest)
            return existing.id
        return self._edit(thing, existing.id)

    def _edit(self, thing: "_PublishedItem", github_id: int) -> int:
        call = Call(Method.PATCH, f"{thing.edit_path}/{github_id}", body=thing.body)
        try:
            self._send(thing, call, github_id)
        except NotFound:
            return self._create(thing)
        self.effects.confirm(thing.key, github_id, thing.digest)
        return github_id

    def _create(self, thing: "_PublishedItem") -> int:
        call = Call(Method.POST, thing.create_path, body={**thing.body, **thing.create_only})
        github_id = self._send(thing, call, None)
        self.effects.confirm(thing.key, github_id, thing.digest)
        return github_id

    def _send(self, thing: "_PublishedItem", call: Call, github_id: int | None) -> int:
        # Get the permit before planning: a plan without a send makes the next attempt search in vain.
        permit = self.github.permit_write(thing.key.repository)
        self.effects.plan(thing.key, github_id)
        try:
            answer = self.github.write(thing.key.repository, call, permit)
            return rest.read_slice(rest.CreatedObject, call, answer).id
        except Ambiguous:
            self.effects.mark_ambiguous(thing.key)
            raise

    def _find_comment(self, key: EffectKey, draft: CommentDraft) -> "_FoundItem | None":
        """Find the comment by author and marker: anyone can paste the marker."""
        for comment in rest_reader.list_comments(self.github, key.repository, draft.issue):
            if comment.is_ours and draft.marker in comment.body:
                return _FoundItem(comment.id, is_current=comment.body == draft.body)
        return None

    def _find_check_run(self, key: EffectKey, draft: CheckDraft) -> "_FoundItem | None":
        """Find the check run by App and external id."""
        path = f"/repos/{key.repository.full_name}/commits/{draft.head_sha}/check-runs"
        query: dict[str, str | int] = {
            "app_id": self.github.app.id,
            "check_name": draft.name,
            "filter": "all",
        }
        scope = Scope.for_repository(key.repository, Purpose.PUBLISH)
        for answer in self.github.pages(scope, path, query):
            runs = rest.read_slice(rest.CheckRunsSlice, Call(Method.GET, path), answer).check_runs
            for run in runs:
                is_own = run.app is not None and run.app.id == self.github.app.id
                if is_own and run.external_id == key.name:
                    return _FoundItem(run.id, is_current=False)
        return None


@dataclass(frozen=True, slots=True)
class _FoundItem:
    """A comment or check run whose id was lost."""

    id: int
    is_current: bool
    """True when it is known to show the wanted content."""


@dataclass(frozen=True, slots=True)
class _PublishedItem:
    """The differences between a comment and a check run."""

    key: EffectKey
    body: dict[str, Json]
    create_path: str
    edit_path: str
    create_only: dict[str, Json]
    find: Callable[[], _FoundItem | None]

    @property
    def digest(self) -> str:
        """Return a SHA-256 of all visible content."""
        return hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()


def _build_check_body(draft: CheckDraft) -> dict[str, Json]:
    body: dict[str, Json] = {
        "name": draft.name,
        "status": "completed",
        "conclusion": draft.conclusion,
        "output": {"title": draft.title, "summary": draft.summary},
    }
    if draft.details_url is not None:
        body["details_url"] = draft.details_url
    if draft.actions:
        body["actions"] = [
            {"label": a.label, "description": a.description, "identifier": a.identifier}
            for a in draft.actions
        ]
    return body
