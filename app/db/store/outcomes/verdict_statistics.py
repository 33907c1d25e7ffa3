"""Statistics of recent verdicts for monitoring: how many, how sure, how fast, at which cost, and what became of them.

Each query reads one day by an index, or a bounded number of rows, so that a scrape stays cheap with any history.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row

_JUDGED: Final = "e.created_at > now() - interval '1 day' and e.moved_from is null"
"""A moved verdict repeats an older one, so it counts nowhere. The index `ix_evaluations_created_at` bounds the rows."""

EVALUATIONS: Final = f"""
select coalesce(e.verifier, 'none') as verifier,
    count(*) filter (where e.verified_at is not null and e.failure is null) as judged,
    count(*) filter (where e.failure is not null) as failed,
    count(*) filter (where e.verified_at is null and e.state = 'collected') as waiting,
    count(*) filter (where e.verified_at is null and e.state = 'superseded') as superseded,
    coalesce(sum((v.tokens ->> 'prompt')::bigint), 0) as prompt,
    coalesce(sum((v.tokens ->> 'cached')::bigint), 0) as cached,
    coalesce(sum((v.tokens ->> 'completion')::bigint), 0) as completion,
    coalesce(sum((v.seconds ->> 'engine')::float), 0) as engine_seconds
from evaluations e
    left join lateral jsonb_to_record(e.verdict) as v(tokens jsonb, seconds jsonb) on true
where {_JUDGED} group by 1
"""

VERDICTS: Final = f"""
select e.verifier, c.verdict, count(*) as patches
from evaluations e join evaluation_candidates c on c.evaluation_id = e.id
where {_JUDGED} and e.failure is null and e.verifier is not null and c.verdict is not null
group by 1, 2
"""

REPEATED: Final = f"""
select count(*) as patches,
    count(*) filter (where earlier.verdict <> c.verdict) as flipped
from evaluations e join evaluation_candidates c on c.evaluation_id = e.id
cross join lateral (
    select before.verdict from evaluation_candidates before
        join evaluations last on last.id = before.evaluation_id
    where before.candidate_id = c.candidate_id and before.evaluation_id < c.evaluation_id
        and before.verdict is not null and last.failure is null and last.moved_from is null
    order by before.evaluation_id desc limit 1) as earlier
where {_JUDGED} and e.failure is null
    and c.verdict in ('correct', 'incorrect') and earlier.verdict in ('correct', 'incorrect')
"""

REACTIONS: Final = """
select q.share, percentile_cont(q.share) within group (order by first.seconds) as seconds
from (values (0.5::float), (0.95)) as q(share),
    (select extract(epoch from min(w.confirmed_at) - min(d.received_at))::float as seconds
    from (select delivery_guid, confirmed_at from confirmed_writes order by id desc limit 5000) as w
        join deliveries d on d.guid = w.delivery_guid
    where w.confirmed_at > now() - interval '1 day' group by w.delivery_guid) as first
group by q.share
"""

DURATIONS: Final = f"""
select q.share, percentile_cont(q.share) within group (order by
    extract(epoch from e.verified_at - e.created_at)::float) as seconds
from (values (0.5::float), (0.95)) as q(share), evaluations e
where {_JUDGED} and e.verified_at is not null and e.failure is null
group by q.share
"""

AGENTS: Final = """
select count(*) as runs, coalesce(sum(tokens), 0) as tokens, coalesce(sum(seconds), 0) as seconds
from agent_runs where created_at > now() - interval '1 day' and ended_at is not null
"""

SETTLED: Final = """
select c.verdict as claim, revert.pull_number is not null as is_reverted, count(*) as patches
from (select repository_id, pull_number, evaluation_id, event_id from outcomes
        where kind = 'merged' order by id desc limit 10000) as o
    join outcome_events merge on merge.id = o.event_id
    join evaluation_candidates c on c.evaluation_id = o.evaluation_id
    join candidates on candidates.id = c.candidate_id
        and candidates.repository_id = o.repository_id and candidates.pull_number = o.pull_number
    left join lateral (
        select r.pull_number from outcomes r
        where r.repository_id = o.repository_id and r.pull_number = o.pull_number
            and r.kind = 'reverted' limit 1) as revert on true
where c.verdict in ('correct', 'incorrect')
    and merge.occurred_at > now() - interval '90 days'
    and (merge.occurred_at < now() - interval '14 days' or revert.pull_number is not null)
group by 1, 2
"""
"""A merge that nobody took back for 14 days counts as kept, as in the labels."""


@dataclass(frozen=True, slots=True)
class VerdictStatistics:
    """Rows of the queries of this module; a statistic without data has no row, because unknown is not zero."""

    evaluations: tuple[Row[Any], ...]
    verdicts: tuple[Row[Any], ...]
    repeated: Row[Any]
    reactions: tuple[Row[Any], ...]
    durations: tuple[Row[Any], ...]
    agents: Row[Any]
    settled: tuple[Row[Any], ...]


def read_verdict_statistics(connection: Connection) -> VerdictStatistics:
    """Read the statistics of the last day, and the outcomes of the claims about pull requests merged in 90 days."""
    rows: Iterator[tuple[Row[Any], ...]] = (
        tuple(connection.exec_driver_sql(query))
        for query in (EVALUATIONS, VERDICTS, REPEATED, REACTIONS, DURATIONS, AGENTS, SETTLED)
    )
    evaluations, verdicts, (repeated,), reactions, durations, (agents,), settled = rows
    return VerdictStatistics(evaluations, verdicts, repeated, reactions, durations, agents, settled)
