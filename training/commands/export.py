"""Commands that write files for trainers: `r4p train attempts` and `r4p train export-verl`."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, stop
from training import corpus
from training.datasets import pairs
from training.plans import plan_file
from training.plans.plan import TrainPlan


def attempts(out: Annotated[Path, typer.Option(metavar="FILE", help="File to create.")]) -> None:
    """Write agents' attempts and their labels, from repositories with `training: on`."""
    with corpus.open_corpus() as store:
        attempt_list = store.list_attempts()
    if not attempt_list:
        stop("train attempts", Exit.USAGE, "no agent worked where the bot may learn (training: on)")
    pairs.write_attempts(out, attempt_list)
    guided = pairs.pair_guided_attempts(attempt_list)
    STDERR.print(
        f"{len(attempt_list)} attempts in {out}; {len(guided.pairs)} of them make a guided pair"
    )
    for reason, count in guided.left_out.most_common():
        STDERR.print(f"  {count} guided attempts make none: {reason}")


app = typer.Typer(name="export-verl", add_completion=False, pretty_exceptions_enable=False)

Plan = Annotated[
    str, typer.Argument(metavar="PLAN", help="Name of a shipped plan, or a TOML file.")
]
Dataset = Annotated[Path, typer.Option("--dataset", metavar="DIR", help="Folder of the dataset.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder to create; every node must see it.")
]
Base = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Folder or name of the model, instead of the plan's."),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Number of nodes, instead of the plan's.")]


@app.command()
def export(plan: Plan, dataset: Dataset, out: Out, base: Base = None, nodes: Nodes = None) -> None:
    """Write a plan and a dataset as a folder that verl trains from, on one node or several."""
    from training.trl import model_loading  # needs torch, which the other command does not
    from training.verl import export_folder, unsupported_settings

    try:
        chosen = _apply_options(plan_file.load_plan(plan), base, nodes)
        unsupported_settings.check_supported(chosen)
        written = export_folder.write_export(
            chosen, dataset, out, model_loading.load_tokenizer(chosen)
        )
    except ValueError as error:
        typer.echo(f"r4p train export-verl: {error}", err=True)
        raise typer.Exit(2) from error
    typer.echo(json.dumps(asdict(written), indent=2))
    typer.echo(f"start it with: RAY_ADDRESS=http://FIRST:8265 {out}/submit.sh", err=True)


def _apply_options(plan: TrainPlan, base: str | None, nodes: int | None) -> TrainPlan:
    model = replace(plan.model, base=base or plan.model.base)
    return replace(plan, model=model, scale=replace(plan.scale, nodes=nodes or plan.scale.nodes))
