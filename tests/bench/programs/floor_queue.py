"""The floor of a queue on PostgreSQL: bare psycopg, a table with one partial index, no dead letters."""

from collections.abc import Callable

import psycopg

Step = Callable[[], bool]
"""Claim (and finish) one job; False: none was left."""

TABLES = """
drop table if exists floor_queue;
create table floor_queue (
    id bigint generated always as identity primary key, payload jsonb not null,
    state text not null default 'ready', run_after timestamptz not null default now(),
    attempt int not null default 0, token bigint not null default 0, lease_until timestamptz);
create index floor_queue_ready on floor_queue (run_after, id) where state = 'ready';
"""
FILL = """
insert into floor_queue (payload)
select jsonb_build_object('number', number) from generate_series(1, %s) as number
"""
CLAIMED = "select count(*) filter (where attempt = 1), count(*) filter (where attempt > 1) from floor_queue"

_SELECT = """
select id from floor_queue where state = 'ready' and run_after <= now()
order by run_after, id limit 1 for update skip locked
"""
_SET = """
state = 'running', attempt = attempt + 1, token = token + 1,
lease_until = now() + interval '60 seconds'
"""
_ONE = f"update floor_queue set {_SET} where id = ({_SELECT}) returning id, token, payload"
_FINISH = """
update floor_queue set state = 'done', lease_until = null
where id = %s and token = %s and state = 'running' returning id
"""


def three_steps(url: str) -> Step:
    """SELECT … SKIP LOCKED, UPDATE, COMMIT."""
    connection = psycopg.connect(url)

    def step() -> bool:
        found = connection.execute(_SELECT).fetchone()
        if found:
            connection.execute(f"update floor_queue set {_SET} where id = %s", found)
        connection.commit()
        return found is not None

    return step


def one_statement(url: str) -> Step:
    """UPDATE … WHERE id = (SELECT … SKIP LOCKED) RETURNING, committing by itself."""
    connection = psycopg.connect(url, autocommit=True)
    return lambda: connection.execute(_ONE).fetchone() is not None


def claim_and_finish(url: str) -> Step:
    """The same, then the finish under the token: two commits a job."""
    connection = psycopg.connect(url, autocommit=True)

    def step() -> bool:
        found = connection.execute(_ONE).fetchone()
        if found is None:
            return False
        return connection.execute(_FINISH, found[:2]).fetchone() is not None

    return step
