"""Write to GitHub as the bot's App: one comment, one check run per head, and reactions.

A write is planned, sent once and confirmed. If the answer is lost it is ambiguous: the next attempt
looks for it, adopts it, or sends it again. Normally nothing is read before or after a write.

A worker may be paused longer than its lease while its request is on the way. No fence reaches that
request, so each attempt looks at the plan in force after its write. A plan always precedes its
request. An attempt that finds a newer plan there sends that plan's content (`_give_way`). The last
request of all is thus followed by a look at the last plan, and nothing stale remains.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from app.github.api import rest_reader
from app.github.api.effect_store import EffectKey, EffectStore
from app.github.api_call import Call, Json, Method
from app.github.errors import Ambiguous, NotFound
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.github.http.rate_limiter import WritePermit
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
    """Writes comments, check runs and reactions as the bot's App, for one attempt at one job.

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
            list_own=lambda: self._list_comments(key, draft),
            is_deletable=True,
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
            list_own=lambda: self._list_check_runs(key, draft),
            is_deletable=False,
        )
        return self._bring_up_to_date(thing)

    def react(self, repository: RepositoryRef, comment: CommentId, content: str) -> None:
        """Add a reaction to a comment as the App. `content` is GitHub's name for it, such as `eyes`.

        It needs no plan, because GitHub keeps one reaction of a kind per author.
        """
        path = f"/repos/{repository.full_name}/issues/comments/{comment}/reactions"
        call = Call(Method.POST, path, body={"content": content})
        permit = self.github.permit_write(repository)
        self.effects.check_owner()
        self.github.write(repository, call, permit)

    def _bring_up_to_date(self, thing: "_PublishedItem") -> int:
        effect = self.effects.load(thing.key)
        if effect is not None and effect.github_id is not None and effect.is_shown(thing.content):
            return effect.github_id
        # Get the permit before planning: its wait may be longer than the lease.
        permit = self.github.permit_write(thing.key.repository)
        before = self.effects.plan(thing.key, thing.content)
        if before is None:
            return self._create(thing, permit)
        github_id = before.github_id or self._keep_single(thing)
        if github_id is not None:
            return self._edit(thing, permit, github_id)
        return self._create(thing, permit, is_contested=True)

    def _edit(self, thing: "_PublishedItem", permit: WritePermit, github_id: int) -> int:
        call = Call(Method.PATCH, f"{thing.edit_path}/{github_id}", body=thing.body)
        try:
            self._send(thing, call, permit, github_id)
        except NotFound:
            permit = self.github.permit_write(thing.key.repository)
            self.effects.plan(thing.key, thing.content, is_new=True)
            return self._create(thing, permit, is_contested=True)
        return self._confirm(thing, github_id)

    def _create(
        self, thing: "_PublishedItem", permit: WritePermit, *, is_contested: bool = False
    ) -> int:
        """Create the object. After an unclear earlier attempt (`is_contested`), look whether its request came late."""
        call = Call(Method.POST, thing.create_path, body={**thing.body, **thing.create_only})
        github_id = self._send(thing, call, permit, None)
        kept = self._keep_single(thing, github_id) if is_contested else github_id
        if kept is not None and kept != github_id:
            return self._edit(thing, self.github.permit_write(thing.key.repository), kept)
        return self._confirm(thing, github_id)

    def _confirm(self, thing: "_PublishedItem", github_id: int) -> int:
        if self.effects.confirm(thing.key, github_id):
            return github_id
        return self._give_way(thing, github_id) or github_id

    def _give_way(self, thing: "_PublishedItem", github_id: int | None) -> int | None:
        """Leave GitHub as the plan in force wants it, after a write that arrived beside another attempt's.

        Nothing here needs the fence: it removes doubles of this object, and repeats what its newest plan says. The
        effect stays ambiguous, so that the plan in force is sent once more when the verdicts are reconciled. Returns
        the id of the object, and None when GitHub shows none.
        """
        self.effects.mark_ambiguous(thing.key, None)
        kept = self._keep_single(thing, github_id) or github_id
        sent, effect = "", None if kept is None else self.effects.load(thing.key)
        while effect is not None and effect.content != sent:
            sent = effect.content
            self._repair(
                thing, Call(Method.PATCH, f"{thing.edit_path}/{kept}", body=json.loads(sent))
            )
            effect = self.effects.load(thing.key)
        self.effects.mark_ambiguous(thing.key, kept)
        return kept

    def _keep_single(self, thing: "_PublishedItem", created: int | None = None) -> int | None:
        """Delete all objects of this name but one, and return its id; None: there is none. `created` is one of them.

        All attempts keep the first comment. A later one never becomes the first, so that deleting it late harms nobody.
        GitHub deletes no check run, and shows the last one of a name.
        """
        own = sorted({*thing.list_own(), *([] if created is None else [created])})
        if not own or not thing.is_deletable:
            return own[-1] if own else None
        for extra in own[1:]:
            with suppress(NotFound):
                self._repair(thing, Call(Method.DELETE, f"{thing.edit_path}/{extra}"))
        return own[0]

    def _repair(self, thing: "_PublishedItem", call: Call) -> None:
        repository = thing.key.repository
        permit = self.github.permit_write(repository)
        self.effects.check_pause(thing.key)
        self.github.write(repository, call, permit)

    def _send(
        self, thing: "_PublishedItem", call: Call, permit: WritePermit, github_id: int | None
    ) -> int:
        self.effects.check_owner()
        try:
            answer = self.github.write(thing.key.repository, call, permit)
            return rest.read_slice(rest.CreatedObject, call, answer).id
        except Ambiguous:
            plan = self.effects.load(thing.key)
            self.effects.mark_ambiguous(thing.key, github_id)
            if plan is not None and plan.content != thing.content:
                self._give_way(thing, github_id)
            raise

    def _list_comments(self, key: EffectKey, draft: CommentDraft) -> Iterator[int]:
        """List the comments with this author and marker: anyone can paste the marker."""
        for comment in rest_reader.list_comments(self.github, key.repository, draft.issue):
            if comment.is_ours and draft.marker in comment.body:
                yield comment.id

    def _list_check_runs(self, key: EffectKey, draft: CheckDraft) -> Iterator[int]:
        """List the check runs with this App and external id."""
        path = f"/repos/{key.repository.full_name}/commits/{draft.head_sha}/check-runs"
        query: dict[str, str | int] = {
            "app_id": self.github.app.id,
            "check_name": draft.name,
            "filter": "all",
        }
        scope = Scope.for_repository(key.repository, Purpose.PUBLISH)
        for answer in self.github.iterate_pages(scope, path, query):
            runs = rest.read_slice(rest.CheckRunsSlice, Call(Method.GET, path), answer).check_runs
            for run in runs:
                is_own = run.app is not None and run.app.id == self.github.app.id
                if is_own and run.external_id == key.name:
                    yield run.id


@dataclass(frozen=True, slots=True)
class _PublishedItem:
    """The differences between a comment and a check run."""

    key: EffectKey
    body: dict[str, Json]
    create_path: str
    edit_path: str
    create_only: dict[str, Json]
    list_own: Callable[[], Iterator[int]]
    """Reads from GitHub the ids of the objects that bear this name; normally it is one."""
    is_deletable: bool

    @property
    def content(self) -> str:
        """Return all visible content as JSON."""
        return json.dumps(self.body, sort_keys=True)


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
