"""Read everything that the page of one group shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from app.db.store.pages.worksheet import PageRepository
from app.values.identifiers import EvaluationId, InstallationId, IssueNumber, RepositoryId

MAX_DIFF: Final = 60_000
"""Bytes of a patch that the page reads."""
_EVALUATIONS: Final = 20
_VOTES: Final = 64
_OUTCOMES: Final = 60


@dataclass(frozen=True, slots=True)
class GroupHead:
    """An issue with its group."""

    id: int
    repository: RepositoryId
    installation: InstallationId
    full_name: str
    issue: IssueNumber
    title: str
    state: str
    waiting: str | None


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One evaluation of a group, for its history."""

    id: EvaluationId
    state: str
    trigger: str
    mode: str
    verifier: str | None
    failure: str | None
    created_at: datetime
    verified_at: datetime | None
    published_at: datetime | None
    moved_from: EvaluationId | None
    correct: int
    patches: int


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A patch of the shown evaluation: of a pull request, or an alternative."""

    id: str
    """`#12` or `A1`."""
    source: str | None
    """The author's login, or the agent; None: not known."""
    state: str
    head: str
    diff: str | None
    """The first `MAX_DIFF` bytes; None: no patch could be read."""
    size: int
    unreadable: str | None


@dataclass(frozen=True, slots=True)
class VoteRow:
    """One vote: the patches that it saw, and those that it called correct; None: it is unreadable."""

    number: int
    seats: tuple[str, ...]
    correct: frozenset[str] | None
    forced: bool
    failure: str | None


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """What happened to a pull request."""

    pull: int
    kind: str
    reason: str | None
    value: float | None
    actor: str | None
    moment: datetime


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """Everything about one group. `verdict` is the newest `r4p.verdict/1` document; None: there is none."""

    evaluations: tuple[EvaluationRow, ...]
    shown: EvaluationRow | None
    verdict: Mapping[str, Any] | None
    candidates: tuple[CandidateRow, ...] = ()
    votes: tuple[VoteRow, ...] = ()
    outcomes: tuple[OutcomeRow, ...] = ()


_HISTORY: Final = """
select id, state, trigger, mode, verifier, failure, created_at, verified_at, published_at, moved_from,
    (select count(*) from evaluation_candidates where evaluation_id = evaluations.id and verdict = 'correct') as correct,
    (select count(*) from evaluation_candidates where evaluation_id = evaluations.id) as patches
from evaluations where group_id = %(group)s order by id desc limit %(limit)s
"""
_CANDIDATES: Final = """
select '#' || pull_number as id, author, pull_requests.state, candidates.head_sha, substring(diff from 1 for %(most)s) as diff,
    coalesce(length(diff), 0) as size, unreadable, position
from evaluation_candidates join candidates on candidates.id = candidate_id
left join patches on sha256 = patch_sha256
left join pull_requests on pull_requests.repository_id = candidates.repository_id and number = pull_number
where evaluation_id = %(evaluation)s
union all
select 'A' || number, agent || ', ' || model, 'alternative', base_sha, substring(diff from 1 for %(most)s), length(diff), null,
    position
from evaluation_alternatives join attempts on attempts.id = attempt_id join patches on sha256 = patch_sha256
where evaluation_id = %(evaluation)s
order by position
"""
_OUTCOMES_OF_GROUP: Final = """
select outcomes.pull_number, outcomes.kind, outcomes.reason, outcomes.value, outcomes.actor, occurred_at
from outcomes join outcome_events on outcome_events.id = event_id
where outcomes.repository_id = %(repository)s and outcomes.pull_number = any(%(pulls)s)
order by occurred_at desc, outcomes.id desc limit %(limit)s
"""


def find_repository(
    connection: Connection, full_name: str, readable: Sequence[int]
) -> PageRepository | None:
    """Return the repository `owner/name` if its id is among `readable`; None otherwise."""
    row = connection.exec_driver_sql(
        "select id, installation_id, full_name from repositories"
        " where lower(full_name) = lower(%(name)s) and id = any(%(readable)s)",
        {"name": full_name, "readable": list(readable)},
    ).one_or_none()
    return None if row is None else PageRepository(*row)


def find_group_head(
    connection: Connection, repository: PageRepository, issue: int
) -> GroupHead | None:
    """Return the group of an issue; None if the bot does not know the issue."""
    row = connection.exec_driver_sql(
        "select id, title, state, waiting from groups where repository_id = %(id)s and issue_number = %(issue)s",
        {"id": repository.id, "issue": issue},
    ).one_or_none()
    if row is None:
        return None
    place = (repository.id, repository.installation, repository.full_name, IssueNumber(issue))
    return GroupHead(row.id, *place, row.title, row.state, row.waiting)


def load_group_details(connection: Connection, group: GroupHead) -> GroupDetails:
    """Load the newest verdict of a group with its patches, votes and outcomes, and the group's history."""
    rows = connection.exec_driver_sql(_HISTORY, {"group": group.id, "limit": _EVALUATIONS})
    history = tuple(EvaluationRow(*row) for row in rows)
    shown = next((row for row in history if row.state in {"published", "verified"}), None)
    if shown is None:
        return GroupDetails(history, None, None)
    candidates = _list_candidates(connection, shown.id)
    pulls = [int(each.id[1:]) for each in candidates if each.id.startswith("#")]
    return GroupDetails(
        history,
        shown,
        _load_verdict(connection, shown.id),
        candidates,
        _list_votes(connection, shown.moved_from or shown.id),
        _list_outcomes(connection, group.repository, pulls),
    )


def _load_verdict(connection: Connection, evaluation: EvaluationId) -> Mapping[str, Any] | None:
    document: Mapping[str, Any] | None = connection.exec_driver_sql(
        "select verdict from evaluations where id = %(id)s", {"id": evaluation}
    ).scalar()
    return document


def _list_candidates(connection: Connection, evaluation: EvaluationId) -> tuple[CandidateRow, ...]:
    values = {"evaluation": evaluation, "most": MAX_DIFF}
    return tuple(
        CandidateRow(
            id=row.id,
            source=row.author,
            state=row.state or "unknown",
            head=row.head_sha,
            diff=None if row.diff is None else bytes(row.diff).decode("utf-8", "replace"),
            size=row.size,
            unreadable=row.unreadable,
        )
        for row in connection.exec_driver_sql(_CANDIDATES, values)
    )


def _list_votes(connection: Connection, evaluation: EvaluationId) -> tuple[VoteRow, ...]:
    rows = connection.exec_driver_sql(
        "select number, seats, correct, forced, failure from votes where evaluation_id = %(id)s"
        " order by number limit %(limit)s",
        {"id": evaluation, "limit": _VOTES},
    )
    return tuple(
        VoteRow(
            row.number,
            tuple(row.seats),
            None if row.correct is None else frozenset(row.correct),
            row.forced,
            row.failure,
        )
        for row in rows
    )


def _list_outcomes(
    connection: Connection, repository: RepositoryId, pulls: list[int]
) -> tuple[OutcomeRow, ...]:
    values = {"repository": repository, "pulls": pulls, "limit": _OUTCOMES}
    rows = connection.exec_driver_sql(_OUTCOMES_OF_GROUP, values)
    return tuple(OutcomeRow(*row) for row in rows)


@dataclass(frozen=True, slots=True)
class SettingsRow:
    """The settings of a repository as the bot read them last."""

    own_text: str | None
    """The last valid settings file; None: there is none."""
    default_text: str | None
    """The organisation's default; None: there is none."""
    error: str | None
    """Why the newest file is not used; None: it is."""


def read_settings_row(connection: Connection, repository: RepositoryId) -> SettingsRow:
    """Return the stored settings of a repository that the caller has found."""
    row = connection.exec_driver_sql(
        "select config_text, default_text, config_error from repositories where id = %(id)s",
        {"id": repository},
    ).one()
    return SettingsRow(*row)
