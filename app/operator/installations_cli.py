"""The command line of `r4p installations`. Its work is in `installations`, which loads only when a command runs."""

from typing import Annotated

import typer
from typer import Argument, Option

from app.operator.data_option import DataOption

app = typer.Typer(help="Pause, resume and limit installations of the App.", no_args_is_help=True)
_AllInstallations = Annotated[
    bool, Option("--all", help="All installations: the switch for emergencies.")
]


@app.command("list")
def list_installations(
    *,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    _data: DataOption = None,
) -> None:
    """List the installations with their pauses and limits."""
    from app.operator import installations as controls

    raise typer.Exit(controls.show(as_json=as_json))


@app.command()
def pause(
    installation: Annotated[int | None, Argument(help="Id of the installation.")] = None,
    *,
    every: _AllInstallations = False,
    _data: DataOption = None,
) -> None:
    """Start no further work for an installation. Webhooks are still acknowledged and recorded."""
    from app.operator import installations as controls

    raise typer.Exit(controls.set_pause(installation, every=every, paused=True))


@app.command()
def resume(
    installation: Annotated[int | None, Argument(help="Id of the installation.")] = None,
    *,
    every: _AllInstallations = False,
    _data: DataOption = None,
) -> None:
    """End a pause. The work that waited goes on."""
    from app.operator import installations as controls

    raise typer.Exit(controls.set_pause(installation, every=every, paused=False))


@app.command()
def limit(
    installation: Annotated[int, Argument(help="Id of the installation.")],
    limits: Annotated[
        list[str] | None, Argument(metavar="NAME=NUMBER...", help="None: remove all.")
    ] = None,
    _data: DataOption = None,
) -> None:
    """Replace the operator's ceilings for one installation, as in `max_votes=8`."""
    from app.operator import installations as controls

    raise typer.Exit(controls.set_limits(installation, limits or []))
