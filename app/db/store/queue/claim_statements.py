"""The statements that claim a job: one job by its id, or the job of the installation whose turn it is.

The turns are a weighted round robin over the installations.
"""

from dataclasses import dataclass
from typing import Final

from app.values.identifiers import InstallationId

_CLAIM: Final = """
update jobs set state = 'running', attempt = attempt + 1, token = token + 1, claimed_at = now(),
    lease_until = now() + %(lease)s * interval '1 second'
where id = ({wanted})
returning id, kind, payload, token, attempt, delivery_guid, waits_for, waits, waits_since, (
    select coalesce((limits ->> 'weight')::int, 1) from installation_controls as stored
    where stored.installation_id = jobs.installation_id) as weight
"""
# A scalar subquery instead of `not exists`, which PostgreSQL may plan as a join over all running jobs. `coalesce`
# instead of `is null`: the planner then expects half of the rows, not one in 200, so it reads ix_jobs_turn in order and
# does not sort all jobs of the installation. `skip locked` lets workers claim different jobs without waiting.
_CLAIMABLE: Final = """
wanted.state = 'ready' and wanted.run_after <= now() and not coalesce((
    select true from jobs as other
    where other.key = wanted.key and other.state = 'running' limit 1), false)
"""
CLAIM_ONE: Final = _CLAIM.format(
    wanted=f"""
    select id from jobs as wanted where id = %(job)s and {_CLAIMABLE}
    for update of wanted skip locked"""
)
# Walk over the installations with ready jobs in the order of their ids: those after `after`, then
# those from the lowest id up to `after`. A step is one look into ix_jobs_turn, which also gives the
# first due time. PostgreSQL takes only as many steps as the `limit 1` below needs.
_TURNS: Final = """
with recursive turns(is_second_round, installation_id, due_at) as (
    select false, %(after)s::bigint, 'infinity'::timestamptz
    union all
    select following.* from turns cross join lateral (
        (select turns.is_second_round, installation_id, run_after from jobs
            where queue = %(queue)s and state = 'ready' and installation_id > turns.installation_id
            order by installation_id, run_after limit 1)
        union all
        (select true, installation_id, run_after from jobs
            where queue = %(queue)s and state = 'ready' and not turns.is_second_round
            order by installation_id, run_after limit 1)
        limit 1) as following
    where not (following.is_second_round and following.installation_id > %(after)s))
"""
# The control of installation 0 pauses all. `offset` looks for the running job that uses up the
# limit: `lease_until` is set while a job runs, and only ix_jobs_running_turn says so. The `limit 1`
# of `control` forbids other joins than loops, which keep the order of the turns.
CLAIM_NEXT: Final = _TURNS + _CLAIM.format(
    wanted=f"""
    select job.id from turns
    left join lateral (
        select paused_at, limits from installation_controls as stored
        where stored.installation_id = turns.installation_id limit 1) as control on true
    cross join lateral (
        select id from jobs as wanted
        where queue = %(queue)s and installation_id = turns.installation_id and {_CLAIMABLE}
        order by run_after, id limit 1 for update of wanted skip locked) as job
    where due_at <= now()
        and not (%(heeds_pause)s and (control.paused_at is not null or (
            select paused_at from installation_controls where installation_id = 0) is not null))
        and (coalesce((control.limits ->> 'max_running')::int, %(max_running)s::int) is null or (
            select true from jobs as running
            where running.queue = %(queue)s and running.installation_id = turns.installation_id
                and running.lease_until is not null
            offset coalesce((control.limits ->> 'max_running')::int, %(max_running)s::int) - 1
            limit 1) is null)
    limit 1"""
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The installation that a worker served last in a queue, and how many more jobs it gets in a row."""

    installation: InstallationId
    left: int = 0

    @property
    def after(self) -> InstallationId:
        """Return the id after which the worker looks for the next installation; its own comes first while jobs are left."""
        return InstallationId(self.installation - 1) if self.left > 0 else self.installation


FIRST_TURN: Final = Turn(InstallationId(-1))
"""The turn before all installations; periodic jobs belong to installation 0."""


def take_turn(last: Turn, installation: InstallationId, weight: int) -> Turn:
    """Return the turn after a job of `installation`, which gets `weight` jobs in a row, at least one."""
    if installation == last.installation and last.left > 0:
        return Turn(installation, last.left - 1)
    return Turn(installation, weight - 1)
