"""Store draft pull requests of alternatives: the request and the result."""

from dataclasses import dataclass

from sqlalchemy import Connection, Row, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import (
    attempts,
    candidates,
    drafts,
    evaluation_alternatives,
    group_members,
    groups,
    patches,
    pull_requests,
)
from app.policy.alternative_policy import format_alternative_id
from app.policy.draft_policy import DraftRefusal
from app.values.identifiers import (
    CommandSource,
    CommitSha,
    IssueNumber,
    PullNumber,
    RepositoryId,
)
from model.domain import PatchId, Verdict


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """A person's request for a draft pull request, in the comment or review `where`."""

    where: CommandSource
    under: int
    """The issue or pull request of the comment."""
    login: str
    """The person's login."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft pull request that a maintainer asked for: the alternative that it shows, the request and the result."""

    id: int
    attempt: int
    group: int
    issue: IssueNumber
    alternative: PatchId
    agent: str
    model: str
    verdict: Verdict | None
    """The newest verdict on the alternative; None when nobody judged it."""
    diff: str
    written_on: CommitSha
    """The commit that the alternative was written on."""
    asked: DraftRequest
    pull: PullNumber | None
    """Number of the pull request; None until the draft is open."""
    not_opened: DraftRefusal | None
    """Why the last attempt to open it failed; None: it did not fail."""


def request_draft(
    connection: Connection, repository: RepositoryId, attempt: int, asked: DraftRequest
) -> Draft:
    """Save a request for the draft pull request of an alternative, and return the stored draft.

    `attempt` is the id of the attempt that wrote the alternative. There is one draft per alternative. Until it is open,
    a later request replaces the earlier one and gets the reply.
    """
    asking = {"asked_in": asked.where, "asked_under": asked.under, "asked_by": asked.login}
    connection.execute(
        insert(drafts)
        .values(repository_id=repository, attempt_id=attempt, **asking)
        .on_conflict_do_update(
            index_elements=["attempt_id"],
            set_={**asking, "not_opened": None},
            where=drafts.c.pull_number.is_(None),
        )
    )
    return _build_draft(
        connection, connection.execute(_SELECT.where(drafts.c.attempt_id == attempt)).one()
    )


def load(connection: Connection, identity: int) -> Draft | None:
    """Load the draft pull request with the row id `identity`; None when it was deleted with its repository."""
    row = connection.execute(_SELECT.where(drafts.c.id == identity)).one_or_none()
    return None if row is None else _build_draft(connection, row)


def save(connection: Connection, identity: int, result: PullNumber | DraftRefusal) -> None:
    """Save the result of opening the draft with the row id `identity`.

    `result` is the number of the new pull request, or why there is none.
    """
    values: dict[str, object] = {"pull_number": result, "not_opened": None}
    if isinstance(result, DraftRefusal):
        values = {"not_opened": result.value}
    connection.execute(update(drafts).where(drafts.c.id == identity).values(**values))


def list_pulls(connection: Connection, repository: RepositoryId) -> frozenset[PullNumber]:
    """Return the numbers of the draft pull requests that the bot opened in a repository.

    Each shows an alternative of the bot, so it does not count as a rival.
    """
    numbers = connection.scalars(
        select(drafts.c.pull_number).where(
            drafts.c.repository_id == repository, drafts.c.pull_number.is_not(None)
        )
    )
    return frozenset(PullNumber(number) for number in numbers)


def find_branch(connection: Connection, draft: Draft) -> str | None:
    """Return the name of the base branch for a new draft pull request; None means the default branch.

    The function takes it from a rival pull request with the same base commit as the draft's alternative.
    """
    query = (
        select(pull_requests.c.base_ref)
        .join(
            candidates,
            (candidates.c.repository_id == pull_requests.c.repository_id)
            & (candidates.c.pull_number == pull_requests.c.number),
        )
        .join(attempts, attempts.c.repository_id == candidates.c.repository_id)
        .join(
            group_members,
            (group_members.c.group_id == attempts.c.group_id)
            & (group_members.c.pull_number == candidates.c.pull_number),
        )
        .where(attempts.c.id == draft.attempt, candidates.c.base_sha == draft.written_on)
        .order_by(candidates.c.id)
        .limit(1)
    )
    return connection.execute(query).scalar_one_or_none() or None


_SELECT = (
    select(
        drafts,
        attempts.c.number,
        attempts.c.group_id,
        attempts.c.agent,
        attempts.c.model,
        attempts.c.base_sha,
        groups.c.issue_number,
        patches.c.diff,
    )
    .join(attempts, attempts.c.id == drafts.c.attempt_id)
    .join(groups, groups.c.id == attempts.c.group_id)
    .join(patches, patches.c.sha256 == attempts.c.patch_sha256)
)


def _build_draft(connection: Connection, row: Row[*tuple[object, ...]]) -> Draft:
    verdict = connection.execute(
        select(evaluation_alternatives.c.verdict)
        .where(evaluation_alternatives.c.attempt_id == row.attempt_id)
        .where(evaluation_alternatives.c.verdict.is_not(None))
        .order_by(evaluation_alternatives.c.evaluation_id.desc())
        .limit(1)
    ).scalar_one_or_none()
    return Draft(
        id=row.id,
        attempt=row.attempt_id,
        group=row.group_id,
        issue=row.issue_number,
        alternative=format_alternative_id(row.number),
        agent=row.agent,
        model=row.model,
        verdict=None if verdict is None else Verdict(verdict),
        diff=bytes(row.diff).decode(),
        written_on=row.base_sha,
        asked=DraftRequest(row.asked_in, row.asked_under, row.asked_by),
        pull=row.pull_number,
        not_opened=None if row.not_opened is None else DraftRefusal(row.not_opened),
    )
