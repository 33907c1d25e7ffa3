"""`r4p train attempts`: what the bot's agents did, as a file that plans which learn from pairs read."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, stop
from training import corpus
from training.datasets import pairs


def attempts(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write them.")],
) -> None:
    """Write agents' attempts with what is believed of each, of repositories that let the bot learn."""
    with corpus.open_corpus() as store:
        attempt_list = store.list_attempts()
    if not attempt_list:
        stop("train attempts", Exit.USAGE, "no agent worked where the bot may learn (training: on)")
    pairs.write_attempts(out, attempt_list)
    can = pairs.pair_guided_attempts(attempt_list)
    STDERR.print(
        f"{len(attempt_list)} attempts in {out}; {len(can.pairs)} of them make a guided pair"
    )
    for reason, count in can.left_out.most_common():
        STDERR.print(f"  {count} guided ones make none: {reason}")
