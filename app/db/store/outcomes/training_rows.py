"""Load issues, patches, attempts and label checks for training."""

import zlib
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import Connection, Row, select
from sqlalchemy.dialects.postgresql import distinct_on, insert

from app.db.tables.schema import attempts as attempt_table
from app.db.tables.schema import (
    evaluation_alternatives,
    evaluations,
    groups,
    installations,
    label_checks,
    patches,
    pull_requests,
    repositories,
)
from app.outcomes.judgement import FrozenIssue, LabelCheck, PatchKey
from app.settings import repo_config
from app.settings.repo_config import TrainingConsent
from app.values.identifiers import PullNumber, RepositoryId
from model.domain import Issue


def find_consenting_repositories(
    connection: Connection, settings: Collection[TrainingConsent] = (TrainingConsent.ON,)
) -> frozenset[RepositoryId]:
    """Return the ids of repositories whose `training` setting is one of `settings`.

    Repositories of suspended installations are left out.
    """
    rows = connection.execute(
        select(repositories.c.id, repositories.c.config_text, repositories.c.config_error)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(installations.c.suspended_at.is_(None))
    )
    return frozenset(
        row.id
        for row in rows
        if repo_config.read_training_consent(row.config_text, row.config_error) in settings
    )


def load_issues(connection: Connection, groups: Collection[int]) -> dict[int, FrozenIssue]:
    """Load issues by group id, each with the text and time of its first evaluation; `groups` are the group ids."""
    rows = connection.execute(
        select(
            evaluations.c.group_id,
            evaluations.c.issue_title,
            evaluations.c.issue_body,
            evaluations.c.created_at,
        )
        .ext(distinct_on(evaluations.c.group_id))
        .where(evaluations.c.group_id.in_(groups))
        .order_by(evaluations.c.group_id, evaluations.c.created_at, evaluations.c.id)
    )
    return {
        row.group_id: FrozenIssue(Issue(row.issue_title, row.issue_body), row.created_at)
        for row in rows
    }


def load_diffs(connection: Connection, digests: Collection[str]) -> dict[str, str]:
    """Load the unified diffs of the stored patches with the SHA-256 values `digests`, by SHA-256."""
    rows = connection.execute(select(patches).where(patches.c.sha256.in_(digests)))
    return {row.sha256: bytes(row.diff).decode() for row in rows}


def load_authors(
    connection: Connection, among: Collection[RepositoryId]
) -> dict[tuple[RepositoryId, PullNumber], str]:
    """Load the logins of the authors of pull requests, by repository id and pull request number.

    `among` are the ids of the repositories. Unknown authors are left out.
    """
    rows = connection.execute(
        select(pull_requests.c.repository_id, pull_requests.c.number, pull_requests.c.author).where(
            pull_requests.c.repository_id.in_(among), pull_requests.c.author.is_not(None)
        )
    )
    return {(row.repository_id, row.number): row.author for row in rows}


def load_attempts(
    connection: Connection, among: Collection[RepositoryId]
) -> list[tuple[str, bytes, float | None]]:
    """Load the agents' attempts with a stored trajectory in the repositories `among`, oldest first.

    Each result is a tuple: the issue as `owner/repo#number`, the bytes of `r4p.trajectory/1`, and the probability that
    the patch is correct, else the share of its readable votes that call it correct; None without both.
    """
    last = (
        select(evaluation_alternatives)
        .join(evaluations, evaluations.c.id == evaluation_alternatives.c.evaluation_id)
        .where(evaluations.c.verified_at.is_not(None), evaluations.c.failure.is_(None))
        .ext(distinct_on(evaluation_alternatives.c.attempt_id))
        .order_by(
            evaluation_alternatives.c.attempt_id,
            evaluations.c.verified_at.desc(),
            evaluations.c.id.desc(),
        )
        .subquery()
    )
    rows = connection.execute(
        select(
            attempt_table.c.trajectory,
            groups.c.issue_number,
            repositories.c.full_name,
            last.c.probability,
            last.c.votes_correct,
            last.c.votes_incorrect,
        )
        .join(groups, groups.c.id == attempt_table.c.group_id)
        .join(repositories, repositories.c.id == attempt_table.c.repository_id)
        .join(last, last.c.attempt_id == attempt_table.c.id, isouter=True)
        .where(attempt_table.c.repository_id.in_(among), attempt_table.c.trajectory.is_not(None))
        .order_by(attempt_table.c.id)
    )
    return [
        (
            f"{row.full_name}#{row.issue_number}",
            zlib.decompress(row.trajectory),
            _compute_belief(row),
        )
        for row in rows
    ]


def load_own_trajectories(
    connection: Connection, groups: Collection[int]
) -> list[tuple[int, str, bytes]]:
    """Load the agents' attempts with a patch, a stored trajectory and no hint in the groups with these ids, oldest first.

    Each result is a tuple: the group's id, the patch, and the bytes of `r4p.trajectory/1`.
    """
    rows = connection.execute(
        select(attempt_table.c.group_id, patches.c.diff, attempt_table.c.trajectory)
        .join(patches, patches.c.sha256 == attempt_table.c.patch_sha256)
        .where(
            attempt_table.c.group_id.in_(groups),
            attempt_table.c.trajectory.is_not(None),
            attempt_table.c.guided_by.is_(None),
        )
        .order_by(attempt_table.c.id)
    )
    return [
        (row.group_id, bytes(row.diff).decode(), zlib.decompress(row.trajectory)) for row in rows
    ]


def _compute_belief(row: Row[*tuple[object, ...]]) -> float | None:
    if row.probability is not None:
        return float(row.probability)
    valid = (row.votes_correct or 0) + (row.votes_incorrect or 0)
    return row.votes_correct / valid if valid else None


def save_label_checks(
    connection: Connection, answers: Mapping[PatchKey, bool], now: datetime
) -> int:
    """Save people's answers by patch, True for a correct patch, and return how many are new or changed.

    An answer replaces the earlier one on the same patch. `now` is the time of new and changed answers.
    """
    stored = load_label_checks(connection)
    new = {
        key: is_correct
        for key, is_correct in answers.items()
        if key not in stored or stored[key].is_correct is not is_correct
    }
    for (group, pull, patch), is_correct in new.items():
        key = {"group_id": group, "pull_number": pull, "patch_sha256": patch}
        values = {"is_correct": is_correct, "checked_at": now}
        connection.execute(
            insert(label_checks)
            .values(**key, **values)
            .on_conflict_do_update(index_elements=list(key), set_=values)
        )
    return len(new)


def load_label_checks(connection: Connection) -> dict[PatchKey, LabelCheck]:
    """Load all stored answers of people whether a patch is correct, by group id, pull request and patch SHA-256."""
    return {
        (row.group_id, row.pull_number, row.patch_sha256): LabelCheck(
            row.is_correct, row.checked_at
        )
        for row in connection.execute(select(label_checks))
    }
