"""The SQL functions behind the rules about rows, and the trigger that guards the table `jobs`.

The functions run with their owner's rights, so that a rule can look at other rows. They work for the queue whose name
the role has, such as `verify` of `r4p_verify`, so a role learns nothing of other queues.
"""

from collections.abc import Iterator
from typing import Final

from app.db.process_grants import GRANTS, ProcessRole
from app.db.row_rules import FOLLOW_UPS

_WORDS: Final = {
    "definer": "security definer set search_path = pg_catalog, pg_temp",
    "own_queue": "substr(session_user, 5)",
    "web": ProcessRole.WEB,
}
# Returns ids of kind $1 that the open jobs work on. A job is open while it runs and between its attempts, and for ten
# minutes after its end, because a worker may save an attempt shortly after it lost the job.
_IDS_OF_OPEN_JOBS: Final = """
create or replace function {schema}.r4p_ids_of_open_jobs(what text) returns bigint[]
language sql stable {definer} as $$
with work as (
    select payload, installation_id, repository_id from {schema}.jobs
    where jobs.queue = {own_queue} and state = 'running'
    union all
    select payload, installation_id, repository_id from {schema}.jobs
    where jobs.queue = {own_queue} and state = 'ready' and attempt > 0
    union all
    select payload, installation_id, repository_id from {schema}.jobs
    where jobs.queue = {own_queue} and state in ('done','superseded') and finished_at > now() - interval '10 minutes'),
groups as (
    select group_id from {schema}.evaluations
    where id = any (array(select (payload ->> 'evaluation')::bigint from work))),
earlier as (select id from {schema}.evaluations where group_id = any (array(select group_id from groups)))
select case $1
    when 'installation' then array(select installation_id from work)
    when 'repository' then array(select repository_id from work)
    when 'evaluation' then array(select (payload ->> 'evaluation')::bigint from work)
    when 'draft' then array(select (payload ->> 'draft')::bigint from work)
    when 'group' then array(select group_id from groups)
    when 'earlier' then array(select id from earlier)
    when 'candidate' then array(select candidate_id from {schema}.evaluation_candidates
        where evaluation_id = any (array(select id from earlier)))
    when 'attempt' then array(select id from {schema}.attempts where group_id = any (array(select group_id from groups)))
end
$$
"""
# The hashes of the patches in all evaluations and attempts of the issues that open jobs work on.
_PATCHES_OF_OPEN_JOBS: Final = """
create or replace function {schema}.r4p_patches_of_open_jobs() returns text[]
language sql stable {definer} as $$
select array(
    select patch_sha256 from {schema}.candidates
    where id = any ({schema}.r4p_ids_of_open_jobs('candidate'))
    union
    select patch_sha256 from {schema}.attempts where id = any ({schema}.r4p_ids_of_open_jobs('attempt')))
$$
"""
# One row for each running job: key, payload and place of the one job that it may plan next, as FOLLOW_UPS says.
_FOLLOW_UPS: Final = """
create or replace function {schema}.r4p_follow_ups()
returns table (key text, payload jsonb, installation_id bigint, repository_id bigint, delivery_guid text)
language sql stable {definer} as $$
select case jobs.queue {keys} end, payload, installation_id, repository_id, delivery_guid
from {schema}.jobs where jobs.queue = {own_queue} and state = 'running'
$$
"""
# Volatile: it must see a job that the same statement stores.
_IS_FOLLOW_UP: Final = """
create or replace function {schema}.r4p_is_follow_up(job bigint) returns boolean
language sql volatile {definer} as $$
select exists (select from {schema}.jobs where id = $1 and key in (select key from {schema}.r4p_follow_ups()))
$$
"""
_FUNCTIONS: Final = {
    "r4p_ids_of_open_jobs(text)": _IDS_OF_OPEN_JOBS,
    "r4p_patches_of_open_jobs()": _PATCHES_OF_OPEN_JOBS,
    "r4p_follow_ups()": _FOLLOW_UPS,
    "r4p_is_follow_up(bigint)": _IS_FOLLOW_UP,
}
# A job decides which rows its worker may reach, and policies cannot compare a row with its former state. The trigger
# runs with the caller's rights. Besides the claim and the end of its own jobs a worker may only store a job that
# absorbs an equal one, and the web process may also start a dead job again.
_GUARD: Final = """
create or replace function {schema}.r4p_guard_job() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    own boolean := old.queue = {own_queue};
    is_web constant boolean := session_user = '{web}';
    absorbed constant text[] := array['payload', 'delivery_guid', 'run_after'];
    is_same boolean := new.payload = old.payload and new.delivery_guid is not distinct from old.delivery_guid;
begin
    if own and old.state = 'ready' then
        if is_same and new.state = 'running' and old.run_after <= now()
            and new.token = old.token + 1 and new.attempt = old.attempt + 1 then return new; end if;
    elsif own and old.state = 'running' then
        if is_same and new.token = old.token and coalesce(new.finished_at, now()) = now() then return new; end if;
    elsif is_web and old.state = 'dead' then
        if is_same and new.state = 'ready' then return new; end if;
    elsif not own and old.state = 'ready' and to_jsonb(new) - absorbed = to_jsonb(old) - absorbed then
        if is_web or new.delivery_guid is not distinct from old.delivery_guid or new.delivery_guid in
            (select f.delivery_guid from {schema}.r4p_follow_ups() as f) then return new; end if;
    end if;
    raise insufficient_privilege using message = concat(session_user, ' may not change job ', old.id, ' so');
end
$$
"""


def list_functions(schema: str) -> Iterator[str]:
    """Yield the SQL statements that create the functions and the trigger; `schema` is the tables' quoted schema."""
    keys = " ".join(
        f"when '{follow.after}' then concat_ws(':', '{follow.kind}', "
        + ", ".join(f"payload ->> '{field}'" for field in follow.key_fields)
        + ")"
        for follow in FOLLOW_UPS.values()
    )
    for name, function in _FUNCTIONS.items():
        yield function.format(schema=schema, keys=keys, **_WORDS)
        yield f"revoke all on function {schema}.{name} from public"
        yield f"grant execute on function {schema}.{name} to {', '.join(FOLLOW_UPS)}"
    yield _GUARD.format(schema=schema, **_WORDS)
    guarded = ", ".join(f"'{role}'" for role in GRANTS["jobs"] if role is not ProcessRole.GITHUB)
    yield (
        f"create or replace trigger r4p_guard_job before update on {schema}.jobs for each row"
        f" when (session_user in ({guarded})) execute function {schema}.r4p_guard_job()"
    )
