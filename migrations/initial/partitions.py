"""Create the monthly partitions of tables that grow without bound, and the function that maintains them."""

from alembic import op

PARTITIONED = ("delivery_bodies", "votes")

# A row whose month has no partition goes to the default partition, so that no insert fails. The function runs with its
# owner's rights, so that a role without them can call it. The short lock timeout is below `deadlock_timeout`: the
# function gives up before it makes others wait, and its next call tries again.
_MAINTAIN = """
create function maintain_partitions(parent regclass, keep_days integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '500ms'
as $body$
declare
    schema_name name;
    table_name name;
    time_column name;
    first_day timestamptz;
    part text;
    oldest timestamptz := date_trunc('month', now() - make_interval(days => keep_days));
    dropped integer := 0;
begin
    if keep_days < 8 then
        raise exception 'keep_days can''t be %: give at least 8, or null for ever', keep_days;
    end if;
    select n.nspname, c.relname, a.attname into schema_name, table_name, time_column
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_partitioned_table p on p.partrelid = c.oid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
    where c.oid = parent and pg_get_userbyid(c.relowner) = current_user;
    if not found then
        raise exception 'parent can''t be %: give a partitioned table of %', parent, current_user;
    end if;
    -- Two calls at once would do the same work.
    if not pg_try_advisory_xact_lock(x'5234'::int, parent::oid::int) then
        return 0;
    end if;
    for ahead in 0..2 loop
        first_day := date_trunc('month', now()) + make_interval(months => ahead);
        part := table_name || to_char(first_day, '"_"YYYY"_"MM');
        continue when exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relname = part and n.nspname = schema_name);
        -- Rows of this month may wait in the default partition; move them.
        execute format('lock table %I.%I', schema_name, table_name || '_default');
        execute format('create table %I.%I (like %s)', schema_name, part, parent);
        execute format('with moved as (delete from %I.%I where %I >= $1 and %I < $2 returning *)
            insert into %I.%I select * from moved', schema_name, table_name || '_default',
            time_column, time_column, schema_name, part) using first_day, first_day + interval '1 month';
        execute format('alter table %s attach partition %I.%I for values from (%L) to (%L)',
            parent, schema_name, part, first_day, first_day + interval '1 month');
    end loop;
    -- Names sort as their months do, and the default partition after them.
    for part in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = parent and c.relname < table_name || to_char(oldest, '"_"YYYY"_"MM')
    loop
        execute format('drop table %I.%I', schema_name, part);
        dropped := dropped + 1;
    end loop;
    execute format('delete from %I.%I where ctid = any(array(
        select ctid from %I.%I where %I < $1 limit 10000))', schema_name, table_name || '_default',
        schema_name, table_name || '_default', time_column) using oldest;
    return dropped;
end
$body$
"""


def create() -> None:
    """Create the function, and for each table its default partition and those of this and the next two months."""
    op.execute(_MAINTAIN)
    op.execute("revoke all on function maintain_partitions(regclass, integer) from public")
    for table in PARTITIONED:
        op.execute(f"create table {table}_default partition of {table} default")
        op.execute(f"select maintain_partitions('{table}', null)")


def drop() -> None:
    """Drop the function. The partitions end with their tables."""
    op.execute("drop function maintain_partitions(regclass, integer)")
