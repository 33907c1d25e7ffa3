"""Check `.github/r4p.yml` and show what it means: `r4p config validate`, also as a pre-commit hook, and `r4p config show`."""

from pathlib import Path
from typing import Annotated

import typer

from app.policy.command_registry import write_command_rows
from app.settings import repo_config
from app.settings.config_layers import combine, list_settings
from app.settings.repo_config import FILE, ConfigError
from model.commands.exit_codes import Exit

_Files = Annotated[list[Path] | None, typer.Argument(metavar="FILE...")]

main = typer.Typer(
    help="Check and show `.github/r4p.yml`.", no_args_is_help=True, add_completion=False
)


@main.command()
def validate(files: _Files = None) -> None:
    """Check settings files as the bot does; without any, `.github/r4p.yml` here. Exit code 2: a file has problems."""
    problems = [line for path in files or [Path(FILE)] for line in _list_problems(path)]
    if problems:
        typer.echo("\n".join(problems), err=True)
        raise typer.Exit(Exit.USAGE)
    typer.echo("no problems found")


@main.command()
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help=f"Settings of a repository. Without it, {FILE} here, if there is one.",
        ),
    ] = None,
    default: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default of the organisation.")
    ] = None,
) -> None:
    """Show every setting in effect, and whether the file, the organisation's default or the bot gives it."""
    usual = Path(FILE)
    own_path = file or (usual if usual.exists() else None)
    paths = [path for path in (own_path, default) if path]
    problems = [line for path in paths for line in _list_problems(path)]
    if problems:
        typer.echo("\n".join(problems), err=True)
        raise typer.Exit(Exit.USAGE)
    own, shared = (path.read_text() if path else None for path in (own_path, default))
    settings = list_settings(own, shared, combine(own, shared))
    width = max(len(setting.key) for setting in settings)
    for setting in settings:
        typer.echo(f"{setting.key:<{width}}  {setting.value}  ({setting.origin})")


@main.command("commands")
def list_commands() -> None:
    """List the commands that people write in comments on GitHub."""
    rows = write_command_rows()
    width = max(len(usage) for usage, *_ in rows)
    for usage, description, access, _ in rows:
        typer.echo(f"{usage:<{width}}  {description} ({access})")


def _list_problems(path: Path) -> list[str]:
    """Return the problems of a settings file, each with its path and line."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        return [
            f"{path}: can't be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        ]
    parsed = repo_config.parse(text)
    if not isinstance(parsed, ConfigError):
        return []
    return [
        f"{path}:{problem.line}: {problem.message}"
        if problem.line
        else f"{path}: {problem.message}"
        for problem in parsed.problems
    ]
