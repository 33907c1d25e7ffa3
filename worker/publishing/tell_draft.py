"""Reply with the result of a request for a draft pull request, because the writer App may not write on issues."""

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.issues import groups
from app.github.errors import NotFound
from app.jobs.draft_jobs import TellDraft
from worker.publishing.replies import Replies
from worker.queue.context import Context


def tell_draft(replies: Replies, context: Context, job: TellDraft) -> None:
    """Reply with the result of a request for a draft pull request, in a comment of its own.

    There is no reply when the repository or the commented issue is gone.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
        draft = drafts.load(connection, job.draft)
    if stored is None or draft is None:
        return
    asked = draft.asked
    if draft.pull is not None:
        body = comments.write_draft_opened_reply(
            asked.where, draft.id, draft.alternative, draft.pull
        )
    elif draft.not_opened is not None:
        body = comments.write_draft_failed_reply(
            asked.where, draft.id, draft.alternative, draft.not_opened
        )
    else:
        return  # somebody asked again; a later job replies
    try:
        replies.tell_draft(stored.ref, asked.under, asked.where, draft.id, body)
    except NotFound:
        return
