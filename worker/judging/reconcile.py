"""Look again by the clock, whatever webhooks came: missed pull requests, verdicts that got stuck."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import proposals
from app.db.store.issues import evaluations, groups, stuck_evaluations
from app.db.store.issues.evaluations import Evaluation, Verified, patch_id
from app.db.store.queue import jobs
from app.github.api import rest_reader
from app.github.api.rest_reader import PullSummary
from app.github.errors import NotFound, Unprocessable
from app.github.http.connection import Connection as GitHub
from app.jobs.job import (
    EvaluateIssue,
    LocateIssues,
    Planned,
    ProposePatches,
    PublishVerdict,
    Reconcile,
    VerifyGroup,
)
from app.policy.alternative_policy import WhyNot
from app.values.identifiers import CommitSha, PullNumber
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    PatchVerdict,
    Tokens,
    Verdict,
    VoteCount,
)
from model.errors import BadDiff
from model.patches import diff
from worker.judging.verify import document
from worker.publishing.verdict_view import NOT_FINISHED
from worker.queue.context import Context
from worker.repositories.repository_config import quiet_seconds

MISSED_WITHIN = timedelta(days=1)
"""An unknown pull request that last moved earlier was seen, and names no issue."""


@dataclass(frozen=True, slots=True)
class ReconcileHandler:
    """Compares the open pull requests of a repository with those known. Free when nothing changed."""

    github: GitHub
    least_quiet_seconds: float
    """A burst of events on one issue is one evaluation: what waits for its end is not hurried."""

    def __call__(self, context: Context, job: Reconcile) -> None:
        """Plan what a missed webhook would have led to."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            heads = groups.known_heads(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            found = rest_reader.open_pulls(self.github, stored.ref)
        except (NotFound, Unprocessable):
            return  # gone, or taken from us: the webhook that says so is late, or was lost
        quiet = quiet_seconds(stored.config_text, self.least_quiet_seconds)
        missed = missed_pulls(found, heads, datetime.now(UTC))
        with context.transaction() as connection:
            for pull in missed:
                issues = groups.issues_of_pull(connection, job.repository, pull)
                again = [
                    Planned(
                        EvaluateIssue(job.installation, job.repository, issue, "reconcile"), quiet
                    )
                    for issue in issues
                ]
                locate = Planned(LocateIssues(job.installation, job.repository, pull))
                context.enqueue(connection, again or [locate])


def missed_pulls(
    found: Sequence[PullSummary], heads: dict[PullNumber, CommitSha], now: datetime
) -> tuple[PullNumber, ...]:
    """Those at another head than the known one, and unknown ones that moved lately (pure)."""
    return tuple(
        pull.number
        for pull in found
        if heads.get(pull.number) != pull.head_sha
        and (pull.number in heads or now - pull.updated_at < MISSED_WITHIN)
    )


def due_repositories(connection: Connection) -> Sequence[Planned]:
    """By the clock: every repository that can be looked at, and every verdict left behind."""
    looked = [
        Planned(Reconcile(installation, repository))
        for installation, repository in groups.active_repositories(connection)
    ]
    _give_up(connection)
    return [*looked, *_judge_without(connection), *_publish(connection)]


def _judge_without(connection: Connection) -> Iterator[Planned]:
    """Groups whose agents will not come are judged as they are."""
    for identity in stuck_evaluations.without_agents(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.repository(connection, evaluation.repository)
        if evaluation and owner:
            jobs.supersede(connection, [ProposePatches.key_of(identity)])
            proposals.finish(connection, evaluation, (), WhyNot.NOBODY)
            number = evaluation.repository
            yield Planned(VerifyGroup(owner.ref.installation, number, evaluation.issue, identity))


def _give_up(connection: Connection) -> None:
    for identity, error in stuck_evaluations.abandoned(connection):
        evaluation = evaluations.load(connection, identity)
        if evaluation is None:
            continue
        verdict = no_verdict(evaluation)
        evaluations.save_verdict(
            connection,
            identity,
            Verified(document(evaluation, verdict), verdict.patches, (), failure=error),
        )


def _publish(connection: Connection) -> Iterator[Planned]:
    for identity in stuck_evaluations.unpublished(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.repository(connection, evaluation.repository)
        if evaluation and owner:
            number = evaluation.repository
            publish = PublishVerdict(owner.ref.installation, number, evaluation.issue, identity)
            yield Planned(publish)


def no_verdict(evaluation: Evaluation) -> GroupVerdict:
    """Nothing could be judged; never mistaken for an incorrect patch (pure)."""
    files = {patch_id(one.candidate.pull): one.candidate.files for one in evaluation.judged}
    files |= {one.id: _files(one.diff) for one in evaluation.alternatives}
    return GroupVerdict(
        patches=tuple(
            PatchVerdict(
                id=patch,
                verdict=Verdict.NOT_JUDGED,
                votes=VoteCount(none=evaluation.votes),
                reason=NOT_FINISHED,
                coverage=Coverage(count, 0),
            )
            for patch, count in files.items()
        ),
        engine=EngineInfo("none", "none", "none"),
        votes=(),
        asked=evaluation.votes,
        partition=(),
        tokens=Tokens(),
        engine_seconds=0.0,
        total_seconds=0.0,
    )


def _files(patch: str) -> int:
    try:
        return len(diff.touched_files(patch))
    except BadDiff:
        return 0
