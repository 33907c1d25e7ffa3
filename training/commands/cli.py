"""What `r4p train` offers; heavy modules are loaded by the command that needs them."""

from typing import Annotated

import typer

from model.commands.extras import TrainingCommandGroup
from training.commands.report import report

main = typer.Typer(
    name="r4p train",
    cls=TrainingCommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@main.callback()
def _commands(
    context: typer.Context,
    called: Annotated[str | None, typer.Option(metavar="COMMAND", hidden=True)] = None,
) -> None:
    """Learn from labelled patches."""
    context.obj = called  # the command that another home of a sub-command shows in its help


_PASSED_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


@main.command(context_settings=_PASSED_ON)
def dataset(context: typer.Context) -> None:
    """Build datasets from outcomes and labelled groups, and show one."""
    from training.commands.datasets import app

    app(context.args, prog_name="r4p train dataset")


main.command()(report)


@main.command(context_settings=_PASSED_ON)
def labels(context: typer.Context) -> None:
    """Why patches have their labels, how many there are of each rule, and what they are worth."""
    from training.commands.labels import app

    app(context.args, prog_name=context.obj or "r4p train labels")


@main.command(context_settings=_PASSED_ON)
def outcomes(context: typer.Context) -> None:
    """What a trained model said, held against what became of the patches: `r4p models outcomes`."""
    from training.commands.outcomes import outcomes as tell

    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command()(tell)
    command(context.args, prog_name=context.obj or "r4p train outcomes")


@main.command(context_settings=_PASSED_ON)
def attempts(context: typer.Context) -> None:
    """Write what agents did as a file, for plans that learn from pairs of attempts."""
    from training.commands.attempts import attempts as write

    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command()(write)
    command(context.args, prog_name="r4p train attempts")


@main.command(name="export-verl", context_settings=_PASSED_ON)
def export_verl(context: typer.Context) -> None:
    """Write a plan and a dataset as a folder that verl trains from, on one node or several."""
    from training.commands.export_verl import app

    app(context.args, prog_name="r4p train export-verl")


@main.command(context_settings=_PASSED_ON)
def run(context: typer.Context) -> None:
    """Train a model by a plan on a dataset."""
    from training.commands.run import app

    app(context.args, prog_name="r4p train run")


@main.command(context_settings=_PASSED_ON)
def evaluate(context: typer.Context) -> None:
    """Measure a trained model beside the champion, and decide whether it may judge."""
    from training.commands.evaluate import evaluate as decide

    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command()(decide)
    command(context.args, prog_name="r4p train evaluate")


@main.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the trainings of the bot: the progress of the running one, and the end of the others."""
    from app.operator import training_status

    raise typer.Exit(training_status.show(as_json=as_json))


@main.command()
def start() -> None:
    """Start a training now, even with few new issues."""
    from app.operator import training_status

    raise typer.Exit(training_status.start())
