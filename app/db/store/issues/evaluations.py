"""Store evaluations: one frozen group, judged once and published once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Row, Select, Update, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.issues import candidates as candidate_store
from app.db.store.issues import evaluation_alternatives, votes
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.fingerprints import compute_fingerprint
from app.db.store.issues.versions import count_versions
from app.db.tables.schema import evaluation_alternatives as alternative_table
from app.db.tables.schema import evaluation_candidates, evaluations, groups, repositories
from app.github.redaction import redact
from app.jobs.job import Json
from app.policy.alternative_policy import RefusalReason
from app.policy.group_policy import LeftOutPull
from app.values.identifiers import (
    CommandSource,
    CommitSha,
    EvaluationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
)
from model.calibration.calibration import Evidence
from model.domain import PatchId, PatchVerdict, Vote


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A person's request for an evaluation, in comment or review `where` on issue or pull request number `under`."""

    where: CommandSource
    under: int


@dataclass(frozen=True, slots=True)
class NewEvaluation:
    """A new evaluation of the group with the id `group`: the frozen content, and how many `votes` to ask for."""

    group: int
    trigger: str
    mode: str
    votes: int
    title: str
    body: str
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOutPull, ...] = ()
    all_links_read: bool = True
    """False when rivals may be missing, because the issue has too many links."""
    alternatives: tuple[Alternative, ...] = ()
    alternatives_wanted: int = 0
    """Number of alternatives that agents write before the group is judged."""
    tree_base: CommitSha | None = None
    """The commit whose source tree is handed over to agents and to a judge that reads code; None when none is."""
    alternatives_lack: RefusalReason | None = None
    """Why there are fewer than wanted; None when there are enough."""
    asked: EvaluationRequest | None = None
    caused_by: tuple[str, ...] = ()
    """Authors' logins, and pull requests such as `#12`, whose changes led to this evaluation."""

    @property
    def fingerprint(self) -> str:
        """Return a hexadecimal SHA-256 of the issue's text, the candidates' patches, and the alternatives."""
        return compute_fingerprint((self.title, self.body), self.candidates, self.alternatives)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A stored evaluation of one frozen group. `forced` counts forced votes; see `NewEvaluation` for its fields."""

    id: EvaluationId
    group: int
    repository: RepositoryId
    repository_name: str
    issue: IssueNumber
    state: str
    trigger: str
    mode: str
    votes: int
    fingerprint: str
    title: str
    body: str
    verdict: Json
    """The `r4p.verdict/1` document; None before the verdict."""
    failure: str | None
    """Why the document holds no real verdict; None otherwise."""
    left_out: tuple[LeftOutPull, ...]
    all_links_read: bool
    forced: int
    candidates: tuple[Candidate, ...]
    alternatives: tuple[Alternative, ...] = ()
    alternatives_wanted: int = 0
    """Number of alternatives that agents still have to write; 0 when the group can be judged."""
    tree_base: CommitSha | None = None
    alternatives_lack: RefusalReason | None = None
    asked: EvaluationRequest | None = None
    moved_from: EvaluationId | None = None
    """The evaluation that gave the verdict to equal patches at other heads; None: this one."""
    versions: Mapping[PullNumber, int] = field(default_factory=dict)
    """How many versions of each pull request were judged so far, this one included."""

    def is_repeated_by(self, new: NewEvaluation) -> bool:
        """Return True if this evaluation did not fail and `new` has the same content, so that `new` is not needed."""
        heads, later = ({c.pull: c.head_sha for c in each.candidates} for each in (self, new))
        return self.failure is None and self.fingerprint == new.fingerprint and heads == later


def patch_id(pull: int) -> PatchId:
    """Return the patch id of the pull request number `pull`, such as `#12`. Verdicts and votes name it so."""
    return PatchId(f"#{pull}")


@dataclass(frozen=True, slots=True)
class CreatedEvaluation:
    """The id of a new evaluation, and the unpublished evaluations that it replaces."""

    id: EvaluationId
    superseded: tuple[EvaluationId, ...]


def create(connection: Connection, number: RepositoryId, new: NewEvaluation) -> CreatedEvaluation:
    """Store evaluation `new` in repository id `number`; return its id and the unpublished ones it supersedes."""
    superseded = supersede_unpublished(connection, new.group)
    statement = (
        insert(evaluations)
        .values(
            group_id=new.group,
            trigger=new.trigger,
            mode=new.mode,
            votes=new.votes,
            fingerprint=new.fingerprint,
            issue_title=new.title,
            issue_body=new.body,
            left_out=[{"number": entry.number, "reason": entry.reason} for entry in new.left_out],
            all_links_read=new.all_links_read,
            alternatives_wanted=new.alternatives_wanted,
            tree_base=new.tree_base,
            alternatives_lack=new.alternatives_lack,
            asked_in=new.asked.where if new.asked else None,
            asked_under=new.asked.under if new.asked else None,
            caused_by=list(new.caused_by),
        )
        .returning(evaluations.c.id)
    )
    identity = EvaluationId(int(connection.execute(statement).scalar_one()))
    for position, candidate in enumerate(new.candidates):
        connection.execute(
            insert(evaluation_candidates).values(
                evaluation_id=identity,
                candidate_id=candidate_store.save(connection, number, candidate),
                position=position,
                strength=candidate.strength,
            )
        )
    evaluation_alternatives.attach(connection, identity, new.alternatives, len(new.candidates))
    return CreatedEvaluation(identity, superseded)


def supersede_unpublished(connection: Connection, group: int) -> tuple[EvaluationId, ...]:
    """Mark the unpublished evaluations of the group with id `group` as superseded; return their ids."""
    taken = connection.scalars(
        update(evaluations)
        .where(evaluations.c.group_id == group, evaluations.c.state.in_(("collected", "verified")))
        .values(state="superseded")
        .returning(evaluations.c.id)
    )
    return tuple(taken)


def load(connection: Connection, identity: EvaluationId) -> Evaluation | None:
    """Load the evaluation with the id `identity`, its candidates in order; None when it was purged."""
    row = connection.execute(_select().where(evaluations.c.id == identity)).one_or_none()
    return None if row is None else _build_evaluation(connection, row)


def find_newest(connection: Connection, group: int, *states: str) -> Evaluation | None:
    """Return the newest evaluation of the group with id `group` whose state is one of `states`, or None."""
    row = connection.execute(
        _select()
        .where(evaluations.c.group_id == group, evaluations.c.state.in_(states))
        .order_by(evaluations.c.id.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else _build_evaluation(connection, row)


def is_overtaken(connection: Connection, evaluation: Evaluation) -> bool:
    """Return whether a newer evaluation than `evaluation` is published for the same group."""
    newer = exists().where(
        evaluations.c.group_id == evaluation.group,
        evaluations.c.id > evaluation.id,
        evaluations.c.state == "published",
    )
    return bool(connection.scalar(select(newer)))


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """What the verifier returned for an evaluation: its `r4p.verdict/1` document, verdicts, evidence and votes."""

    document: Json
    verdicts: tuple[PatchVerdict, ...]
    new_votes: tuple[Vote, ...]
    """The votes of this evaluation, without earlier ones that counted too."""
    verifier: str | None = None
    """The verifier's name in the catalog; None when none finished."""
    evidence: Mapping[PatchId, Evidence] = field(default_factory=dict)
    failure: str | None = None


def save_verdict(
    connection: Connection, identity: EvaluationId, verified: VerificationResult
) -> None:
    """Save the result `verified` of the evaluation `identity`: document, verdicts, new votes, state `verified`."""
    opinions = {
        verdict.id: candidate_store.build_opinion_columns(
            verdict, verified.evidence.get(verdict.id, Evidence())
        )
        for verdict in verified.verdicts
    }
    for pull, candidate in candidate_store.map_ids_by_pull(connection, identity).items():
        key = {"evaluation_id": identity, "candidate_id": candidate}
        candidate_store.save_opinion(
            connection, evaluation_candidates, key, opinions[patch_id(pull)]
        )
    for alternative in evaluation_alternatives.list_of_evaluation(connection, identity):
        key = {"evaluation_id": identity, "attempt_id": alternative.attempt}
        candidate_store.save_opinion(connection, alternative_table, key, opinions[alternative.id])
    for number, vote in enumerate(verified.new_votes):
        votes.save(connection, identity, number, vote)
    connection.execute(
        _update(identity).values(
            state="verified",
            verifier=verified.verifier,
            verdict=verified.document,
            failure=None if verified.failure is None else redact(verified.failure),
            verified_at=func.now(),
        )
    )


def mark_published(connection: Connection, identity: EvaluationId) -> None:
    """Set the state of the evaluation `identity` to `published`, also in shadow mode, which shows nothing."""
    connection.execute(_update(identity).values(state="published", published_at=func.now()))


def mark_superseded(connection: Connection, identity: EvaluationId) -> None:
    """Set the state of the evaluation `identity` to `superseded`, because newer work replaces it."""
    connection.execute(_update(identity).values(state="superseded"))


def _update(identity: EvaluationId) -> Update:
    return update(evaluations).where(evaluations.c.id == identity)


def _select() -> Select[*tuple[object, ...]]:
    return (
        select(evaluations, groups.c.repository_id, groups.c.issue_number, repositories.c.full_name)
        .join(groups, groups.c.id == evaluations.c.group_id)
        .join(repositories, repositories.c.id == groups.c.repository_id)
    )


def _build_evaluation(connection: Connection, row: Row[*tuple[object, ...]]) -> Evaluation:
    return Evaluation(
        id=row.id,
        group=row.group_id,
        repository=row.repository_id,
        repository_name=row.full_name,
        issue=row.issue_number,
        state=row.state,
        trigger=row.trigger,
        mode=row.mode,
        votes=row.votes,
        fingerprint=row.fingerprint,
        title=row.issue_title,
        body=row.issue_body,
        verdict=row.verdict,
        failure=row.failure,
        left_out=tuple(LeftOutPull(PullNumber(o["number"]), o["reason"]) for o in row.left_out),
        all_links_read=row.all_links_read,
        forced=votes.count_forced(connection, row.moved_from or row.id),
        candidates=candidate_store.list_of_evaluation(connection, row.id),
        alternatives=evaluation_alternatives.list_of_evaluation(connection, row.id),
        alternatives_wanted=row.alternatives_wanted,
        tree_base=row.tree_base,
        asked=EvaluationRequest(row.asked_in, row.asked_under) if row.asked_in else None,
        alternatives_lack=None
        if row.alternatives_lack is None
        else RefusalReason(row.alternatives_lack),
        moved_from=row.moved_from,
        versions=count_versions(connection, row.group_id, row.id),
    )
