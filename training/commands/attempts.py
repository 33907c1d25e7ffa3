"""`r4p train attempts`: what the bot's agents did, as a file that plans which learn from pairs read."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, stop
from training import corpus
from training.datasets import attempt_file, guided_pairs


def attempts(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write them.")],
) -> None:
    """Write agents' attempts with what is believed of each, of repositories that let the bot learn."""
    with corpus.opened() as opened:
        found = opened.attempts()
    if not found:
        stop("train attempts", Exit.USAGE, "no agent worked where the bot may learn (training: on)")
    attempt_file.write(out, found)
    can = guided_pairs.guided(found)
    STDERR.print(f"{len(found)} attempts in {out}; {len(can.pairs)} of them make a guided pair")
    for reason, count in can.left_out.most_common():
        STDERR.print(f"  {count} guided ones make none: {reason}")
