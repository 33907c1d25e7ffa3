"""`python -m tests.demo`: the command behind `make demo`."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.extras import require_extras


def main(
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the result as JSON.")
    ] = None,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running and print the URLs.")
    ] = False,
) -> None:
    """Run the whole bot against a stand-in for GitHub, on two real issues with four pull requests each."""
    require_extras("tests.demo", "demo", "embedded")
    from tests.demo import scenario

    raise typer.Exit(scenario.play(json_file=json, keep=keep))


if __name__ == "__main__":
    typer.run(main)
