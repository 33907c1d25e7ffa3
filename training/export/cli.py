"""`r4p train export-verl`: a plan and a dataset as a folder that verl trains from, on one node or several."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from training import plan_file, weights
from training.export import folder, verl_limits
from training.plan import TrainPlan

app = typer.Typer(name="export-verl", add_completion=False, pretty_exceptions_enable=False)

Plan = Annotated[str, typer.Argument(metavar="PLAN", help="A shipped plan's name, or a TOML file.")]
Dataset = Annotated[
    Path, typer.Option("--dataset", metavar="DIR", help="Made by r4p train dataset build.")
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="A new folder, seen by every node.")
]
Base = Annotated[
    str | None, typer.Option(metavar="MODEL", help="A directory or name in the plan's stead.")
]
Nodes = Annotated[int | None, typer.Option(min=1, help="In the plan's stead.")]


@app.command()
def export(plan: Plan, dataset: Dataset, out: Out, base: Base = None, nodes: Nodes = None) -> None:
    """Write a plan and a dataset as a folder that verl trains from, on one node or several."""
    try:
        chosen = _changed(plan_file.load(plan), base, nodes)
        verl_limits.check(chosen)
        made = folder.write(chosen, dataset, out, weights.tokenizer(chosen))
    except ValueError as error:
        typer.echo(f"r4p train export-verl: {error}", err=True)
        raise typer.Exit(2) from error
    typer.echo(json.dumps(asdict(made), indent=2))
    typer.echo(f"start it with: RAY_ADDRESS=http://FIRST:8265 {out}/submit.sh", err=True)


def _changed(plan: TrainPlan, base: str | None, nodes: int | None) -> TrainPlan:
    model = replace(plan.model, base=base or plan.model.base)
    return replace(plan, model=model, scale=replace(plan.scale, nodes=nodes or plan.scale.nodes))
