"""Find missed pull requests and stuck verdicts at regular times, because webhooks can be lost."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import proposals
from app.db.store.issues import evaluations, groups, stuck_evaluations
from app.db.store.issues.evaluations import Evaluation, VerificationResult, patch_id
from app.db.store.queue import jobs
from app.github.api import rest_reader
from app.github.api.rest_reader import PullSummary
from app.github.errors import NotFound, Unprocessable
from app.github.http.connection import GitHub
from app.jobs.job import (
    EvaluateIssue,
    LocateIssues,
    Planned,
    ProposePatches,
    PublishVerdict,
    Reconcile,
    VerifyGroup,
)
from app.policy.alternative_policy import RefusalReason
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
from worker.judging.verify import build_document
from worker.publishing.verdict_view import NOT_FINISHED
from worker.queue.context import Context
from worker.repositories.repository_config import get_quiet_seconds

MISSED_WITHIN = timedelta(days=1)
"""An unknown pull request that changed before this time was seen already and names no issue."""


def reconcile_pulls(
    github: GitHub, least_quiet_seconds: float, context: Context, job: Reconcile
) -> None:
    """Plan jobs for a repository's open pull requests on GitHub that differ from the stored ones.

    Lost webhooks would have caused these jobs. `job` names the repository. An unchanged list costs no quota of GitHub's
    API. `least_quiet_seconds` is the shortest delay of an evaluation, so that a burst of events leads to one.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
        heads = groups.list_heads(connection, job.repository)
    if stored is None:
        return
    try:
        pulls = rest_reader.list_open_pulls(github, stored.ref)
    except (NotFound, Unprocessable):
        return  # deleted or uninstalled: the webhook about it is late or lost
    quiet = get_quiet_seconds(stored.config_text, least_quiet_seconds)
    missed = find_missed_pulls(pulls, heads, datetime.now(UTC))
    with context.transaction() as connection:
        for pull in missed:
            issues = groups.list_issues_of_pull(connection, job.repository, pull)
            again = [
                Planned(EvaluateIssue(job.installation, job.repository, issue, "reconcile"), quiet)
                for issue in issues
            ]
            locate = Planned(LocateIssues(job.installation, job.repository, pull))
            context.enqueue(connection, again or [locate])


def find_missed_pulls(
    pulls: Sequence[PullSummary], heads: dict[PullNumber, CommitSha], now: datetime
) -> tuple[PullNumber, ...]:
    """Return the numbers of the pull requests whose webhooks were lost (pure).

    `pulls` are the open pull requests on GitHub, and `heads` the stored head commits by number. A stored pull request
    counts if its head differs, and a pull request that is not stored if it changed less than a day before `now`.
    """
    return tuple(
        pull.number
        for pull in pulls
        if heads.get(pull.number) != pull.head_sha
        and (pull.number in heads or now - pull.updated_at < MISSED_WITHIN)
    )


def plan_reconciliation(connection: Connection) -> Sequence[Planned]:
    """Return jobs that search each repository for missed pull requests, and jobs for stuck evaluations.

    This also stores the verdict *not judged* for evaluations whose jobs gave up.
    """
    looked = [
        Planned(Reconcile(installation, repository))
        for installation, repository in groups.list_active_repositories(connection)
    ]
    _give_up_abandoned(connection)
    return [*looked, *_judge_without_agents(connection), *_publish_unpublished(connection)]


def _judge_without_agents(connection: Connection) -> Iterator[Planned]:
    """Plan the judging of groups whose agents will not come."""
    for identity in stuck_evaluations.find_without_agents(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.load_repository(connection, evaluation.repository)
        if evaluation and owner:
            jobs.supersede(connection, [ProposePatches.key_of(identity)])
            proposals.finish(connection, evaluation, (), RefusalReason.NOBODY)
            number = evaluation.repository
            yield Planned(VerifyGroup(owner.ref.installation, number, evaluation.issue, identity))


def _give_up_abandoned(connection: Connection) -> None:
    for identity, error in stuck_evaluations.find_abandoned(connection):
        evaluation = evaluations.load(connection, identity)
        if evaluation is None:
            continue
        verdict = build_empty_verdict(evaluation)
        evaluations.save_verdict(
            connection,
            identity,
            VerificationResult(
                build_document(evaluation, verdict), verdict.patches, (), failure=error
            ),
        )


def _publish_unpublished(connection: Connection) -> Iterator[Planned]:
    for identity in stuck_evaluations.find_unpublished(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.load_repository(connection, evaluation.repository)
        if evaluation and owner:
            number = evaluation.repository
            publish = PublishVerdict(owner.ref.installation, number, evaluation.issue, identity)
            yield Planned(publish)


def build_empty_verdict(evaluation: Evaluation) -> GroupVerdict:
    """Build the verdict "not judged" for every patch of an evaluation that failed (pure)."""
    files = {patch_id(patch.pull): patch.files for patch in evaluation.candidates}
    files |= {patch.id: _count_files(patch.diff) for patch in evaluation.alternatives}
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


def _count_files(patch: str) -> int:
    try:
        return len(diff.list_touched_files(patch))
    except BadDiff:
        return 0
