"""Commands that write files for trainers: `r4p train attempts` and `r4p train export-verl`."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from app.operator.data_option import DataOption
from model.commands.exit_codes import STDERR, Exit, exit_on_error, print_json, stop
from training import corpus
from training.datasets import attempt_pairs, pairs
from training.plans import plan_file


def attempts(
    out: Annotated[Path, Option(metavar="FILE", help="File to create.")],
    _data: DataOption = None,
) -> None:
    """Write agents' attempts and their labels, from repositories with `training: on`, to a new file."""
    with corpus.open_corpus() as store:
        attempt_list = store.list_attempts()
    if not attempt_list:
        stop("train attempts", Exit.USAGE, "no agent worked where the bot may learn (training: on)")
    pairs.write_attempts(out, attempt_list)
    paired = attempt_pairs.pair_attempts(attempt_list)
    STDERR.print(f"{len(attempt_list)} attempts in {out}; they make {len(paired.pairs)} pairs")
    for reason, count in paired.left_out.most_common():
        STDERR.print(f"  {count} guided attempts make none: {reason}")


app = typer.Typer(name="export-verl", add_completion=False, pretty_exceptions_enable=False)


@app.command()
def export(
    plan: Annotated[str, Argument(metavar="PLAN", help="Name of a shipped plan, or a TOML file.")],
    dataset: Annotated[Path, Option(metavar="DIR", help="Folder of the dataset.")],
    out: Annotated[Path, Option(metavar="DIR", help="Folder to create; every node must see it.")],
    base: Annotated[
        str | None,
        Option(metavar="MODEL", help="Folder or name of the model, instead of the plan's."),
    ] = None,
    nodes: Annotated[
        int | None, Option(min=1, help="Number of nodes, instead of the plan's.")
    ] = None,
) -> None:
    """Write a training plan and a dataset as a folder that verl trains from, on one node or several."""
    from training.trl import model_loading  # needs torch, which the other command does not
    from training.verl import export_folder, unsupported_settings

    with exit_on_error("train export-verl", ValueError):
        shipped = plan_file.load_plan(plan)
        chosen = replace(
            shipped,
            model=replace(shipped.model, base=base or shipped.model.base),
            scale=replace(shipped.scale, nodes=nodes or shipped.scale.nodes),
        )
        unsupported_settings.check_supported(chosen)
        tokenizer = model_loading.load_tokenizer(chosen)
        written = export_folder.write_export(chosen, dataset, out, tokenizer)
    print_json(asdict(written))
    STDERR.print(f"start it with: RAY_ADDRESS=http://FIRST:8265 {out}/submit.sh")
