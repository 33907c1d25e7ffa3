"""`r4p installations`: lists installations, pauses and resumes their work, and sets limits of their own."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from app.db.session import open_database, transaction
from app.db.store.queue import installation_controls
from app.db.store.queue.installation_controls import ALL, InstallationState
from app.settings import CeilingSettings
from app.values.identifiers import InstallationId
from model.commands.exit_codes import print_json

LIMITS: Final = (*CeilingSettings.model_fields, "max_running", "weight")
"""Names of the limits that an installation may have of its own."""
_MISTAKE: Final = 2


def show(*, as_json: bool) -> int:
    """Print all installations with their pauses and limits, as a table or as JSON. Returns exit code 0."""
    with open_database() as database, transaction(database) as connection:
        states = installation_controls.list_installations(connection)
        all_since = installation_controls.find_pause(connection)
    if as_json:
        since = None if all_since is None else all_since.isoformat()
        documents = [_build_document(state) for state in states]
        print_json({"all_paused_at": since, "installations": documents})
        return 0
    if all_since is not None:
        sys.stdout.write(f"all installations are paused since {all_since:%Y-%m-%d %H:%M %Z}\n")
    Console().print(_build_table(states) if states else "No installation is known.")
    return 0


def set_pause(which: int | None, *, every: bool, paused: bool) -> int:
    """Pause or resume the installation `which`, or all with `every`. Returns the exit code: 2 for a mistake."""
    if (which is None) != every:
        return _refuse("give the id of one installation, or --all")
    with open_database() as database, transaction(database) as connection:
        target = ALL if which is None else InstallationId(which)
        if not every and not _is_known(connection, target):
            return _refuse(f"{which} is not an installation: see r4p installations list")
        (installation_controls.pause if paused else installation_controls.resume)(
            connection, target
        )
    whom = "all installations" if every else f"installation {which}"
    state = "paused: no further job starts" if paused else "resumed"
    sys.stdout.write(f"{whom}: {state}\n")
    return 0


def set_limits(which: int, assignments: list[str]) -> int:
    """Replace the limits of the installation `which` by `assignments`, each `name=number`; none removes them all.

    Returns the exit code: 2 for an unknown installation or a wrong assignment.
    """
    limits: dict[str, int] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        if name not in LIMITS:
            return _refuse(f"{name} is no limit: the limits are {', '.join(LIMITS)}")
        if not value.isdecimal() or int(value) < 1 or int(value) >= 2**31:
            return _refuse(f"{assignment}: give a whole number from 1, as in {name}=10")
        limits[name] = int(value)
    with open_database() as database, transaction(database) as connection:
        if not _is_known(connection, InstallationId(which)):
            return _refuse(f"{which} is not an installation: see r4p installations list")
        installation_controls.set_limits(connection, InstallationId(which), limits)
    shown = _format_limits(limits) or "none of its own"
    sys.stdout.write(f"installation {which}: limits: {shown}\n")
    return 0


def _is_known(connection: Connection, installation: InstallationId) -> bool:
    return any(
        state.id == installation for state in installation_controls.list_installations(connection)
    )


def _refuse(why: str) -> int:
    sys.stderr.write(f"r4p: {why}\n")
    return _MISTAKE


def _build_document(state: InstallationState) -> dict[str, object]:
    paused_at = None if state.paused_at is None else state.paused_at.isoformat()
    return asdict(state) | {"paused_at": paused_at}


def _build_table(states: tuple[InstallationState, ...]) -> Table:
    table = Table(title="Installations", title_justify="left", show_edge=False)
    for heading in ("Id", "Account", "Paused", "Limits"):
        table.add_column(heading, overflow="fold")
    for state in states:
        paused = "" if state.paused_at is None else f"since {state.paused_at:%Y-%m-%d %H:%M %Z}"
        account = state.account.replace("[", "\\[")
        table.add_row(str(state.id), account, paused, _format_limits(state.limits))
    return table


def _format_limits(limits: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(limits.items()))
