"""Plan the regular search for missed changes, and mend evaluations that are stuck."""

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import Connection

from app.db.store.alternatives import proposals
from app.db.store.issues import evaluations, groups, stuck_evaluations
from app.db.store.issues.evaluations import Evaluation, VerificationResult, patch_id
from app.db.store.queue import jobs
from app.jobs.job import (
    Planned,
    ProposePatches,
    PublishVerdict,
    Reconcile,
    VerifyGroup,
)
from app.policy.alternative_policy import RefusalReason
from app.values.identifiers import RepositoryId
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


def plan_reconciliation(
    connection: Connection, accounts: Collection[str] = ()
) -> Sequence[Planned]:
    """Return jobs that search each repository for missed changes, and jobs for stuck evaluations.

    Only the installations of `accounts` (R4P_ALLOWED_ACCOUNTS) get jobs; empty: all of them. This also stores the
    verdict *not judged* for evaluations whose jobs gave up.
    """
    active = groups.list_active_repositories(connection, accounts)
    served = {repository for _, repository in active}
    looked = [Planned(Reconcile(*place)) for place in active]
    _give_up_abandoned(connection)
    without_agents = _judge_without_agents(connection, served)
    return [*looked, *without_agents, *_publish_unpublished(connection, served)]


def _judge_without_agents(
    connection: Connection, served: Collection[RepositoryId]
) -> Iterator[Planned]:
    """Plan the judging of groups whose agents will not come."""
    for identity in stuck_evaluations.find_without_agents(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.load_repository(connection, evaluation.repository)
        if evaluation and owner and evaluation.repository in served:
            jobs.supersede(connection, [ProposePatches.build_key(identity)])
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


def _publish_unpublished(
    connection: Connection, served: Collection[RepositoryId]
) -> Iterator[Planned]:
    for identity in stuck_evaluations.find_unpublished(connection):
        evaluation = evaluations.load(connection, identity)
        owner = evaluation and groups.load_repository(connection, evaluation.repository)
        if evaluation and owner and evaluation.repository in served:
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
