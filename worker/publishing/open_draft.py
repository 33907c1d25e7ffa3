"""Open an alternative as a draft pull request, with the second App's key: no model and no tool is in this process."""

import logging
from dataclasses import dataclass

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.alternatives.drafts import Draft
from app.db.store.issues import groups
from app.db.store.queue.effects import PostgresEffects, comment_key, draft_key
from app.github.api.draft_publisher import BranchTaken, Drafts, NewDraft
from app.github.api.effect_store import EffectKey
from app.github.endpoints import Endpoints
from app.github.errors import Forbidden, NotFound, Unprocessable
from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import Planned
from app.policy.draft_policy import NotOpened, branch, refused
from app.values.identifiers import CommentId, IssueRef, PullNumber, RepositoryRef
from model.errors import BadDiff
from model.workspace import diff_validation
from worker.git.alternative_commit import DoesNotApply, alternative_commit
from worker.git.hardened_git import GitError, GitUnreachable, Remote
from worker.publishing.publish_verdict import comment_url
from worker.queue.context import Context
from worker.repositories.repository_config import last_good

log = logging.getLogger(__name__)


class _NotOpenedError(Exception):
    """There is no draft, and another attempt would end the same way."""

    def __init__(self, why: NotOpened) -> None:
        super().__init__(why.value)
        self.why = why


@dataclass(frozen=True, slots=True)
class OpenDraftHandler:
    """Takes the stored diff, checks it again, commits it on its base as it is now, and opens the draft, once."""

    drafts: Drafts
    web: Endpoints

    def __call__(self, context: Context, job: OpenDraft) -> None:
        """Open it, or find out why not; who asked is told by whoever may write on issues."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            draft = drafts.load(connection, job.draft)
            if stored is None or stored.suspended or draft is None:
                return
            base = drafts.branch_of(connection, draft)
        config = last_good(stored.config_text)
        found = draft.pull or refused(config, has_writer=True)
        if found is None:
            found = self._open(context, stored.ref, draft, base)
        context.check()
        with context.transaction() as connection:
            drafts.save(connection, draft.id, found)
            told = TellDraft(job.installation, job.repository, draft.id)
            context.enqueue(connection, [Planned(told)])

    def _open(
        self, context: Context, repository: RepositoryRef, draft: Draft, base: str | None
    ) -> PullNumber | NotOpened:
        key = EffectKey(repository, draft_key(draft.attempt))
        if (there := self.drafts.opened(key)) is not None:
            return there
        try:
            ours = self._ours(repository)
            new = self._new(context, ours, draft, base or self.drafts.default_branch(ours))
            context.check()
            return self.drafts.open(ours, key, new)
        except _NotOpenedError as error:
            found = error.why
        except BranchTaken:
            found = NotOpened.BRANCH_TAKEN
        except Forbidden:
            found = NotOpened.NO_RIGHT
        except (NotFound, Unprocessable) as error:
            log.warning("draft %s: %s", draft.id, error)
            found = NotOpened.REFUSED
        return found

    def _ours(self, repository: RepositoryRef) -> RepositoryRef:
        """The repository as the second App sees it, once it is known to have the right."""
        try:
            ours = self.drafts.installed_on(repository)
        except NotFound as error:
            raise _NotOpenedError(NotOpened.NOT_INSTALLED) from error
        try:
            self.drafts.token(ours)
        except (Unprocessable, Forbidden) as error:
            raise _NotOpenedError(NotOpened.NO_RIGHT) from error
        return ours

    def _new(
        self, context: Context, repository: RepositoryRef, draft: Draft, base: str
    ) -> NewDraft:
        message = f"{comments.draft_title(draft.issue, draft.alternative)}\n"
        remote = Remote(self.web.git(repository.full_name), self.drafts.token(repository))
        try:
            diff_validation.require(draft.diff)
            commit = alternative_commit(remote, base, draft.diff, message)
        except BadDiff as error:
            raise _NotOpenedError(NotOpened.BAD_DIFF) from error
        except DoesNotApply as error:
            raise _NotOpenedError(NotOpened.MOVED) from error
        except GitUnreachable:
            raise
        except GitError as error:
            log.warning("draft %s: %s", draft.id, error)
            raise _NotOpenedError(NotOpened.NO_CODE) from error
        return NewDraft(
            branch=branch(draft.issue, draft.alternative),
            base=base,
            commit=commit,
            title=message.strip(),
            body=comments.draft_body(self._view(context, repository, draft)),
        )

    def _view(
        self, context: Context, repository: RepositoryRef, draft: Draft
    ) -> comments.DraftView:
        effects = PostgresEffects(context.database)
        effect = effects.load(EffectKey(repository, comment_key(draft.group)))
        verdict = None
        if effect is not None and effect.github_id is not None:
            issue = IssueRef(repository, draft.issue)
            verdict = comment_url(self.web.web, issue, CommentId(effect.github_id))
        return comments.DraftView(
            draft.issue,
            draft.alternative,
            agent=draft.agent,
            model=draft.model,
            verdict=draft.verdict,
            written_on=draft.written_on,
            asked_by=draft.asked.by,
            comment=verdict,
        )
