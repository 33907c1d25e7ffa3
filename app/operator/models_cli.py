"""`r4p models`: trained models, who judges, and the way there and back."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine

from app.db.session import opened, transaction
from app.db.store.models import canary_statistics, models
from app.db.store.models.models import Model, Move, UnknownModel
from app.learning.model_serving import Alias
from app.operator import processes
from app.registry import promotion, registration
from app.registry.promotion import CANARY_SHARE, NotPromoted, Terms
from app.registry.registration import NotRegistered
from app.settings import DatabaseSettings, EngineSettings, GateSettings, check, load
from model.errors import ModelError

main = typer.Typer(
    name="r4p models", help="Trained models, and who of them judges.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="As `r4p models list` tells it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
To = Annotated[Alias, typer.Option("--to", help="What it becomes.")]
Share = Annotated[float, typer.Option(min=0.0, max=1.0, help="Of the issues that a canary judges.")]
ByLaxerRules = Annotated[
    bool,
    typer.Option("--by-laxer-rules", help="Also where its gate asked less than R4P_GATE_…"),
]
Why = Annotated[str, typer.Option(help="Kept with the model.")]


@main.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """Every trained model, the newest first."""
    with _database() as database, transaction(database) as connection:
        found = models.newest(connection)
    if as_json:
        _print([_document(one) for one in found])
    else:
        Console().print(_table(found) if found else "No model was trained yet: r4p train run does.")


@main.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """One model: where it came from, what the gate found, what became of it."""
    with _database() as database, transaction(database) as connection:
        model = _or_exit(lambda: models.named(connection, name))
        moved = [one for one in models.moves(connection, 1_000) if one.model == name]
        did = _did(connection, model)
        has_outcomes = canary_statistics.has_outcomes(connection, name)
    if as_json:
        _print(_document(model) | did | {"moves": [_move(one) for one in moved]})
    else:
        _tell(model, moved, did)
        if has_outcomes:
            sys.stdout.write(
                f"    outcomes  what it said, held against them: r4p models outcomes {name}\n"
            )


@main.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    }
)
def outcomes(context: typer.Context) -> None:
    """What a model said, held against what became of the patches, beside who judged them."""
    processes.become_training(["outcomes", *context.args], called="r4p models outcomes")


@main.command()
def register(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that was measured.")],
    base: Annotated[
        str | None, typer.Option(help="Served name of what it adapts; R4P_MODEL unless told.")
    ] = None,
) -> None:
    """Keep what a run made; prints the name that it has from now on."""
    served = base or load(EngineSettings).model
    if served is None:
        raise typer.BadParameter("set R4P_MODEL, or give --base, the served name of its base")
    with _database() as database, transaction(database) as connection:
        name = _or_exit(lambda: registration.register_run(connection, run, served))
        model = models.named(connection, name)
    sys.stdout.write(f"{name} ({model.state}: {model.why})\n")


@main.command()
def promote(
    name: Name,
    to: To = Alias.CHAMPION,
    share: Share = CANARY_SHARE,
    *,
    by_laxer_rules: ByLaxerRules = False,
) -> None:
    """Put a model into every server, see that it answers as it was trained, and have it judge."""
    check(EngineSettings, GateSettings, DatabaseSettings)
    settings = load(EngineSettings)
    terms = Terms(settings.verifier, load(GateSettings).rules, by_laxer_rules=by_laxer_rules)
    with _database() as database:
        moved = _or_exit(
            lambda: promotion.promote(
                database,
                promotion.replicas(settings),
                name,
                to,
                share=share,
                terms=terms,
            )
        )
    sys.stdout.write(f"{name} is the {to} now: {moved.said}\n")


@main.command()
def rollback(
    of: Annotated[Alias, typer.Option("--of", help="Whose place is taken back.")] = Alias.CHAMPION,
    why: Why = "rolled back by hand",
) -> None:
    """Reject who judges now, and have the champion before judge again."""
    with _database() as database:
        servers = promotion.replicas_if_any(load(EngineSettings))
        rejected, champion = _or_exit(lambda: promotion.roll_back(database, servers, of, why))
    judge = champion or "the model of the settings"
    sys.stdout.write(f"{rejected} is rejected; {judge} judges\n")


def _or_exit(do: Callable[[], Any]) -> Any:
    """What is done; a reason on standard error and exit code 1 when it can't be."""
    try:
        return do()
    except (UnknownModel, NotPromoted, NotRegistered, ModelError) as error:
        sys.stderr.write(f"r4p models: {error}\n")
        raise typer.Exit(1) from error


def _database() -> AbstractContextManager[Engine]:
    return opened(load(DatabaseSettings).database_url)


def _print(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _document(model: Model) -> dict[str, Any]:
    adapter = model.adapter
    return {
        "name": adapter.name,
        "state": model.state.value,
        "why": model.why,
        "share": model.share,
        "base": adapter.base,
        "verifier": adapter.verifier,
        "directory": str(adapter.directory),
        "sha256": adapter.sha256,
        "run": str(model.run),
        "gate": model.gate,
        "evaluation": model.evaluation,
        "created_at": model.created_at.isoformat(),
        "changed_at": model.changed_at.isoformat() if model.changed_at else None,
    }


def _did(connection: Connection, model: Model) -> dict[str, Any]:
    """What it said so far: as a judge beside the others, or as a shadow beside what was shown."""
    name = model.adapter.name
    own, others = canary_statistics.records(connection, name, model.changed_at or model.created_at)
    did = {"since": asdict(own), "others_since": asdict(others)} if own.judged else {}
    shadow = canary_statistics.agreement(connection, name)
    return did | ({"as_shadow": asdict(shadow)} if shadow.judged else {})


def _move(one: Move) -> dict[str, str | None]:
    return {"alias": one.alias.value, "why": one.why, "at": one.at.isoformat()}


def _table(found: list[Model]) -> Table:
    table = Table(title="Trained models", title_justify="left", show_edge=False)
    for heading in ("Name", "State", "Base", "Since", "Why"):
        table.add_column(heading, overflow="fold")
    for one in found:
        share = f" ({one.share:.0%})" if one.share is not None else ""
        since = _day(one.changed_at or one.created_at)
        table.add_row(
            one.adapter.name, f"{one.state}{share}", one.adapter.base, since, _safe(one.why)
        )
    return table


def _tell(model: Model, moved: list[Move], did: dict[str, Any]) -> None:
    console = Console()
    told = {
        label: ", ".join(f"{what} {n}" for what, n in one.items()) for label, one in did.items()
    }
    for label, value in (_document(model) | told).items():
        if label not in {"gate", "evaluation"} and value is not None:
            console.print(f"{label:>12}  {_safe(str(value))}", highlight=False)
    for one in model.gate.get("findings", ()):
        mark = "yes" if one["passed"] else "NO"
        console.print(f"{mark:>12}  {_safe(one['check'])}: {_safe(one['said'])}", highlight=False)
    for one in model.gate.get("earlier") or ():
        console.print(
            f"{'earlier':>12}  the gate: {one['outcome']}; {_safe(str(one['why']))}",
            highlight=False,
        )
    for one in moved:
        console.print(f"{_day(one.at):>12}  {one.alias}: {_safe(one.why)}", highlight=False)


def _safe(text: str) -> str:
    return text.replace("[", "\\[")


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
