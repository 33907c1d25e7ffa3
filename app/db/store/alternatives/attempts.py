"""Store the agents' attempts on issues, and their cost."""

import hashlib
import zlib
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Column, Connection, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.issues.candidates import save_patch
from app.db.tables.schema import agent_runs, attempts
from app.github.redaction import redact
from app.policy.alternative_policy import Cost, RefusalReason, map_stop_reason
from app.values.identifiers import AlternativeNumber, CommitSha, RepositoryId
from model.agents.trajectories import trajectory_json
from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.trajectory import Attempt, StopReason
from model.domain import EngineInfo, Issue, Tokens

CRASHED = "crashed"
"""The attempt ended with its process."""
OVER_BUDGET = "over_budget"
"""The attempt ended because its budget was used up."""
TAKEN_BACK = "taken_back"
"""The attempt ended because nobody waited for it any more."""
QUOTES_HINT = "quotes_hint"
"""The patch quotes its hint, which judges must not see, so it is no rival."""
LONGEST_RUN: Final = timedelta(minutes=40)
"""A run open for longer has lost its worker; it then costs its whole reservation."""


@dataclass(frozen=True, slots=True)
class Place:
    """What agents' attempts start from: an issue's text and a commit, in one group.

    Attempts that start from equal places solve the same task.
    """

    repository: RepositoryId
    group: int
    base: CommitSha
    """The commit whose tree the agent saw."""
    issue: Issue

    @property
    def issue_sha256(self) -> str:
        """Return the hexadecimal SHA-256 of the issue's title and body, which changes with every edit."""
        return hash_issue(self.issue)


def hash_issue(issue: Issue) -> str:
    """Return the SHA-256 of an issue's title and body in hexadecimal (pure)."""
    return hashlib.sha256(f"{issue.title}\0{issue.body}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An agent's attempt on an issue, as the database stores it."""

    agent: str
    engine: EngineInfo
    seed: int
    stop: str
    """A `StopReason`, CRASHED, OVER_BUDGET, TAKEN_BACK or QUOTES_HINT."""
    steps: int
    tokens: Tokens
    seconds: float
    patch: str | None = None
    failure: str | None = None
    trajectory: bytes | None = None
    """`r4p.trajectory/1`; None when the attempt died with its process."""
    guidance: Guidance | None = None
    guided_by: int | None = None
    """Id of the attempt that the guidance is about; None without guidance."""
    quotes_hint: bool = False
    """True when the patch quotes its hint."""

    @classmethod
    def from_attempt(cls, attempt: Attempt) -> "AttemptRecord":
        """Build the record of a finished attempt, without `guided_by`."""
        trajectory = attempt.trajectory
        return cls(
            agent=trajectory.agent,
            engine=trajectory.engine,
            seed=trajectory.seed,
            stop=attempt.stop.value,
            steps=attempt.rounds,
            tokens=attempt.tokens,
            seconds=attempt.seconds,
            patch=attempt.patch,
            failure=trajectory.failure,
            trajectory=trajectory_json.dump_trajectory(trajectory),
            guidance=trajectory.guidance,
            quotes_hint=trajectory.guidance is not None and trajectory.patch_quotes_hint,
        )


def save(
    connection: Connection,
    place: Place,
    record: AttemptRecord,
    number: AlternativeNumber | None = None,
) -> int:
    """Save `record`, an agent's attempt that started from `place`, and return its row id.

    `number` is the number of the alternative; None when the attempt has no patch, or a rival has the same edit.
    """
    statement = (
        insert(attempts)
        .values(
            repository_id=place.repository,
            group_id=place.group,
            number=number,
            base_sha=place.base,
            issue_sha256=place.issue_sha256,
            agent=record.agent,
            engine=record.engine.name,
            model=record.engine.model,
            seed=record.seed,
            stop=record.stop,
            failure=None if record.failure is None else redact(record.failure),
            steps=record.steps,
            patch_sha256=None if record.patch is None else save_patch(connection, record.patch),
            prompt_tokens=record.tokens.prompt,
            cached_tokens=record.tokens.cached,
            completion_tokens=record.tokens.completion,
            seconds=record.seconds,
            trajectory=None if record.trajectory is None else zlib.compress(record.trajectory),
            guided_by=record.guided_by,
            guidance=None if record.guidance is None else asdict(record.guidance),
        )
        .returning(attempts.c.id)
    )
    return int(connection.execute(statement).scalar_one())


def load_trajectories(connection: Connection, identities: Collection[int]) -> dict[int, bytes]:
    """Load the trajectories (`r4p.trajectory/1`) of the attempts with these row ids, by row id.

    Attempts without a stored trajectory, or with a hint, are left out: no judge may see a hint.
    """
    rows = connection.execute(
        select(attempts.c.id, attempts.c.trajectory).where(
            attempts.c.id.in_(identities),
            attempts.c.trajectory.is_not(None),
            attempts.c.guided_by.is_(None),
        )
    )
    return {row.id: zlib.decompress(row.trajectory) for row in rows}


def next_number(connection: Connection, group: int) -> AlternativeNumber:
    """Return the number of the next alternative of the group with the id `group`, from 1."""
    return AlternativeNumber(_find_highest(connection, group, attempts.c.number, 0) + 1)


def next_seed(connection: Connection, group: int) -> int:
    """Return the random seed of a group's next attempt, from 0; a repeated seed would repeat the result."""
    return _find_highest(connection, group, attempts.c.seed, -1) + 1


def _find_highest(connection: Connection, group: int, column: Column[int], least: int) -> int:
    highest = select(func.coalesce(func.max(column), least)).where(attempts.c.group_id == group)
    return int(connection.execute(highest).scalar_one())


def count_tried(
    connection: Connection, group: int, bases: Collection[CommitSha], issue_sha256: str
) -> int:
    """Count the attempts of the group with the id `group` at one issue text on the commits `bases`.

    `issue_sha256` is the SHA-256 of the text. Attempts that ended through no fault of the agent do not count.
    """
    rows = connection.scalars(
        select(attempts.c.stop).where(
            attempts.c.group_id == group,
            attempts.c.base_sha.in_(bases),
            attempts.c.issue_sha256 == issue_sha256,
        )
    )
    return sum(_is_counted(stop) for stop in rows)


def sum_cost(
    connection: Connection, repository: RepositoryId, *, include_running: bool = False
) -> Cost:
    """Sum the tokens and seconds that agents used for a repository since midnight UTC.

    `include_running` adds what running agents have reserved.
    """
    run = agent_runs.c
    ended = or_(
        run.ended_at.is_not(None),
        run.created_at <= func.now() - LONGEST_RUN,
        literal(include_running),
    )
    row = connection.execute(
        select(
            func.coalesce(func.sum(run.tokens), 0).label("tokens"),
            func.coalesce(func.sum(run.seconds), 0.0).label("seconds"),
        ).where(
            run.repository_id == repository,
            run.created_at >= func.date_trunc("day", func.now(), "UTC"),
            ended,
        )
    ).one()
    return Cost(int(row.tokens), float(row.seconds))


def lock_budget(connection: Connection, repository: RepositoryId) -> None:
    """Lock a repository's daily agent budget until the transaction ends.

    Without the lock, two runs could reserve the same tokens.
    """
    lock = func.hashtextextended(f"agents:{repository}", 0)
    connection.execute(select(func.pg_advisory_xact_lock(lock)))


def begin_run(connection: Connection, repository: RepositoryId, most: Cost) -> int:
    """Reserve `most`, an agent process's highest possible cost, in a repository's budget; return the run's id."""
    values = {"repository_id": repository, "tokens": most.tokens, "seconds": most.seconds}
    statement = insert(agent_runs).values(values).returning(agent_runs.c.id)
    return int(connection.execute(statement).scalar_one())


def end_run(connection: Connection, run: int, cost: Cost) -> None:
    """Replace the reservation of the agent process with the id `run` by its real cost, if it still exists."""
    connection.execute(
        update(agent_runs)
        .where(agent_runs.c.id == run)
        .values(tokens=cost.tokens, seconds=cost.seconds, ended_at=func.now())
    )


def find_last_failure(connection: Connection, group: int) -> RefusalReason | None:
    """Return why the newest attempt of the group with the id `group` gave no alternative.

    The result is None if it gave one, or if there is no attempt. Attempts that were taken back do not count.
    """
    row = connection.execute(
        select(attempts.c.stop, attempts.c.number)
        .where(attempts.c.group_id == group, attempts.c.stop != TAKEN_BACK)
        .order_by(attempts.c.id.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None or row.number is not None else explain_stop(row.stop)


def explain_stop(stop: str) -> RefusalReason:
    """Return the reason why an attempt that ended with `stop` gave no alternative (pure)."""
    own_reasons = {
        CRASHED: RefusalReason.CRASHED,
        OVER_BUDGET: RefusalReason.BUDGET,
        QUOTES_HINT: RefusalReason.QUOTES_HINT,
    }
    if stop in own_reasons:
        return own_reasons[stop]
    return map_stop_reason(StopReason(stop)) or RefusalReason.SAME


def _is_counted(stop: str) -> bool:
    return stop not in {OVER_BUDGET, TAKEN_BACK} and not explain_stop(stop).is_temporary
