"""Open an alternative as a draft pull request with the writer App's key.

No model and no tool runs in this process.
"""

import logging
from dataclasses import dataclass

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.alternatives.drafts import Draft
from app.db.store.issues import groups
from app.db.store.queue.effects import build_comment_key, build_draft_key, find_github_id
from app.github.api.draft_publisher import DraftPublisher, NewDraft
from app.github.api.effect_store import EffectKey
from app.github.endpoints import Endpoints
from app.github.http.connection import GitHub
from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import Planned
from app.policy.draft_policy import DraftRefusal, find_refusal, name_branch
from app.values.identifiers import CommentId, IssueRef, PullNumber, RepositoryRef
from model.workspace import diff_validation
from worker.git.hardened_git import Remote
from worker.publishing.publish_verdict import build_comment_url
from worker.publishing.writer_access import (
    NotOpenedError,
    build_commit,
    explain_refusals,
    require_writer_access,
)
from worker.queue.context import Context
from worker.repositories.repository_config import parse_last_good

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenDraftHandler:
    """Opens an alternative as a draft pull request, once: checks its diff and commits it on the present base."""

    github: GitHub
    """The connection as the writer App."""
    web: Endpoints

    def __call__(self, context: Context, job: OpenDraft) -> None:
        """Open the draft pull request, store its number or why there is none, and plan the reply to the person."""
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
            draft = drafts.load(connection, job.draft)
            if stored is None or draft is None:
                return
            base = drafts.find_branch(connection, draft)
        config = parse_last_good(stored)
        result = draft.pull or find_refusal(config, has_writer=True)
        if result is None:
            result = self._open(context, stored.ref, draft, base)
        context.check()
        with context.transaction() as connection:
            drafts.save(connection, draft.id, result)
            job_to_tell = TellDraft(job.installation, job.repository, draft.id)
            context.enqueue(connection, [Planned(job_to_tell)])

    def _open(
        self, context: Context, repository: RepositoryRef, draft: Draft, base: str | None
    ) -> PullNumber | DraftRefusal:
        key = EffectKey(repository, build_draft_key(draft.attempt))
        publisher = DraftPublisher(self.github, context.open_effects())
        if (existing := publisher.find_opened(key)) is not None:
            return existing
        try:
            with explain_refusals():
                writable = require_writer_access(publisher, repository)
                branch, message = name_branch(draft.issue, draft.alternative), _write_message(draft)
                # Look before building: the diff may no longer apply to a base that moved meanwhile.
                earlier = publisher.find_earlier(writable, key, branch, message)
                if earlier is not None:
                    return earlier
                remote = Remote(self.web.git(writable.full_name), publisher.token(writable))
                new = self._build_draft(
                    context, (writable, remote), draft, base or publisher.default_branch(writable)
                )
                context.check()
                return publisher.open(writable, key, new)
        except NotOpenedError as error:
            log.warning("draft %s: %s", draft.id, error)
            return error.why

    def _build_draft(
        self, context: Context, place: tuple[RepositoryRef, Remote], draft: Draft, base: str
    ) -> NewDraft:
        repository, remote = place
        message = _write_message(draft)
        diff_validation.validate_diff(draft.diff)
        commit = build_commit(remote, base, draft.diff, message)
        return NewDraft(
            branch=name_branch(draft.issue, draft.alternative),
            base=base,
            commit=commit,
            title=message.strip(),
            body=comments.write_draft_body(self._build_view(context, repository, draft)),
        )

    def _build_view(
        self, context: Context, repository: RepositoryRef, draft: Draft
    ) -> comments.DraftView:
        comment = find_github_id(
            context.database, EffectKey(repository, build_comment_key(draft.group))
        )
        verdict = None
        if comment is not None:
            issue = IssueRef(repository, draft.issue)
            verdict = build_comment_url(self.web.web, issue, CommentId(comment))
        return comments.DraftView(
            draft.issue,
            draft.alternative,
            agent=draft.agent,
            model=draft.model,
            verdict=draft.verdict,
            written_on=draft.written_on,
            asked_by=draft.asked.login,
            comment=verdict,
        )


def _write_message(draft: Draft) -> str:
    return f"{comments.write_draft_title(draft.issue, draft.alternative)}\n"
