"""Load judged pull requests and their outcomes, for calibration and training."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, func, select

from app.db.store.issues.evaluations import patch_id
from app.db.store.models import models
from app.db.tables.schema import (
    candidates,
    evaluation_candidates,
    evaluations,
    groups,
    outcome_events,
    outcomes,
    patches,
    repositories,
    shadow_verdicts,
)
from app.outcomes import RULE_VERSION, EventKind, OutcomeKind
from app.outcomes.judgement import Judge, Judgement, PullOutcome, PullRecord, Shadow, Submission
from app.values.identifiers import (
    EvaluationId,
    IssueNumber,
    IssueRef,
    PullNumber,
    RepositoryRef,
)
from model.calibration import evidence
from model.domain import EngineInfo, Verdict, VoteCount

_Pull = tuple[int, int]
"""Repository id and number."""


def load_records(connection: Connection, group: int | None = None) -> list[PullRecord]:
    """Load the judgements and outcomes of pull requests submitted to a judge, one record per issue and pull request.

    `group` is the id of a group and limits the result to its issue.
    """
    fates = _load_outcomes(connection)
    rows = connection.execute(_select_submissions(group))
    return [
        _build_record(list(submitted), fates)
        for _, submitted in groupby(rows, key=lambda row: (row.group_id, row.pull_number))
    ]


def find_issues(
    connection: Connection, number: IssueNumber, repository: str | None = None
) -> dict[int, IssueRef]:
    """Return the issues with the number `number` by group id, from all repositories or from one.

    `repository` is the repository's `owner/name`; its case does not matter.
    """
    query: Select[Any] = (
        select(
            groups.c.id,
            groups.c.issue_number,
            groups.c.repository_id,
            repositories.c.installation_id,
            repositories.c.full_name,
        )
        .join(repositories, repositories.c.id == groups.c.repository_id)
        .where(groups.c.issue_number == number)
        .order_by(groups.c.id)
    )
    if repository is not None:
        query = query.where(func.lower(repositories.c.full_name) == repository.lower())
    return {
        row.id: IssueRef(_build_repository(row), row.issue_number)
        for row in connection.execute(query)
    }


def load_shadow(connection: Connection, model: str) -> Shadow:
    """Load the verdicts of the shadow model named `model` on pull requests. Raises UnknownModel."""
    stored = models.find_by_name(connection, model)
    rows = connection.execute(
        select(shadow_verdicts.c.evaluation_id, shadow_verdicts.c.verdict, candidates.c.pull_number)
        .join(
            evaluation_candidates,
            evaluation_candidates.c.evaluation_id == shadow_verdicts.c.evaluation_id,
        )
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .where(shadow_verdicts.c.model_id == stored.id)
    )
    claims: dict[EvaluationId, dict[PullNumber, Verdict]] = defaultdict(dict)
    for row in rows:
        verdicts = {patch["id"]: patch["verdict"] for patch in row.verdict["patches"]}
        if verdict := verdicts.get(patch_id(row.pull_number)):
            claims[row.evaluation_id][row.pull_number] = Verdict(verdict)
    return Shadow(stored.created_at, claims)


def count_outdated(connection: Connection) -> int:
    """Count the pull requests whose stored outcomes were derived under another rule version than the present."""
    pulls = (
        select(outcomes.c.repository_id, outcomes.c.pull_number)
        .where(outcomes.c.rule_version != RULE_VERSION)
        .distinct()
    )
    return connection.scalar(select(func.count()).select_from(pulls.subquery())) or 0


def _select_submissions(group: int | None) -> Select[Any]:
    """Select a row per submission of a candidate, oldest first within a pull request."""
    pushed_by_another = exists().where(
        outcome_events.c.repository_id == candidates.c.repository_id,
        outcome_events.c.pull_number == candidates.c.pull_number,
        outcome_events.c.kind == EventKind.HEAD_MOVED.value,
        outcome_events.c.head_sha == candidates.c.head_sha,
        outcome_events.c.data["by_author"].astext.is_distinct_from("true"),
    )
    query = (
        select(
            evaluation_candidates,
            candidates.c.repository_id,
            candidates.c.pull_number,
            candidates.c.head_sha,
            candidates.c.patch_sha256,
            patches.c.edit,
            candidates.c.created_at.label("submitted_at"),
            pushed_by_another.label("pushed_by_another"),
            evaluations.c.group_id,
            evaluations.c.verifier,
            evaluations.c.verified_at,
            evaluations.c.failure,
            evaluations.c.verdict["engine"].label("engine"),
            groups.c.issue_number,
            repositories.c.full_name,
            repositories.c.installation_id,
        )
        .join(evaluations, evaluations.c.id == evaluation_candidates.c.evaluation_id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .outerjoin(patches, patches.c.sha256 == candidates.c.patch_sha256)
        .join(groups, groups.c.id == evaluations.c.group_id)
        .join(repositories, repositories.c.id == groups.c.repository_id)
        .order_by(
            evaluations.c.group_id,
            candidates.c.pull_number,
            evaluations.c.verified_at,
            evaluations.c.id,
        )
    )
    return query if group is None else query.where(evaluations.c.group_id == group)


def _build_record(rows: list[Row[Any]], fates: dict[_Pull, list[PullOutcome]]) -> PullRecord:
    first, texts = rows[0], _map_first_texts(rows)
    return PullRecord(
        group=first.group_id,
        issue=IssueRef(_build_repository(first), IssueNumber(first.issue_number)),
        pull=PullNumber(first.pull_number),
        submissions=_build_submissions(rows, texts),
        judgements=tuple(_build_judgements(rows, texts)),
        outcomes=tuple(fates.get((first.repository_id, first.pull_number), ())),
    )


def _build_repository(row: Row[Any]) -> RepositoryRef:
    return RepositoryRef(row.installation_id, row.repository_id, row.full_name)


def _map_first_texts(rows: list[Row[Any]]) -> dict[str | None, str]:
    """Map each edit to the text in which it was first submitted: an update to a newer base is the
    same patch.
    """
    texts: dict[str | None, str] = {}
    for row in sorted(rows, key=lambda row: row.candidate_id):
        if row.edit is not None:
            texts.setdefault(row.edit, row.patch_sha256)
    return texts


def _build_submissions(
    rows: list[Row[Any]], texts: dict[str | None, str]
) -> tuple[Submission, ...]:
    once = {
        row.candidate_id: Submission(
            head=row.head_sha,
            patch=texts.get(row.edit),
            submitted_at=row.submitted_at,
            by_author=not row.pushed_by_another,
        )
        for row in rows
    }
    return tuple(once[number] for number in sorted(once))


def _build_judgements(rows: list[Row[Any]], texts: dict[str | None, str]) -> Iterator[Judgement]:
    """Yield the judgements, without candidates that could not be judged."""
    for row in rows:
        if None in {row.verifier, row.verified_at, row.verdict} or row.failure is not None:
            continue
        votes = VoteCount(row.votes_correct, row.votes_incorrect, row.votes_none)
        yield Judgement(
            judge=Judge(row.verifier, EngineInfo(**row.engine)),
            evaluation=row.evaluation_id,
            judged_at=row.verified_at,
            patch=texts.get(row.edit),
            verdict=Verdict(row.verdict),
            evidence=evidence.build_vote_evidence(
                votes, row.score, row.forced_share, row.consensus, row.verifier
            ),
        )


def _load_outcomes(connection: Connection) -> dict[_Pull, list[PullOutcome]]:
    raw = outcome_events.c
    rows = connection.execute(
        select(
            outcomes,
            raw.occurred_at,
            raw.actor_id,
            raw.data["by_author"].astext.label("by_author"),
        )
        .join(outcome_events, raw.id == outcomes.c.event_id)
        .order_by(raw.occurred_at, outcomes.c.id)
    )
    by_pull: dict[_Pull, list[PullOutcome]] = defaultdict(list)
    for row in rows:
        by_pull[row.repository_id, row.pull_number].append(
            PullOutcome(
                kind=OutcomeKind(row.kind),
                reason=row.reason,
                permission=row.permission,
                evaluation=row.evaluation_id,
                occurred_at=row.occurred_at,
                value=row.value,
                head=row.head_sha,
                actor=row.actor,
                actor_id=row.actor_id,
                by_author=row.by_author == "true",
            )
        )
    return by_pull
