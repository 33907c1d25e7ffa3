"""Publish a verdict: read every head again, then write one comment and one check run per head."""

from dataclasses import dataclass

from app import comments
from app.comments import CheckText, VerdictRow, VerdictView
from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.issues.groups import StoredRepository
from app.db.store.queue.effects import build_check_key, build_comment_key
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CheckButton, CheckDraft, CommentDraft, Publisher
from app.github.errors import ConversationClosed
from app.github.facts import Heads, IssueState
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, Planned, PublishVerdict
from app.policy.draft_policy import find_refusal
from app.policy.group_policy import CLOSED, VERDICT_FIRST, plan_publication
from app.values.identifiers import CommentId, IssueRef, PullNumber, RepositoryRef
from worker.outcomes import second_attempts
from worker.publishing.observed_evidence import add_observations, count_wait
from worker.publishing.replies import Replies
from worker.publishing.result_labels import label_verdicts
from worker.publishing.verdict_view import add_settings, add_titles, build_verdict_view
from worker.queue.context import Context
from worker.repositories.repository_config import parse_last_good


@dataclass(frozen=True, slots=True)
class PublishVerdictHandler:
    """Updates a group's comment and check runs to its newest verdict."""

    github: GitHub
    quiet_seconds: float
    """Delay before a group with a moved head is evaluated again."""
    has_writer: bool
    """True when the operator configured a writer App for draft pull requests."""
    tests_wait_seconds: float = 0.0
    """Longest time that a verdict waits for the tests of its group."""
    tests_claim: bool = False
    """Whether tests may claim a patch incorrect that breaks more of them than a rival."""

    def __call__(self, context: Context, job: PublishVerdict) -> None:
        """Publish the verdict, unless it waits for tests, a newer one is out or the issue is closed.

        If a head moved since the evaluation, or changes waited for this verdict, this plans a new one.
        """
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
            evaluation = evaluations.load(connection, job.evaluation)
            if stored is None or evaluation is None:
                return
            if evaluation.state not in {"verified", "published"}:
                return
            late = evaluations.is_overtaken(connection, evaluation)
        if not late and (wait := count_wait(context, evaluation, self.tests_wait_seconds)):
            with context.transaction() as connection:
                context.enqueue(connection, [Planned(job, wait)])
            return
        heads = None if late else self._read_heads(stored.ref, evaluation)
        if heads is None or heads.issue is None:
            # A newer verdict is published, or the issue was deleted.
            with context.transaction() as connection:
                evaluations.mark_superseded(connection, evaluation.id)
            return
        if heads.issue is IssueState.CLOSED:
            with context.transaction() as connection:
                groups.set_waiting(connection, evaluation.group, CLOSED)
                if evaluation.state == "verified":
                    evaluations.mark_superseded(connection, evaluation.id)
            return
        context.check()
        publisher = Publisher(self.github, context.open_effects(evaluation.id))
        if not evaluation.candidates and not evaluation.alternatives:
            _reply_without_alternative(publisher, stored.ref, evaluation)
            with context.transaction() as connection:
                evaluations.mark_superseded(connection, evaluation.id)
            return
        evaluation = add_observations(context, evaluation, heads, tests_claim=self.tests_claim)
        moved = self._publish(publisher, stored, evaluation, heads)
        with context.transaction() as connection:
            evaluations.mark_published(connection, evaluation.id)
            group = groups.find_group(connection, job.repository, job.issue)
            waits = group is not None and group.waiting == VERDICT_FIRST
            context.enqueue(connection, self._plan_again(job) if moved or waits else [])
            if second_attempts.has_second_attempts(
                second_attempts.leave_hints_of_verdict(connection, evaluation)
            ):
                context.enqueue(connection, [_plan_second_attempts(job, evaluation)])

    def _publish(
        self,
        publisher: Publisher,
        stored: StoredRepository,
        evaluation: Evaluation,
        heads: Heads,
    ) -> bool:
        """Write what the settings allow to show. Return whether a head has moved."""
        moved = find_moved_heads(evaluation, heads)
        config = parse_last_good(stored)
        may_open = find_refusal(config, has_writer=self.has_writer) is None
        view = build_verdict_view(evaluation, moved, stored.config_error, may_open=may_open)
        view = add_settings(add_titles(view, heads), stored)
        wanted = plan_publication(config, evaluation.trigger, view.publishable_verdicts)
        says = wanted.comment and not heads.is_locked
        url = self._write_comment(publisher, stored.ref, evaluation, view) if says else None
        for row in view.rows if wanted.checks else ():
            if row.pull in find_open_heads(heads) and not row.moved:
                _write_check(publisher, stored.ref, row, view, url)
        if wanted.labels:
            label_verdicts(publisher, stored.ref, view, find_open_heads(heads))
        return bool(moved)

    def _read_heads(self, repository: RepositoryRef, evaluation: Evaluation) -> Heads:
        numbers = [candidate.pull for candidate in evaluation.candidates]
        return graphql_reader.read_heads(
            self.github, IssueRef(repository, evaluation.issue), numbers
        )

    def _plan_again(self, job: PublishVerdict) -> list[Planned]:
        again = EvaluateIssue(job.installation, job.repository, job.issue, "moved_head")
        return [Planned(again, self.quiet_seconds)]

    def _write_comment(
        self,
        publisher: Publisher,
        repository: RepositoryRef,
        evaluation: Evaluation,
        view: VerdictView,
    ) -> str | None:
        """Write the group's comment and return its address; None when the conversation takes no comment."""
        key = EffectKey(repository, build_comment_key(evaluation.group))
        draft = CommentDraft(
            issue=evaluation.issue,
            body=comments.write_verdict_comment(view),
            marker=comments.format_group_marker(evaluation.group),
        )
        try:
            comment = publisher.comment(key, draft)
        except ConversationClosed:
            return None
        return build_comment_url(
            self.github.transport.endpoints.web, IssueRef(repository, evaluation.issue), comment
        )


def _write_check(
    publisher: Publisher,
    repository: RepositoryRef,
    row: VerdictRow,
    view: VerdictView,
    url: str | None,
) -> None:
    key = EffectKey(repository, build_check_key(view.group, row.pull, row.head))
    publisher.check_run(key, build_check_draft(comments.write_check_run(view, row, url)))


def _reply_without_alternative(
    publisher: Publisher, repository: RepositoryRef, evaluation: Evaluation
) -> None:
    """Reply to `/r4p propose` when the issue has no pull request to compare with."""
    asked, why = evaluation.asked, evaluation.alternatives_lack
    if asked is not None and why is not None:
        body = comments.write_no_alternative_reply(asked.where, why)
        Replies(publisher).refuse(repository, asked.under, asked.where, body)


def _plan_second_attempts(job: PublishVerdict, evaluation: Evaluation) -> Planned:
    """Plan another evaluation with the same trigger, for the second attempts."""
    again = EvaluateIssue(job.installation, job.repository, job.issue, evaluation.trigger)
    return Planned(again)


def find_moved_heads(evaluation: Evaluation, heads: Heads) -> frozenset[PullNumber]:
    """Return the numbers of an evaluation's pull requests whose head commit changed since then (pure).

    `heads` holds their present head commits on GitHub; a pull request that it lacks counts as unchanged.
    """
    now = {pull.number: pull.head_sha for pull in heads.pulls}
    judged = {candidate.pull: candidate.head_sha for candidate in evaluation.candidates}
    return frozenset(pull for pull, head in judged.items() if now.get(pull, head) != head)


def find_open_heads(heads: Heads) -> frozenset[PullNumber]:
    """Return the numbers of the pull requests in `heads` that are still open (pure)."""
    return frozenset(pull.number for pull in heads.pulls if pull.state is IssueState.OPEN)


def build_comment_url(web: str, issue: IssueRef, comment: CommentId) -> str:
    """Build the URL of a comment; `web` is the start of GitHub's URLs, such as `https://github.com` (pure)."""
    return f"{web}/{issue.repository.full_name}/issues/{issue.number}#issuecomment-{comment}"


def build_check_draft(text: CheckText) -> CheckDraft:
    """Convert a check run's text to the type that the publisher sends (pure)."""
    return CheckDraft(
        name=text.name,
        head_sha=text.head,
        conclusion=text.conclusion,
        title=text.title,
        summary=text.summary,
        details_url=text.details_url,
        actions=tuple(
            CheckButton(button.label, button.description, button.identifier.value)
            for button in text.buttons
        ),
    )
