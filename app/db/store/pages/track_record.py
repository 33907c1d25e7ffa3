"""Count how verdicts came true, by repository and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from app.db.store.pages.worksheet import PageRepository
from app.outcomes.judgement import Judge
from app.values.identifiers import RepositoryId
from model.domain import EngineInfo

BINS: Final = 10
"""Groups of equal width by probability."""


@dataclass(frozen=True, slots=True)
class VerdictTally:
    """The number of patches of one repository with the same judge, verdict, result and bin of probability."""

    repository: RepositoryId
    judge: Judge
    verdict: str
    is_correct: bool | None
    """What became of the patches; None: not known."""
    bin: int | None
    """Bin of the probability, from 0; None: there is no probability."""
    patches: int
    probability_sum: float


# judged: each patch counts once, by its last published verdict.
# fates: a revert makes a patch incorrect. A merge of exactly this commit that holds for 14 days makes it
# correct. Otherwise the opinions of people with write access count, if they do not contradict each other.
_TALLY: Final = """
with judged as (
    select distinct on (evaluations.group_id, candidates.pull_number, coalesce(patch_sha256, candidates.head_sha))
        candidates.repository_id, candidates.pull_number, candidates.head_sha, evaluation_candidates.verdict,
        evaluation_candidates.probability, coalesce(evaluations.verdict ->> 'verifier', '') as verifier,
        coalesce(evaluations.verdict #>> '{engine,name}', '') as engine,
        coalesce(evaluations.verdict #>> '{engine,model}', '') as model,
        coalesce(evaluations.verdict #>> '{engine,prompt_fingerprint}', '') as prompt
    from candidates
    join evaluation_candidates on candidate_id = candidates.id
    join evaluations on evaluations.id = evaluation_id
    where candidates.repository_id = any(%(repositories)s) and evaluations.state = 'published' and failure is null
        and evaluation_candidates.verdict is not null
        and (%(group)s::bigint is null or evaluations.group_id = %(group)s)
    order by evaluations.group_id, candidates.pull_number, coalesce(patch_sha256, candidates.head_sha), evaluations.id desc),
fates as (
    select outcomes.repository_id, outcomes.pull_number,
        bool_or(outcomes.kind = 'reverted') as is_reverted,
        array_agg(outcomes.head_sha) filter (
            where outcomes.kind = 'merged' and occurred_at < now() - interval '14 days') as merged,
        bool_or(outcomes.kind = 'agree') filter (where outcomes.permission in ('admin', 'maintain', 'write')) as agreed,
        bool_or(outcomes.kind = 'disagree') filter (where outcomes.permission in ('admin', 'maintain', 'write')) as refused
    from outcomes join outcome_events on outcome_events.id = event_id
    where outcomes.repository_id = any(%(repositories)s)
        and outcomes.pull_number in (select pull_number from judged)
    group by outcomes.repository_id, outcomes.pull_number),
known as (
    select judged.*, case
        when is_reverted then false
        when judged.head_sha = any(merged) then true
        when verdict not in ('correct', 'incorrect') or agreed is not distinct from refused then null
        when agreed then verdict = 'correct'
        when refused then verdict = 'incorrect' end as is_correct
    from judged left join fates using (repository_id, pull_number))
select repository_id, verifier, engine, model, prompt, verdict, is_correct,
    least(floor(probability * %(bins)s), %(bins)s - 1)::int as bin,
    count(*) as patches, coalesce(sum(probability), 0) as probability_sum
from known group by 1, 2, 3, 4, 5, 6, 7, 8
"""


def tally_verdicts(
    connection: Connection, repositories: Sequence[int], group: int | None = None
) -> tuple[VerdictTally, ...]:
    """Count the published verdicts of `repositories` by what became of the patches; with `group`, only those of its id."""
    values = {"repositories": list(repositories), "bins": BINS, "group": group}
    rows = connection.exec_driver_sql(_TALLY, values)
    return tuple(
        VerdictTally(repository, Judge(verifier, EngineInfo(engine, model, prompt)), *rest)
        for repository, verifier, engine, model, prompt, *rest in rows
    )


def find_repository_by_name(connection: Connection, full_name: str) -> PageRepository | None:
    """Return a repository by `owner/name`, whoever asks. Callers must have checked that it is public."""
    row = connection.exec_driver_sql(
        "select id, installation_id, full_name from repositories where lower(full_name) = lower(%(name)s)"
        " order by id limit 1",
        {"name": full_name},
    ).one_or_none()
    return None if row is None else PageRepository(*row)
