"""Publish a verdict: every head is read again first, then one comment and one check run per head."""

from dataclasses import dataclass

from app import comments
from app.comments import CheckText, Row, VerdictView
from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.issues.groups import StoredRepository
from app.db.store.queue.effects import check_key, comment_key
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CheckAction, CheckDraft, CommentDraft, Publisher
from app.github.facts import Heads, State
from app.github.http.connection import Connection as GitHub
from app.jobs.job import EvaluateIssue, Planned, PublishVerdict
from app.policy.draft_policy import refused
from app.policy.group_policy import CLOSED, publication
from app.values.identifiers import CommentId, IssueRef, PullNumber, RepositoryRef
from worker.outcomes import second_attempts
from worker.publishing.replies import Replies
from worker.publishing.verdict_view import verdict_view
from worker.queue.context import Context
from worker.repositories.repository_config import last_good


@dataclass(frozen=True, slots=True)
class PublishVerdictHandler:
    """Brings what GitHub shows of a group in line with its newest verdict."""

    github: GitHub
    publisher: Publisher
    quiet_seconds: float
    """How long to wait before a head that moved is looked at again."""
    has_writer: bool
    """The operator gave a second App, which opens draft pull requests."""

    def __call__(self, context: Context, job: PublishVerdict) -> None:
        """Publish, unless a newer verdict is out or the issue was closed; a moved head is judged anew."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            evaluation = evaluations.load(connection, job.evaluation)
            if stored is None or stored.suspended or evaluation is None:
                return
            if evaluation.state not in {"verified", "published"}:
                return
            late = evaluations.overtaken(connection, evaluation)
        heads = None if late else self._heads(stored.ref, evaluation)
        if heads is None or heads.issue is None:
            # A newer verdict is out, or the issue is gone.
            with context.transaction() as connection:
                evaluations.mark_superseded(connection, evaluation.id)
            return
        if heads.issue is State.CLOSED:
            with context.transaction() as connection:
                groups.set_waiting(connection, evaluation.group, CLOSED)
                if evaluation.state == "verified":
                    evaluations.mark_superseded(connection, evaluation.id)
            return
        context.check()
        if not evaluation.judged and not evaluation.alternatives:
            self._say_nothing_came(stored.ref, evaluation)
            with context.transaction() as connection:
                evaluations.mark_superseded(connection, evaluation.id)
            return
        moved = self._publish(stored, evaluation, heads)
        with context.transaction() as connection:
            evaluations.mark_published(connection, evaluation.id)
            context.enqueue(connection, self._again(job) if moved else [])
            if second_attempts.are_due(second_attempts.after_verdict(connection, evaluation)):
                context.enqueue(connection, [_with_hints(job, evaluation)])

    def _say_nothing_came(self, repository: RepositoryRef, evaluation: Evaluation) -> None:
        """Of an alternative that somebody asked for where there was nothing else to judge."""
        asked, why = evaluation.asked, evaluation.alternatives_lack
        if asked is not None and why is not None:
            body = comments.no_alternative_reply(asked.where, why)
            Replies(self.publisher).refuse(repository, asked.under, asked.where, body)

    def _publish(self, stored: StoredRepository, evaluation: Evaluation, heads: Heads) -> bool:
        """Write what the settings want to be seen. Returns whether a head has moved."""
        moved = moved_heads(evaluation, heads)
        config = last_good(stored.config_text)
        may_open = refused(config, has_writer=self.has_writer) is None
        view = verdict_view(evaluation, moved, stored.config_error, may_open=may_open)
        wanted = publication(config, evaluation.trigger, view.news)
        says = wanted.comment and not heads.is_locked
        url = self._comment(stored.ref, evaluation, view) if says else None
        for row in view.rows if wanted.checks else ():
            if row.pull in open_heads(heads) and not row.moved:
                self._check(stored.ref, row, view, url)
        return bool(moved)

    def _heads(self, repository: RepositoryRef, evaluation: Evaluation) -> Heads:
        numbers = [judged.candidate.pull for judged in evaluation.judged]
        return graphql_reader.read_heads(
            self.github, IssueRef(repository, evaluation.issue), numbers
        )

    def _again(self, job: PublishVerdict) -> list[Planned]:
        again = EvaluateIssue(job.installation, job.repository, job.issue, "moved_head")
        return [Planned(again, self.quiet_seconds)]

    def _comment(self, repository: RepositoryRef, evaluation: Evaluation, view: VerdictView) -> str:
        """Write the canonical comment; returns its address."""
        key = EffectKey(repository, comment_key(evaluation.group))
        draft = CommentDraft(
            issue=evaluation.issue,
            body=comments.verdict_comment(view),
            marker=comments.group_marker(evaluation.group),
        )
        comment = self.publisher.comment(key, draft)
        return comment_url(
            self.github.transport.endpoints.web, IssueRef(repository, evaluation.issue), comment
        )

    def _check(
        self, repository: RepositoryRef, row: Row, view: VerdictView, url: str | None
    ) -> None:
        key = EffectKey(repository, check_key(view.group, row.pull, row.head))
        self.publisher.check_run(key, as_draft(comments.check_run(view, row, url)))


def _with_hints(job: PublishVerdict, evaluation: Evaluation) -> Planned:
    """Look at the issue again, for whoever wanted the verdict."""
    again = EvaluateIssue(job.installation, job.repository, job.issue, evaluation.trigger)
    return Planned(again)


def moved_heads(evaluation: Evaluation, heads: Heads) -> frozenset[PullNumber]:
    """The pull requests whose head is no longer the one that was judged (pure)."""
    now = {pull.number: pull.head_sha for pull in heads.pulls}
    judged = {one.candidate.pull: one.candidate.head_sha for one in evaluation.judged}
    return frozenset(pull for pull, head in judged.items() if now.get(pull, head) != head)


def open_heads(heads: Heads) -> frozenset[PullNumber]:
    """The pull requests that are still open (pure)."""
    return frozenset(pull.number for pull in heads.pulls if pull.state is State.OPEN)


def comment_url(web: str, issue: IssueRef, comment: CommentId) -> str:
    """Where a person reads it; `web` is where GitHub's pages are (pure)."""
    return f"{web}/{issue.repository.full_name}/issues/{issue.number}#issuecomment-{comment}"


def as_draft(text: CheckText) -> CheckDraft:
    """A check run's words as the publisher takes them (pure)."""
    return CheckDraft(
        name=text.name,
        head_sha=text.head,
        conclusion=text.conclusion,
        title=text.title,
        summary=text.summary,
        details_url=text.details_url,
        actions=tuple(
            CheckAction(button.label, button.description, button.identifier.value)
            for button in text.buttons
        ),
    )
