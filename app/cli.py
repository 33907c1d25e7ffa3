"""The `r4p` command. Each sub-command loads its modules only when somebody calls it."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from app.completion import PassedWords
from app.operator import installations_cli
from app.operator.backup.cli import backup, restore
from app.operator.data_option import DataOption
from app.operator.verification.command import verify
from app.values.ports import LAST_PORT
from model.commands.evaluate import evaluate
from model.commands.execution import environments
from model.commands.execution.test import test
from model.commands.extras import PASSED_ON, CommandGroup, require_extras
from model.commands.index import index
from model.commands.propose import propose
from model.commands.report import report

_JUDGE, _RUN, _OPERATE, _LEARN = "Judge", "Run", "Operate", "Learn"
"""Headings of the commands in `r4p --help`."""

main = typer.Typer(
    name="r4p", cls=CommandGroup, no_args_is_help=True, pretty_exceptions_enable=False
)


def _print_version(*, is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"r4p {version('r4p-bot')}")
        raise typer.Exit


@main.callback()
def _root(
    *,
    _version: Annotated[
        bool,
        Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Judge rival pull requests of one issue against each other."""


# These modules import no torch and no numpy until their command runs.
for command in (verify, test, index, evaluate, propose, report):
    main.command(rich_help_panel=_JUDGE)(command)

main.add_typer(environments.app, name="environments", rich_help_panel=_JUDGE)


@main.command(rich_help_panel=_RUN)
def up(
    data: Annotated[Path, Option(metavar="DIR", help="Folder that holds all data of the bot.")],
    port: Annotated[
        int, Option(min=0, max=LAST_PORT, help="Port of the web process; 0 picks a free one.")
    ] = 8000,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    engine_url: Annotated[str | None, Option(help="OpenAI-compatible server, e.g. vLLM.")] = None,
    model: Annotated[str | None, Option(help="Name of the model it serves.")] = None,
) -> None:
    """Run the whole bot with embedded PostgreSQL and Valkey, for a small installation."""
    require_extras("up", "embedded")
    from app.operator import up as supervisor
    from app.process_guard import hide_memory
    from app.web.listen_address import Listen

    hide_memory()
    listen = Listen(host, port)
    raise typer.Exit(supervisor.run(data, listen, engine_url=engine_url, model=model))


@main.command(rich_help_panel=_RUN)
def setup(
    data: Annotated[Path, Option(metavar="DIR", help="Folder of `r4p up`, which keeps the App.")],
) -> None:
    """Register the GitHub App, choose a model and store both, in a terminal. `r4p up` offers the same in a browser."""
    from app.operator.setup import terminal

    raise typer.Exit(terminal.run(data))


@main.command(rich_help_panel=_RUN)
def serve(
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, Option(min=0, max=LAST_PORT, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
) -> None:
    """Run the web process, which receives webhooks and stores jobs."""
    from app.operator import processes

    processes.exec_web(host, port)


@main.command(rich_help_panel=_RUN)
def worker(
    queues: Annotated[
        str, Option(help="Comma-separated queues. Each queue needs only its own secrets.")
    ] = "events,github",
    concurrency: Annotated[int | None, Option(min=1, help="Child processes.")] = None,
) -> None:
    """Run a worker process, which claims jobs from PostgreSQL and carries them out."""
    from app.operator import processes

    processes.exec_worker(queues, concurrency)


@main.command(rich_help_panel=_RUN)
def beat() -> None:
    """Run the scheduler, which tells workers about due jobs and frees the jobs of dead workers. Run exactly one."""
    from app.operator import processes

    processes.exec_beat()


for command in (backup, restore):
    main.command(rich_help_panel=_OPERATE)(command)


@main.command(rich_help_panel=_OPERATE)
def migrate(
    *,
    roles: Annotated[
        bool, Option("--roles", help="Also create a database role for each process.")
    ] = False,
    _data: DataOption = None,
) -> None:
    """Migrate the database of R4P_DATABASE_URL to the newest revision, and refresh the privileges of its roles."""
    from app.operator import database_setup

    raise typer.Exit(database_setup.migrate(with_roles=roles))


@main.command(rich_help_panel=_OPERATE)
def doctor(
    data: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folder of `r4p up`, with its settings and its database."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print an r4p.doctor/1 document.")] = False,
) -> None:
    """Check whether the bot can work with these settings, and name each fix. Exit code 5: it cannot."""
    from app.operator import data_option
    from app.operator.doctor import report as examination

    if data is not None:
        data_option.use_everything(data)
    raise typer.Exit(examination.run(data, as_json=json))


@main.command(rich_help_panel=_OPERATE)
def jobs(
    requeue: Annotated[
        str | None, Option(metavar="ID|all", help="Try a dead job, or all of them, again.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    _data: DataOption = None,
) -> None:
    """List the jobs that gave up and their errors, newest first."""
    from app.operator import dead_jobs

    raise typer.Exit(dead_jobs.requeue(requeue) if requeue else dead_jobs.show(as_json=json))


@main.command(rich_help_panel=_OPERATE)
def trace(
    subject: Annotated[str, typer.Argument(metavar="GUID|#N", help="A delivery, or an issue.")],
    repository: Annotated[
        str | None, Option(metavar="OWNER/NAME", help="The repository of #N, if several have one.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    _data: DataOption = None,
) -> None:
    """Show the jobs, evaluations, comments and check runs that a webhook delivery or an issue led to."""
    from app.operator import trace_command

    raise typer.Exit(trace_command.show(subject, repository, as_json=json))


@main.command(rich_help_panel=_LEARN)
def calibrate(
    seed: Annotated[
        Path | None,
        Option(
            "--from", metavar="FILE", help="Start from a calibrator that training.calibrate wrote."
        ),
    ] = None,
    _data: DataOption = None,
) -> None:
    """Fit a calibrator for each judge on recorded outcomes, and use it unless the present one is better."""
    if seed:
        from app.registry import calibrator_import as seeds

        raise typer.Exit(seeds.import_calibrator(seed))
    from app.operator import processes

    processes.exec_fit()


outcomes = typer.Typer(help="Outcomes of judged patches.", no_args_is_help=True)
main.add_typer(outcomes, name="outcomes", rich_help_panel=_LEARN)


@outcomes.command()
def rederive(
    _data: DataOption = None,
) -> None:
    """Derive the outcomes of all pull requests again from their stored raw events, after a change of the rule."""
    from app.db.session import open_database
    from app.db.store.outcomes.outcomes import rederive_all

    with open_database() as database:
        pulls = rederive_all(database)
    typer.echo(f"derived the outcomes of {pulls} pull requests again")


@outcomes.command(context_settings=PASSED_ON)
def export(context: typer.Context) -> None:
    """Write judged patches and their labels as groups that `r4p evaluate` reads."""
    from app.operator import processes

    processes.exec_training(["labels", "export", *context.args], command_name="r4p outcomes")


main.add_typer(installations_cli.app, name="installations", rich_help_panel=_OPERATE)


@main.command(context_settings=PASSED_ON, rich_help_panel=_OPERATE)
def config(words: PassedWords = None) -> None:
    """Check and show `.github/r4p.yml`. `r4p config --help` lists the sub-commands."""
    from app.operator.config_command import main as commands

    commands(words or (), prog_name="r4p config")


@main.command(context_settings=PASSED_ON, rich_help_panel=_LEARN)
def labels(words: PassedWords = None) -> None:
    """Show the labels of patches and their reasons. `r4p labels --help` lists the sub-commands."""
    from app.operator import processes

    processes.exec_training(["labels", *(words or ())], command_name="r4p labels")


@main.command(context_settings=PASSED_ON, rich_help_panel=_LEARN)
def gym(words: PassedWords = None) -> None:
    """Build gyms: issues with tests that decide about patches. `r4p gym --help` lists the sub-commands."""
    from app.operator import processes

    processes.exec_training(["gym", *(words or ())], command_name="r4p gym")


@main.command(context_settings=PASSED_ON, rich_help_panel=_LEARN)
def train(words: PassedWords = None) -> None:
    """Build datasets and train models on labelled patches. `r4p train --help` lists the sub-commands."""
    from app.operator import processes

    processes.exec_training(words or ())


@main.command(context_settings=PASSED_ON, rich_help_panel=_LEARN)
def models(words: PassedWords = None) -> None:
    """Manage trained models. `r4p models --help` lists the sub-commands."""
    from app.operator.models_cli import main as commands

    commands(words or (), prog_name="r4p models")


if __name__ == "__main__":
    main()
