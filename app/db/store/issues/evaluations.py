"""Evaluations: one snapshot of a group's candidates, judged once, published once."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Row, Select, Update, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.issues import candidates as candidate_store
from app.db.store.issues import evaluation_alternatives, votes
from app.db.store.issues.candidates import Candidate, JudgedCandidate
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.tables.schema import evaluation_candidates, evaluations, groups, repositories
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
    """Where somebody asked for an evaluation, so that they can be told if nothing comes of it."""

    where: CommandSource
    under: int
    """The issue or pull request."""


@dataclass(frozen=True, slots=True)
class NewEvaluation:
    """What is frozen when a group is submitted."""

    group: int
    trigger: str
    mode: str
    votes: int
    title: str
    body: str
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOutPull, ...] = ()
    all_links_read: bool = True
    """False: the issue has more links than are read, so rivals may be missing."""
    alternatives: tuple[Alternative, ...] = ()
    """Those that are there already."""
    alternatives_wanted: int = 0
    """How many an agent is to write before it is judged."""
    alternatives_base: CommitSha | None = None
    """The commit that it works on; None: none is wanted."""
    alternatives_lack: RefusalReason | None = None
    """Why there are fewer than wanted; None: there are not."""
    asked: EvaluationRequest | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for equal issue text and equal patches at equal heads."""
        return compute_fingerprint((self.title, self.body), self.candidates, self.alternatives)


def compute_fingerprint(
    text: tuple[str, str], candidates: Iterable[Candidate], alternatives: Iterable[Alternative]
) -> str:
    """Equal for equal issue text and equal patches, of pull requests at equal heads (pure)."""
    digest = hashlib.sha256(f"{text[0]}\0{text[1]}".encode())
    for candidate in sorted(candidates, key=lambda c: c.pull):
        digest.update(f"\0{candidate.pull}\0{candidate.head_sha}\0".encode())
        digest.update((candidate.diff or "").encode())
    for alternative in sorted(alternatives, key=lambda a: a.number):
        digest.update(f"\0{alternative.id}\0{alternative.diff}".encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation as stored."""

    id: EvaluationId
    group: int
    repository: RepositoryId
    repository_name: str
    """`owner/name`"""
    issue: IssueNumber
    state: str
    trigger: str
    mode: str
    votes: int
    fingerprint: str
    title: str
    body: str
    verdict: Json
    """The `r4p.verdict/1` document; None while there is none."""
    failure: str | None
    """Why the document holds no real verdict; None: it does, or there is none yet."""
    left_out: tuple[LeftOutPull, ...]
    all_links_read: bool
    forced: int
    """Votes that only answered when asked once more."""
    judged: tuple[JudgedCandidate, ...]
    alternatives: tuple[Alternative, ...] = ()
    """By our own agents, judged with them."""
    alternatives_wanted: int = 0
    """How many an agent is still to write; 0: it can be judged."""
    alternatives_base: CommitSha | None = None
    """The commit that it works on; None: none was wanted."""
    alternatives_lack: RefusalReason | None = None
    """Why there are fewer than were wanted; None: there are not."""
    asked: EvaluationRequest | None = None

    def is_repeated_by(self, new: NewEvaluation) -> bool:
        """Whether judging the new snapshot would only repeat this."""
        return self.failure is None and self.fingerprint == new.fingerprint


def patch_id(pull: int) -> PatchId:
    """How a pull request is called among its rivals."""
    return PatchId(f"#{pull}")


@dataclass(frozen=True, slots=True)
class CreatedEvaluation:
    """A new evaluation and those it replaces."""

    id: EvaluationId
    superseded: tuple[EvaluationId, ...]


def create(connection: Connection, number: RepositoryId, new: NewEvaluation) -> CreatedEvaluation:
    """Freeze a snapshot. Older ones of the group that are not yet published are superseded."""
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
            alternatives_base=new.alternatives_base,
            alternatives_lack=new.alternatives_lack,
            asked_in=new.asked.where if new.asked else None,
            asked_under=new.asked.under if new.asked else None,
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
    """Supersede what was submitted of a group and isn't published yet. Returns which those were."""
    taken = connection.execute(
        update(evaluations)
        .where(evaluations.c.group_id == group, evaluations.c.state.in_(("collected", "verified")))
        .values(state="superseded")
        .returning(evaluations.c.id)
    )
    return tuple(EvaluationId(row.id) for row in taken)


def load(connection: Connection, identity: EvaluationId) -> Evaluation | None:
    """One evaluation with its candidates in order; None when it was purged."""
    row = connection.execute(_select().where(evaluations.c.id == identity)).one_or_none()
    return None if row is None else _build_evaluation(connection, row)


def find_newest(connection: Connection, group: int, *states: str) -> Evaluation | None:
    """The group's newest evaluation in one of the given states."""
    row = connection.execute(
        _select()
        .where(evaluations.c.group_id == group, evaluations.c.state.in_(states))
        .order_by(evaluations.c.id.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else _build_evaluation(connection, row)


def is_overtaken(connection: Connection, evaluation: Evaluation) -> bool:
    """Whether a newer evaluation of the group was already published: an older one must not overwrite it."""
    newer = connection.execute(
        select(evaluations.c.id)
        .where(
            evaluations.c.group_id == evaluation.group,
            evaluations.c.id > evaluation.id,
            evaluations.c.state == "published",
        )
        .limit(1)
    ).one_or_none()
    return newer is not None


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """What became of an evaluation."""

    document: Json
    """`r4p.verdict/1`"""
    verdicts: tuple[PatchVerdict, ...]
    new_votes: tuple[Vote, ...]
    """The votes of this evaluation, without earlier ones it counted."""
    verifier: str | None = None
    """Its name in the catalogue; None: none came to an end."""
    evidence: Mapping[PatchId, Evidence] = field(default_factory=dict)
    """What was known of those patches that there is an opinion of."""
    failure: str | None = None


def save_verdict(
    connection: Connection, identity: EvaluationId, verified: VerificationResult
) -> None:
    """Store the verdict, the counts per candidate and every reply; the state becomes `verified`."""
    by_patch = {verdict.id: verdict for verdict in verified.verdicts}
    for pull, candidate in candidate_store.map_ids_by_pull(connection, identity).items():
        verdict = by_patch[patch_id(pull)]
        evidence = verified.evidence.get(verdict.id, Evidence())
        candidate_store.save_verdict(connection, (identity, candidate), verdict, evidence)
    for alternative in evaluation_alternatives.list_of_evaluation(connection, identity):
        evidence = verified.evidence.get(alternative.id, Evidence())
        evaluation_alternatives.save_verdict(
            connection, identity, alternative.attempt, by_patch[alternative.id], evidence
        )
    for vote in verified.new_votes:
        votes.save(connection, identity, vote)
    connection.execute(
        _update(identity).values(
            state="verified",
            verifier=verified.verifier,
            verdict=verified.document,
            failure=verified.failure,
            verified_at=func.now(),
        )
    )


def mark_published(connection: Connection, identity: EvaluationId) -> None:
    """The world has seen it or, in shadow mode, would have."""
    connection.execute(_update(identity).values(state="published", published_at=func.now()))


def mark_superseded(connection: Connection, identity: EvaluationId) -> None:
    """Newer work replaced it."""
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
        id=EvaluationId(row.id),
        group=row.group_id,
        repository=RepositoryId(row.repository_id),
        repository_name=row.full_name,
        issue=IssueNumber(row.issue_number),
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
        forced=votes.count_forced(connection, EvaluationId(row.id)),
        judged=candidate_store.list_of_evaluation(connection, EvaluationId(row.id)),
        alternatives=evaluation_alternatives.list_of_evaluation(connection, EvaluationId(row.id)),
        alternatives_wanted=row.alternatives_wanted,
        alternatives_base=row.alternatives_base,
        asked=EvaluationRequest(CommandSource(row.asked_in), row.asked_under)
        if row.asked_in
        else None,
        alternatives_lack=None
        if row.alternatives_lack is None
        else RefusalReason(row.alternatives_lack),
    )
