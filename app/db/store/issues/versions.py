"""Load which versions of patches a group's evaluations judged, and who caused evaluations."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from sqlalchemy import ARRAY, Connection, Text, cast, func, select

from app.db.store.issues.candidates import Candidate
from app.db.store.issues.fingerprints import reduce_text
from app.db.tables.schema import (
    candidates,
    evaluation_candidates,
    evaluations,
    groups,
    repositories,
)
from app.policy.reevaluation_policy import ISSUE_TEXT, PastEvaluation, Version
from app.values.identifiers import EvaluationId, InstallationId, PullNumber

# Equal to `Candidate.version`.
_VERSION = func.coalesce(
    candidates.c.normalised_sha256, candidates.c.patch_sha256, candidates.c.head_sha
).label("version")


def list_past(
    connection: Connection,
    group: int,
    installation: InstallationId,
    logins: Collection[str],
    since: datetime,
) -> list[PastEvaluation]:
    """List the evaluations that were created after `since`: those of the group with the id `group`, and those of the
    installation that one of `logins` caused.
    """
    writes = (
        select(func.count() + 1)
        .where(evaluation_candidates.c.evaluation_id == evaluations.c.id)
        .scalar_subquery()
    )
    rows = connection.execute(
        select(
            evaluations.c.group_id,
            evaluations.c.created_at,
            evaluations.c.fingerprint,
            evaluations.c.caused_by,
            writes,
        )
        .join(groups, groups.c.id == evaluations.c.group_id)
        .join(repositories, repositories.c.id == groups.c.repository_id)
        .where(
            evaluations.c.created_at > since,
            repositories.c.installation_id == installation,
            (evaluations.c.group_id == group)
            | evaluations.c.caused_by.bool_op("&&")(cast(sorted(logins), ARRAY(Text))),
        )
    )
    return [
        PastEvaluation(own, created_at, fingerprint, frozenset(caused_by), count)
        for own, created_at, fingerprint, caused_by, count in rows
    ]


def build_versions(
    text: tuple[str, str], rivals: Iterable[Candidate], authors: Mapping[PullNumber, str]
) -> list[Version]:
    """Build the versions of an issue's `text` (title, body) and of its rivals (pure).

    `authors` holds logins by pull request, without those of accounts that are gone.
    """
    title, body = map(reduce_text, text)
    return [Version(ISSUE_TEXT, "", f"{title}\0{body}")] + [
        Version(each.pull, authors.get(each.pull, ""), each.version, each.head_sha)
        for each in rivals
    ]


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
