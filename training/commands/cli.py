"""The sub-commands of `r4p train`. Each loads its heavy modules only when it is called."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from app.operator.data_option import DataOption
from model.commands.exit_codes import Exit, exit_on_error, format_count, stop, warn
from model.commands.extras import PASSED_ON, TrainingCommandGroup, require_extras
from model.commands.options import AsJson
from model.commands.report import write_page
from training.runs.run_folder import BadRun

_REPORT = "train report"
_MERGE = "train merge"

main = typer.Typer(
    name="r4p train",
    cls=TrainingCommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@main.callback()
def _list_commands(
    context: typer.Context,
    called: Annotated[str | None, Option(metavar="COMMAND", hidden=True)] = None,
) -> None:
    """Learn from labelled patches."""
    context.obj = called  # the command name to show in the help of a sub-command


def _run_function(function: Callable[..., None], context: typer.Context, name: str) -> None:
    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command()(function)
    command(context.args, prog_name=name)


@main.command(context_settings=PASSED_ON)
def dataset(context: typer.Context) -> None:
    """Build a training dataset from outcomes and labelled groups, or show one."""
    from training.commands.datasets import app

    app(context.args, prog_name="r4p train dataset")


@main.command()
def report(
    run: Annotated[
        Path,
        Argument(
            metavar="RUN", help="The --run folder of r4p train run; the page is written there."
        ),
    ],
) -> None:
    """Write RUN/report.html about a training run, also an unfinished one, and one PNG per figure.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_REPORT, "report")
    from training.report.overview import build_page
    from training.report.run_reader import read_run

    with exit_on_error(_REPORT, BadRun):
        training_run = read_run(run)
    for note in training_run.notes:
        warn(_REPORT, note)
    steps = format_count(len(training_run.steps), "step")
    write_page(_REPORT, build_page(training_run), run, steps)


@main.command(context_settings=PASSED_ON)
def labels(context: typer.Context) -> None:
    """Explain the labels of judged patches, count them by rule, and estimate their precision."""
    from training.commands.labels import app

    app(context.args, prog_name=context.obj or "r4p train labels")


@main.command(context_settings=PASSED_ON)
def outcomes(context: typer.Context) -> None:
    """Compare a trained model's verdicts with what happened to the patches: `r4p models outcomes`."""
    from training.commands.outcomes import outcomes as tell

    _run_function(tell, context, context.obj or "r4p train outcomes")


@main.command(context_settings=PASSED_ON)
def attempts(context: typer.Context) -> None:
    """Write agents' attempts and labels to a file, for training plans that learn from pairs of attempts."""
    from training.commands.export import attempts as write

    _run_function(write, context, "r4p train attempts")


@main.command(name="export-verl", context_settings=PASSED_ON)
def export_verl(context: typer.Context) -> None:
    """Write a training plan and a dataset as a folder that verl trains from, on one node or several."""
    from training.commands.export import app

    app(context.args, prog_name="r4p train export-verl")


@main.command(context_settings=PASSED_ON, hidden=True)
def gym(context: typer.Context) -> None:
    """Build gyms and run their tests: `r4p gym`."""
    from training.commands.gym import app

    app(context.args, prog_name=context.obj or "r4p train gym")


@main.command(context_settings=PASSED_ON)
def run(context: typer.Context) -> None:
    """Train a model by a plan on a dataset, and write the run's folder."""
    from training.commands.run import app

    app(context.args, prog_name="r4p train run")


@main.command()
def merge(
    model: Annotated[
        Path, Argument(metavar="MODEL", help="RUN/adapter of a run of the plan reward-model.")
    ],
    out: Annotated[Path, Option(metavar="DIR", help="Folder to create.")],
) -> None:
    """Write a reward model and its base as one model, which vLLM can serve for the verifier reward-model.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_MERGE, "train")
    from model.engines.local_reward_model import load_merged

    if out.exists():
        stop(_MERGE, Exit.USAGE, f"{out} exists already; name a folder to create")
    with exit_on_error(_MERGE, OSError):
        for part in load_merged(model):
            part.save_pretrained(out)
    warn(_MERGE, f"written; serve it with `vllm serve {out} --enable-tokenizer-info-endpoint`")


@main.command(context_settings=PASSED_ON)
def evaluate(context: typer.Context) -> None:
    """Measure a trained model and the champion on a dataset, and decide whether the model may judge."""
    from training.commands.evaluate import evaluate as decide

    _run_function(decide, context, "r4p train evaluate")


@main.command()
def status(
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Print the bot's trainings: the progress of the running one, and how the others ended."""
    from app.operator import training_status

    raise typer.Exit(training_status.show(as_json=as_json))


@main.command()
def start(
    _data: DataOption = None,
) -> None:
    """Ask the train worker to start a training by R4P_TRAIN_PLAN, even with few new issues. Does not wait for it."""
    from app.operator import training_status

    raise typer.Exit(training_status.start())
