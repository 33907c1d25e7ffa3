"""What `r4p train` offers; heavy modules are loaded by the command that needs them."""

import typer

main = typer.Typer(
    name="r4p train",
    help="Learn from labelled patches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@main.callback()
def _commands() -> None:
    """Learn from labelled patches."""
