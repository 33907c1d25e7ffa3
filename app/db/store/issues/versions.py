"""Load the versions of patches that a group's evaluations judged."""

from datetime import datetime

from sqlalchemy import Connection, func, select

from app.db.store.issues.fingerprints import reduce_text
from app.db.tables.schema import candidates, evaluation_candidates, evaluations, pull_requests
from app.policy.reevaluation_policy import ISSUE_TEXT, JudgedVersion, Version
from app.values.identifiers import EvaluationId, PullNumber

# Equal to `Candidate.version`.
_VERSION = func.coalesce(
    candidates.c.normalised_sha256, candidates.c.patch_sha256, candidates.c.head_sha
).label("version")


def list_judged(connection: Connection, group: int, since: datetime) -> list[JudgedVersion]:
    """List the versions in the judged evaluations of the group with id `group` that were created after `since`.

    The issue's text is a version too. The order is by time.
    """
    recent = (
        evaluations.c.group_id == group,
        evaluations.c.created_at > since,
        evaluations.c.verified_at.is_not(None),
    )
    rows = connection.execute(
        select(evaluations.c.created_at, candidates.c.pull_number, _VERSION, pull_requests.c.author)
        .join(evaluation_candidates, evaluation_candidates.c.evaluation_id == evaluations.c.id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .join(
            pull_requests,
            (pull_requests.c.repository_id == candidates.c.repository_id)
            & (pull_requests.c.number == candidates.c.pull_number),
        )
        .where(*recent)
    )
    versions = [
        JudgedVersion(Version(row.pull_number, row.author or "", row.version), row.created_at)
        for row in rows
    ]
    texts = connection.execute(
        select(evaluations.c.created_at, evaluations.c.issue_title, evaluations.c.issue_body).where(
            *recent
        )
    )
    versions += [
        JudgedVersion(build_text_version(row.issue_title, row.issue_body), row.created_at)
        for row in texts
    ]
    return sorted(versions, key=lambda each: each.judged_at)


def build_text_version(title: str, body: str) -> Version:
    """Build the version of an issue's text (pure)."""
    return Version(ISSUE_TEXT, "", f"{reduce_text(title)}\0{reduce_text(body)}")


def count_versions(
    connection: Connection, group: int, evaluation: EvaluationId
) -> dict[PullNumber, int]:
    """Count by pull request the different versions that were judged in the group's evaluations up to `evaluation`."""
    rows = connection.execute(
        select(candidates.c.pull_number, func.count(_VERSION.distinct()))
        .join(evaluation_candidates, evaluation_candidates.c.candidate_id == candidates.c.id)
        .join(evaluations, evaluations.c.id == evaluation_candidates.c.evaluation_id)
        .where(
            evaluations.c.group_id == group,
            evaluations.c.id <= evaluation,
            evaluations.c.verified_at.is_not(None),
        )
        .group_by(candidates.c.pull_number)
    )
    return {PullNumber(pull): count for pull, count in rows}
