"""Tell whoever asked for a draft pull request what came of it: on issues only the first App may speak."""

from dataclasses import dataclass

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.issues import groups
from app.github.errors import NotFound
from app.jobs.draft_jobs import TellDraft
from worker.publishing.replies import Replies
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class TellDraftHandler:
    """Says it in a comment of its own, beside the answer to the command."""

    replies: Replies

    def __call__(self, context: Context, job: TellDraft) -> None:
        """Nobody is told where the repository, or what was written under, is gone."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            draft = drafts.load(connection, job.draft)
        if stored is None or stored.suspended or draft is None:
            return
        asked = draft.asked
        if draft.pull is not None:
            body = comments.opened_reply(asked.where, draft.id, draft.alternative, draft.pull)
        elif draft.not_opened is not None:
            body = comments.not_opened_reply(
                asked.where, draft.id, draft.alternative, draft.not_opened
            )
        else:
            return  # somebody asked again, and will be told
        try:
            self.replies.tell(stored.ref, asked.under, asked.where, draft.id, body)
        except NotFound:
            return
