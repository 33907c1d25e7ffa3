"""Find pull requests and drafts that may be copies of alternatives."""

from dataclasses import dataclass

from sqlalchemy import Connection, exists, func, select

from app.db.tables.schema import (
    attempts,
    candidates,
    drafts,
    evaluation_alternatives,
    group_members,
    groups,
    outcome_events,
    patches,
    pull_requests,
)
from app.outcomes import EventKind
from app.values.identifiers import (
    AlternativeNumber,
    CommitSha,
    EvaluationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
)


@dataclass(frozen=True, slots=True)
class SecondAttemptMatch:
    """A pull request at one head commit and a judged alternative of the same group, whose diffs may be equal."""

    issue: IssueNumber
    pull: PullNumber
    pull_diff: str
    """The pull request's diff."""
    number: AlternativeNumber
    """The alternative's number in its group."""
    alternative_diff: str
    """The alternative's diff."""
    evaluation: EvaluationId
    """The newest evaluation that judged the alternative."""


def find_matches(
    connection: Connection, number: RepositoryId, head: CommitSha
) -> tuple[SecondAttemptMatch, ...]:
    """Pair pull requests of the repository `number` with the judged alternatives of the same issue.

    `number` is a repository id. Only pull requests whose patch the bot read at the head commit `head` count. Each is
    paired with every judged alternative of its groups.
    """
    pull_patches, own_patches = patches.alias(), patches.alias()
    keys = (
        groups.c.issue_number,
        candidates.c.pull_number,
        pull_patches.c.diff.label("pull_diff"),
        attempts.c.number,
        own_patches.c.diff.label("alternative_diff"),
    )
    rows = connection.execute(
        select(*keys, func.max(evaluation_alternatives.c.evaluation_id).label("evaluation"))
        .select_from(candidates)
        .join(pull_patches, pull_patches.c.sha256 == candidates.c.patch_sha256)
        .join(group_members, group_members.c.pull_number == candidates.c.pull_number)
        .join(groups, groups.c.id == group_members.c.group_id)
        .join(attempts, attempts.c.group_id == groups.c.id)
        .join(own_patches, own_patches.c.sha256 == attempts.c.patch_sha256)
        .join(evaluation_alternatives, evaluation_alternatives.c.attempt_id == attempts.c.id)
        .where(
            candidates.c.repository_id == number,
            candidates.c.head_sha == head,
            groups.c.repository_id == number,
            group_members.c.forced.is_distinct_from(False),
            attempts.c.number.is_not(None),
            evaluation_alternatives.c.verdict.is_not(None),
        )
        .group_by(*keys)
        .order_by(groups.c.issue_number, attempts.c.number)
    )
    return tuple(
        SecondAttemptMatch(
            issue=row.issue_number,
            pull=row.pull_number,
            pull_diff=bytes(row.pull_diff).decode(),
            number=row.number,
            alternative_diff=bytes(row.alternative_diff).decode(),
            evaluation=row.evaluation,
        )
        for row in rows
    )


def find_drafts_at(
    connection: Connection, number: RepositoryId, head: CommitSha
) -> tuple[tuple[IssueNumber, AlternativeNumber, EvaluationId], ...]:
    """Find alternatives whose draft pull request is at the commit `head` and never had another head.

    `number` is the repository's id. Each result holds the issue's number, the alternative's number and the newest
    evaluation that judged the alternative.
    """
    moved = exists().where(
        outcome_events.c.repository_id == number,
        outcome_events.c.pull_number == drafts.c.pull_number,
        outcome_events.c.kind == EventKind.HEAD_MOVED.value,
    )
    keys = (groups.c.issue_number, attempts.c.number)
    rows = connection.execute(
        select(*keys, func.max(evaluation_alternatives.c.evaluation_id))
        .select_from(drafts)
        .join(
            pull_requests,
            (pull_requests.c.repository_id == drafts.c.repository_id)
            & (pull_requests.c.number == drafts.c.pull_number),
        )
        .join(attempts, attempts.c.id == drafts.c.attempt_id)
        .join(groups, groups.c.id == attempts.c.group_id)
        .join(evaluation_alternatives, evaluation_alternatives.c.attempt_id == attempts.c.id)
        .where(
            drafts.c.repository_id == number,
            pull_requests.c.head_sha == head,
            evaluation_alternatives.c.verdict.is_not(None),
            ~moved,
        )
        .group_by(*keys)
    )
    return tuple(
        (IssueNumber(issue), AlternativeNumber(alternative), EvaluationId(evaluation))
        for issue, alternative, evaluation in rows
    )
