"""Describe the commands of the shell, the commands of comments and the exit codes."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer

from app import cli
from app.operator import config_command, models_cli
from app.policy.command_registry import PREFIX, REGISTRY, describe_access
from deploy.reference.markdown import build_table, join_lines
from model.commands.exit_codes import Exit
from training.commands import cli as train_cli
from training.commands import datasets, export, gym, labels, run
from training.commands.evaluate import evaluate
from training.commands.export import attempts
from training.commands.outcomes import outcomes

LOADED_LATER: Final[Mapping[str, Any]] = {
    "r4p config": config_command.main,
    "r4p gym": gym.app,
    "r4p labels": labels.app,
    "r4p models": models_cli.main,
    "r4p models outcomes": outcomes,
    "r4p outcomes export": typer.main.get_command(labels.app).commands["export"],
    "r4p train": train_cli.main,
    "r4p train attempts": attempts,
    "r4p train dataset": datasets.app,
    "r4p train evaluate": evaluate,
    "r4p train export-verl": export.app,
    "r4p train run": run.app,
}
"""Commands that pass their arguments on to a module which they import only when somebody calls them."""

UNCOMPLETED: Final = tuple(
    path for path in LOADED_LATER if not any(path.startswith(f"{other} ") for other in LOADED_LATER)
)
"""The first of these commands on each path. The shell completes no option behind them."""

TWICE: Final = {"r4p labels export", "r4p train labels", "r4p train outcomes"}
"""Second names of commands that the page lists under their first name."""

EXIT_CODES: Final[Mapping[int, str]] = {
    Exit.OK: "The command did its work. `r4p verify`: at least one candidate is correct.",
    1: "The work began and failed, or a part of the installation refused it. The message says why.",
    Exit.USAGE: "An option, a setting or a file can't be used. The message names it and the fix.",
    Exit.NONE_CORRECT: "`r4p verify`: every candidate is incorrect. `r4p propose`: no patch. "
    "`r4p train dataset build`: nothing to learn from. `r4p train evaluate`: the gate failed.",
    Exit.UNSURE: "`r4p verify`: no candidate is correct, and at least one is unsure or not judged. "
    "`r4p train evaluate`: too few issues to decide.",
    Exit.BACKEND_DOWN: "The engine or the database is down, or another process holds the folder. "
    "`r4p doctor`: the bot can't give verdicts. Try again later.",
    Exit.NOTHING_JUDGED: "`r4p verify --repo`: fewer than two pull requests can be compared, or the event names no single issue.",
}


def describe_shell() -> Iterator[str]:
    for path, command in list_commands("r4p", typer.main.get_command(cli.main)):
        context = typer.Context(command, info_name=path)
        yield f"## `{path}`\n"
        yield f"{join_lines(command.help)}\n"
        yield f"```console\n{path} {_usage(command, context)}\n```\n"
        records = (option.get_help_record(context) for option in command.params)
        rows = [(f"`{record[0]}`", record[1].replace("  [", " [")) for record in records if record]
        if rows:
            yield build_table(("option", "meaning"), rows)


def _usage(command: Any, context: typer.Context) -> str:
    return " ".join(command.collect_usage_pieces(context)).translate(str.maketrans("", "", "{}"))


def list_commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command below `command` that does something, in alphabetical order, with its full path."""
    later = LOADED_LATER.get(path)
    if later is not None:
        command = _as_command(later)
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in sorted(command.commands):
        if f"{path} {name}" not in TWICE:
            yield from list_commands(f"{path} {name}", command.commands[name])


def _as_command(source: Any) -> Any:
    """A click command from a typer application, a function or a click command."""
    if isinstance(source, typer.Typer):
        return typer.main.get_command(source)
    if not inspect.isfunction(source):
        return source
    application = typer.Typer(add_completion=False)
    application.command()(source)
    return typer.main.get_command(application)


def describe_comments() -> str:
    rows = (
        (
            f"`{PREFIX} {entry.usage}`",
            entry.description,
            describe_access(entry.needs),
            f"`{entry.example}`",
        )
        for entry in REGISTRY.values()
    )
    return build_table(("command", "what the bot does", "who may use it", "example"), rows)


def describe_exit_codes() -> str:
    """Every exit code; a code that `EXIT_CODES` does not explain is a KeyError."""
    codes = sorted({*EXIT_CODES, *Exit})
    return build_table(
        ("code", "meaning"), ((f"`{int(code)}`", EXIT_CODES[code]) for code in codes)
    )
