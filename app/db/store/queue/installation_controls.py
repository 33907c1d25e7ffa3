"""Store what the operator decided about installations: pauses and limits of their own. Count what they used today."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, func, literal, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import installation_controls, installations
from app.policy.ceilings import DailyUsage
from app.values.identifiers import InstallationId, RepositoryId

ALL: Final = InstallationId(0)
"""Stands for all installations: its pause stops the work for every one."""


class InstallationPaused(Exception):
    """The operator paused the installation, or all of them, so a job of it may write nothing on GitHub."""


@dataclass(frozen=True, slots=True)
class InstallationState:
    """An installation, since when it is paused (None: it is not), and its own limits by name."""

    id: InstallationId
    account: str
    paused_at: datetime | None
    limits: Mapping[str, int]


def list_installations(connection: Connection) -> tuple[InstallationState, ...]:
    """List all installations by id, with their pauses and limits."""
    control = installation_controls.c
    rows = connection.execute(
        select(installations.c.id, installations.c.account, control.paused_at, control.limits)
        .outerjoin(installation_controls, control.installation_id == installations.c.id)
        .order_by(installations.c.id)
    )
    return tuple(InstallationState(*row[:3], row.limits or {}) for row in rows)


def read_limits(connection: Connection, installation: InstallationId) -> dict[str, int]:
    """Return the limits of its own that an installation has, by name; empty if it has none."""
    limits = connection.scalar(
        select(installation_controls.c.limits).where(
            installation_controls.c.installation_id == installation
        )
    )
    return dict(limits or {})


def find_pause(connection: Connection, installation: InstallationId = ALL) -> datetime | None:
    """Return since when an installation is paused, or all of them; None: it is not."""
    paused_at: datetime | None = connection.scalar(
        select(installation_controls.c.paused_at).where(
            installation_controls.c.installation_id == installation
        )
    )
    return paused_at


def check_pause(connection: Connection, installation: InstallationId) -> None:
    """Raise InstallationPaused while the operator pauses this installation or all of them."""
    control = installation_controls.c
    paused = connection.scalar(
        select(func.min(control.installation_id)).where(
            control.installation_id.in_((installation, ALL)), control.paused_at.is_not(None)
        )
    )
    if paused is not None:
        raise InstallationPaused(
            f"installation {installation} is paused: r4p installations resume {paused or '--all'}"
        )


def list_paused(connection: Connection) -> dict[InstallationId, datetime]:
    """Return since when installations are paused, by id; `ALL` is first when all are paused."""
    control = installation_controls.c
    paused = select(control.installation_id, control.paused_at).where(
        control.paused_at.is_not(None)
    )
    rows = connection.execute(paused.order_by(control.installation_id))
    return {InstallationId(row.installation_id): row.paused_at for row in rows}


def pause(connection: Connection, installation: InstallationId) -> None:
    """Pause an installation, or all of them, until it is resumed. A second pause changes nothing."""
    since = func.coalesce(installation_controls.c.paused_at, func.now())
    connection.execute(
        insert(installation_controls)
        .values(installation_id=installation, paused_at=func.now())
        .on_conflict_do_update(index_elements=["installation_id"], set_={"paused_at": since})
    )


def resume(connection: Connection, installation: InstallationId) -> None:
    """End the pause of an installation, or the pause of all. Pauses of single installations stay then."""
    connection.execute(
        installation_controls.update()
        .where(installation_controls.c.installation_id == installation)
        .values(paused_at=None)
    )


def set_limits(
    connection: Connection, installation: InstallationId, limits: Mapping[str, int]
) -> None:
    """Replace all limits of its own that an installation has, by name."""
    values = {"limits": dict(limits)}
    connection.execute(
        insert(installation_controls)
        .values(installation_id=installation, **values)
        .on_conflict_do_update(index_elements=["installation_id"], set_=values)
    )


def keep_for_account(connection: Connection, installation: InstallationId) -> None:
    """Keep the pause and the limits of a removed installation for the next one of its account."""
    account = select(installations.c.account_id).where(installations.c.id == installation)
    connection.execute(
        installation_controls.update()
        .where(installation_controls.c.installation_id == installation)
        .values(account_id=account.scalar_subquery())
    )


def inherit(connection: Connection, installation: InstallationId, account_id: int) -> None:
    """Give a new installation the pause and the limits of the last one that its account removed."""
    control = installation_controls.c
    earlier = (
        select(literal(installation), control.paused_at, control.limits)
        .where(control.account_id == account_id, control.installation_id != installation)
        .order_by(control.installation_id.desc())
        .limit(1)
    )
    columns = ["installation_id", "paused_at", "limits"]
    connection.execute(
        insert(installation_controls).from_select(columns, earlier).on_conflict_do_nothing()
    )


# The tokens of an evaluation are those of its verdict document; cached ones cost almost nothing. A moved verdict keeps
# the document of the evaluation that drew the votes, and costs nothing again.
_USED = """
own as (
    select installations.id, account_id from repositories
    join installations on installations.id = installation_id where repositories.id = %(repository)s),
used as (
    select groups.repository_id, 1 as evaluations, (moved_from is null)::int * coalesce(
        (verdict #>> '{tokens,prompt}')::bigint - (verdict #>> '{tokens,cached}')::bigint
        + (verdict #>> '{tokens,completion}')::bigint, 0) as tokens
    from evaluations join groups on groups.id = evaluations.group_id
    where evaluations.created_at >= date_trunc('day', now(), 'UTC')
    union all
    select repository_id, 0, tokens from agent_runs
    where created_at >= date_trunc('day', now(), 'UTC')
    union all
    select groups.repository_id, 0, reproduction_tests.tokens from reproduction_tests
    join evaluations on evaluations.id = evaluation_id join groups on groups.id = evaluations.group_id
    where reproduction_tests.created_at >= date_trunc('day', now(), 'UTC'))
"""
_USAGE = f"""
with {_USED},
counted as (
    select used.* from used join repositories on repositories.id = used.repository_id
    where installation_id = (select id from own)
    union all
    select repository_id, evaluations, tokens from purged_usage
    where day = (now() at time zone 'UTC')::date
        and (repository_id = %(repository)s or account_id = (select account_id from own)))
select
    coalesce(sum(evaluations) filter (where repository_id = %(repository)s), 0) as repository_evaluations,
    coalesce(sum(evaluations), 0) as installation_evaluations,
    coalesce(sum(tokens) filter (where repository_id = %(repository)s), 0) as repository_tokens,
    coalesce(sum(tokens), 0) as installation_tokens
from counted
"""
_KEEP_USAGE = f"""
with {_USED},
old as (delete from purged_usage where day < (now() at time zone 'UTC')::date)
insert into purged_usage (repository_id, account_id, day, evaluations, tokens)
select %(repository)s, (select account_id from own), (now() at time zone 'UTC')::date,
    sum(evaluations), sum(tokens)
from used where repository_id = %(repository)s having count(*) > 0
"""


def read_daily_usage(connection: Connection, repository: RepositoryId) -> DailyUsage:
    """Count today's evaluations, and the tokens of their votes, of agents and of written tests, of a repository and its installation.

    Running agents count with all the tokens that they have reserved, and repositories that were purged today with what
    they had used.
    """
    row = connection.exec_driver_sql(_USAGE, {"repository": repository}).one()
    return DailyUsage(*(int(value) for value in row))


def keep_usage(connection: Connection, repository: RepositoryId) -> None:
    """Keep what a repository used today, before its data is purged, so that a new start gives it no new budget."""
    connection.exec_driver_sql(_KEEP_USAGE, {"repository": repository})
