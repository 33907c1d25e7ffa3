"""Answers to comments and reviews: one for each, edited in place when it changes; a refusal to judge comes on its own."""

from dataclasses import dataclass

from app import comments
from app.db.store.queue.effects import draft_reply_key, refusal_key, reply_key
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CommentDraft, Publisher
from app.values.identifiers import AskedIn, CommentId, IssueNumber, RepositoryRef


@dataclass(frozen=True, slots=True)
class Replies:
    """Says things that a reaction can't."""

    publisher: Publisher

    def stands(self, repository: RepositoryRef, answers: AskedIn) -> bool:
        """Whether we have answered already."""
        effect = self.publisher.effects.load(EffectKey(repository, reply_key(answers)))
        return effect is not None and effect.github_id is not None

    def send(
        self, repository: RepositoryRef, number: int, answers: AskedIn, body: str
    ) -> CommentId:
        """Bring our answer up to date. `number` is the issue or pull request it is under."""
        key = EffectKey(repository, reply_key(answers))
        marker = comments.reply_marker(answers)
        return self.publisher.comment(key, CommentDraft(IssueNumber(number), body, marker))

    def refuse(
        self, repository: RepositoryRef, number: int, asked_in: AskedIn, body: str
    ) -> CommentId:
        """Say that nothing could be judged, beside the answer: whichever is said last replaces no other."""
        key = EffectKey(repository, refusal_key(asked_in))
        marker = comments.refusal_marker(asked_in)
        return self.publisher.comment(key, CommentDraft(IssueNumber(number), body, marker))

    def tell(
        self, repository: RepositoryRef, number: int, asked_in: AskedIn, draft: int, body: str
    ) -> CommentId:
        """Say what came of a draft pull request, beside the answer for the same reason."""
        key = EffectKey(repository, draft_reply_key(draft, asked_in))
        marker = comments.draft_marker(draft, asked_in)
        return self.publisher.comment(key, CommentDraft(IssueNumber(number), body, marker))
