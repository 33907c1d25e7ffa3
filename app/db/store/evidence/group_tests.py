"""Store the tests of one evaluation: what was asked for, what they showed on each patch, and the verdict with that."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.issues import candidates as candidate_store
from app.db.store.issues.evaluations import Evaluation, patch_id
from app.db.tables.schema import (
    attempts,
    candidates,
    evaluation_alternatives,
    evaluation_candidates,
    evaluations,
    group_tests,
    groups,
    patches,
    repositories,
)
from app.policy.alternative_policy import format_alternative_id
from app.values.identifiers import CommitSha, EvaluationId, InstallationId
from model import typed_json
from model.domain import ObservedEvidence, Patch, PatchId, PatchVerdict
from model.verdict_json import read_patches, write_evidence

MOST_NAMES: Final = 10
"""Broken tests that are named; all are counted."""
NAME_CHARACTERS: Final = 200
REASON_CHARACTERS: Final = 300
TREE_WITHIN: Final = timedelta(days=1)
"""Time for which a source tree waits for its tests; perhaps no worker serves their queue."""
_UNREADABLE: Final = "its stored test results cannot be read"


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """The tests that a repository wants for one group, as its settings said when the group was frozen."""

    command: str
    environment: str
    """Name of a test environment of the operator."""
    seconds: int
    """Time limit of one run."""
    base_branch: str | None = None
    base_sha: CommitSha | None = None
    """The commit on which the tests run; None: the group has none."""
    reproduction: bool = False
    """Whether the repository wants tests written for the issue as well."""


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """What the tests of one group showed."""

    results: Mapping[PatchId, ObservedEvidence] = field(default_factory=dict)
    failure: str | None = None
    """Why there is no evidence about any patch, for people; None: there is some."""
    expected: int | None = None
    """Tests that pass on the base in every run."""
    flaky: int | None = None
    """Tests that pass on the base in some runs only."""


@dataclass(frozen=True, slots=True)
class GroupTests:
    """The tests of one group: waiting, running or finished."""

    request: SuiteRequest
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome: SuiteOutcome


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """The tests of one group and the patches on which they run."""

    tests: GroupTests
    patches: tuple[Patch, ...]
    alternatives_wanted: int
    """Alternatives that agents still have to write; the tests wait for them."""


def request(connection: Connection, identity: EvaluationId, wanted: SuiteRequest) -> None:
    """Store the tests that the evaluation `identity` needs. A second call changes nothing."""
    connection.execute(
        insert(group_tests)
        .values(
            evaluation_id=identity,
            command=wanted.command,
            environment=wanted.environment,
            seconds=wanted.seconds,
            base_branch=wanted.base_branch,
            base_sha=wanted.base_sha,
            reproduction=wanted.reproduction,
        )
        .on_conflict_do_nothing()
    )


def load(connection: Connection, identity: EvaluationId) -> GroupTests | None:
    """Load the tests of the evaluation `identity`; None when its repository wanted none."""
    row = connection.execute(
        select(group_tests).where(group_tests.c.evaluation_id == identity)
    ).one_or_none()
    if row is None:
        return None
    results, failure = _read_results(row.results)
    outcome = SuiteOutcome(results, row.failure or failure, row.expected, row.flaky)
    wanted = SuiteRequest(
        row.command, row.environment, row.seconds, row.base_branch, row.base_sha, row.reproduction
    )
    return GroupTests(wanted, row.created_at, row.started_at, row.finished_at, outcome)


def load_task(connection: Connection, identity: EvaluationId) -> SuiteTask | None:
    """Load what the worker of the queue `tests` needs; None when nobody needs these tests any more."""
    tests = load(connection, identity)
    evaluation = connection.execute(
        select(evaluations.c.state, evaluations.c.alternatives_wanted).where(
            evaluations.c.id == identity
        )
    ).one_or_none()
    if tests is None or tests.finished_at is not None:
        return None
    if evaluation is None or evaluation.state == "superseded":
        return None
    wanted = evaluation.alternatives_wanted if evaluation.state == "collected" else 0
    all_patches = (*_list_pulls(connection, identity), *_list_alternatives(connection, identity))
    return SuiteTask(tests, all_patches, wanted)


def _list_pulls(connection: Connection, identity: EvaluationId) -> Sequence[Patch]:
    rows = connection.execute(
        select(candidates.c.pull_number, patches.c.diff)
        .join(evaluation_candidates, evaluation_candidates.c.candidate_id == candidates.c.id)
        .join(patches, patches.c.sha256 == candidates.c.patch_sha256)
        .where(evaluation_candidates.c.evaluation_id == identity)
        .order_by(evaluation_candidates.c.position)
    )
    return [Patch(PatchId(f"#{row.pull_number}"), bytes(row.diff).decode()) for row in rows]


def _list_alternatives(connection: Connection, identity: EvaluationId) -> Sequence[Patch]:
    rows = connection.execute(
        select(attempts.c.number, patches.c.diff)
        .join(evaluation_alternatives, evaluation_alternatives.c.attempt_id == attempts.c.id)
        .join(patches, patches.c.sha256 == attempts.c.patch_sha256)
        .where(evaluation_alternatives.c.evaluation_id == identity)
        .order_by(attempts.c.number)
    )
    return [Patch(format_alternative_id(row.number), bytes(row.diff).decode()) for row in rows]


def start(connection: Connection, identity: EvaluationId) -> None:
    """Note that the tests of the evaluation `identity` wait for a worker; they count for today from now on."""
    started = func.coalesce(group_tests.c.started_at, func.now())
    _update(connection, identity, started_at=started)


def finish(connection: Connection, identity: EvaluationId, outcome: SuiteOutcome) -> None:
    """Store what the tests of the evaluation `identity` showed."""
    documents = {patch: write_evidence(evidence) for patch, evidence in outcome.results.items()}
    _update(
        connection,
        identity,
        finished_at=func.now(),
        failure=outcome.failure,
        expected=outcome.expected,
        flaky=outcome.flaky,
        results=documents or None,
    )


def _update(connection: Connection, identity: EvaluationId, **values: Any) -> None:
    is_row = group_tests.c.evaluation_id == identity
    connection.execute(update(group_tests).where(is_row).values(**values))


def count_today(connection: Connection, installation: InstallationId) -> int:
    """Count the groups of an installation whose tests started since midnight UTC."""
    rows = (
        select(func.count())
        .select_from(group_tests)
        .join(evaluations, evaluations.c.id == group_tests.c.evaluation_id)
        .join(groups, groups.c.id == evaluations.c.group_id)
        .join(repositories, repositories.c.id == groups.c.repository_id)
        .where(
            repositories.c.installation_id == installation,
            group_tests.c.started_at >= func.date_trunc("day", func.now(), "UTC"),
        )
    )
    return int(connection.execute(rows).scalar_one())


def count_outcomes(connection: Connection) -> dict[str, int]:
    """Count the stored groups by how far their tests are: `waiting`, `known` or `unknown`."""
    is_over = group_tests.c.finished_at.is_not(None)
    failed = group_tests.c.failure.is_not(None)
    counts = select(
        func.count().filter(~is_over).label("waiting"),
        func.count().filter(is_over & ~failed).label("known"),
        func.count().filter(is_over & failed).label("unknown"),
    )
    row = connection.execute(counts).one()
    return {"waiting": row.waiting, "known": row.known, "unknown": row.unknown}


def compute_wait(connection: Connection, identity: EvaluationId, seconds: float) -> float:
    """Return for how many seconds the verdict of the evaluation `identity` still waits for its tests; 0: no longer.

    `seconds` is the longest wait, counted from the verdict.
    """
    left = seconds - func.extract("epoch", func.now() - evaluations.c.verified_at)
    waits = select(left).where(
        evaluations.c.id == identity,
        evaluations.c.id == group_tests.c.evaluation_id,
        evaluations.c.state == "verified",
        group_tests.c.finished_at.is_(None),
    )
    return max(0.0, float(connection.scalar(waits) or 0.0))


def find_awaited(
    connection: Connection, identities: Collection[EvaluationId]
) -> frozenset[EvaluationId]:
    """Return those of the evaluation ids `identities` whose tests have not ended, and began within TREE_WITHIN."""
    waiting = connection.scalars(
        select(evaluations.c.id).where(
            and_(
                evaluations.c.id == group_tests.c.evaluation_id,
                evaluations.c.id.in_(identities),
                evaluations.c.state != "superseded",
                group_tests.c.finished_at.is_(None),
                group_tests.c.started_at > func.now() - TREE_WITHIN,
            )
        )
    )
    return frozenset(EvaluationId(identity) for identity in waiting)


def save_weighed(connection: Connection, evaluation: Evaluation, document: dict[str, Any]) -> None:
    """Replace the verdict of `evaluation` by `document`, an `r4p.verdict/1` with evidence.

    The votes and the features for calibrators stay as the verifier left them, so evidence never teaches a calibrator.
    """
    verdicts = {patch.id: patch for patch in read_patches(document)}
    for pull, candidate in candidate_store.map_ids_by_pull(connection, evaluation.id).items():
        key = {"evaluation_id": evaluation.id, "candidate_id": candidate}
        columns = _list_columns(verdicts[patch_id(pull)])
        candidate_store.save_opinion(connection, evaluation_candidates, key, columns)
    for alternative in evaluation.alternatives:
        key = {"evaluation_id": evaluation.id, "attempt_id": alternative.attempt}
        columns = _list_columns(verdicts[alternative.id])
        candidate_store.save_opinion(connection, evaluation_alternatives, key, columns)
    is_row = evaluations.c.id == evaluation.id
    connection.execute(update(evaluations).where(is_row).values(verdict=document))


def _list_columns(patch: PatchVerdict) -> dict[str, object]:
    return {
        "verdict": patch.verdict.value,
        "probability": patch.probability,
        "reason": patch.reason,
    }


def _read_results(document: Any) -> tuple[dict[PatchId, ObservedEvidence], str | None]:
    """Read stored results, and why that fails; the worker that wrote them ran a stranger's code."""
    try:
        results = {
            PatchId(patch): _clip(typed_json.read(ObservedEvidence, value))
            for patch, value in (document or {}).items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}, _UNREADABLE
    return results, None


def _clip(evidence: ObservedEvidence) -> ObservedEvidence:
    regression = evidence.regression
    if regression is not None:
        names = tuple(name[:NAME_CHARACTERS] for name in regression.names[:MOST_NAMES])
        regression = replace(regression, names=names)
    return replace(
        evidence,
        regression=regression,
        unknown=_clip_reason(evidence.unknown),
        reproduction_unknown=_clip_reason(evidence.reproduction_unknown),
    )


def _clip_reason(reason: str | None) -> str | None:
    return None if reason is None else reason[:REASON_CHARACTERS]
