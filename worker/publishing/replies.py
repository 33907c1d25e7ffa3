"""Write replies to comments and reviews: one each, edited in place.

Refusals are separate comments. A conversation that only members may write in gets no reply, and that is no failure.
"""

import logging
from dataclasses import dataclass

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.issues import groups
from app.db.store.queue.effects import build_draft_reply_key, build_refusal_key, build_reply_key
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CommentDraft, Publisher
from app.github.errors import ConversationClosed, NotFound
from app.github.http.connection import GitHub
from app.jobs.draft_jobs import TellDraft
from app.values.identifiers import CommandSource, CommentId, IssueNumber, RepositoryRef
from worker.queue.context import Context

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Replies:
    """Writes the bot's replies to `/r4p` commands, where a reaction is not enough."""

    publisher: Publisher

    def has_answered(self, repository: RepositoryRef, answers: CommandSource) -> bool:
        """Return whether the bot has replied to `answers`, a comment or review with commands."""
        effect = self.publisher.effects.load(EffectKey(repository, build_reply_key(answers)))
        return effect is not None and effect.github_id is not None

    def react(self, repository: RepositoryRef, comment: CommentId, content: str) -> None:
        """Add a reaction to a comment, such as `eyes`, unless its conversation takes none."""
        try:
            self.publisher.react(repository, comment, content)
        except ConversationClosed as error:
            log.info("no reaction to comment %s: %s", comment, error)

    def send(
        self, repository: RepositoryRef, number: int, answers: CommandSource, body: str
    ) -> CommentId | None:
        """Write the bot's reply to the comment or review `answers`, or update it, and return the reply's id.

        `number` is the issue or pull request that gets the reply, and `body` its Markdown. Returns None when the
        conversation takes no reply.
        """
        key = EffectKey(repository, build_reply_key(answers))
        marker = comments.format_reply_marker(answers)
        return self._write(key, CommentDraft(IssueNumber(number), body, marker))

    def refuse(
        self, repository: RepositoryRef, number: int, asked_in: CommandSource, body: str
    ) -> CommentId | None:
        """Reply to the command in `asked_in` that nothing could be judged, and return the reply's id.

        The reply is a comment of its own, so that it does not replace another one. `number` is the issue or pull
        request that gets it, and `body` its Markdown.
        """
        key = EffectKey(repository, build_refusal_key(asked_in))
        marker = comments.format_refusal_marker(asked_in)
        return self._write(key, CommentDraft(IssueNumber(number), body, marker))

    def tell_draft(
        self, repository: RepositoryRef, number: int, asked_in: CommandSource, draft: int, body: str
    ) -> CommentId | None:
        """Reply to the command in `asked_in` with the result of its draft request, and return the reply's id.

        The reply is a comment of its own. `draft` is the id of the request, `number` the issue or pull request that
        gets the reply, and `body` its Markdown.
        """
        key = EffectKey(repository, build_draft_reply_key(draft, asked_in))
        marker = comments.format_draft_marker(draft, asked_in)
        return self._write(key, CommentDraft(IssueNumber(number), body, marker))

    def _write(self, key: EffectKey, draft: CommentDraft) -> CommentId | None:
        try:
            return self.publisher.comment(key, draft)
        except ConversationClosed as error:
            log.info("no reply on #%s: %s", draft.issue, error)
            return None


def tell_draft(github: GitHub, context: Context, job: TellDraft) -> None:
    """Reply to `/r4p open` with the draft pull request that was opened, or with the reason why not.

    This is a job because the writer App may not write on issues. There is no reply when the repository or the commented
    issue is gone.
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
        replies = Replies(Publisher(github, context.open_effects()))
        replies.tell_draft(stored.ref, asked.under, asked.where, draft.id, body)
    except NotFound:
        return
