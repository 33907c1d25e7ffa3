"""`r4p models`: shows, registers, promotes and rolls back trained models, and lists calibrators."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine
from typer import Argument, Option

from app.db.session import open_database, transaction
from app.db.store.models import calibrators, canary_statistics, models
from app.db.store.models.calibrators import CalibratorReport
from app.db.store.models.models import Model, Move, UnknownModel
from app.learning.model_serving import Alias
from app.operator import processes
from app.operator.data_option import DataOption
from app.registry import promotion, registration
from app.registry.promotion import CANARY_SHARE, NotPromoted, PromotionRules
from app.registry.registration import NotRegistered
from app.settings import DatabaseSettings, EngineSettings, GateSettings, check, load
from model.commands.exit_codes import print_json, stop
from model.commands.extras import PASSED_ON
from model.commands.options import AsJson
from model.errors import ModelError

main = typer.Typer(
    name="r4p models",
    help="Show, promote and roll back trained models.",
    no_args_is_help=True,
    add_completion=False,
)

Name = Annotated[str, Argument(help="Name of the model, as `r4p models list` prints it.")]


@main.command("list")
def list_all(
    *,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """List every trained model, the newest first."""
    with _open_database() as database, transaction(database) as connection:
        newest = models.list_models(connection)
    if as_json:
        print_json([_document(model) for model in newest])
    else:
        Console().print(
            _build_table(newest) if newest else "There is no model yet: use r4p train run."
        )


@main.command()
def show(
    name: Name,
    *,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Show one model: its origin, the findings of the gate, and its history."""
    with _open_database() as database, transaction(database) as connection:
        model = models.find_by_name(connection, name)
        moves = [move for move in models.list_moves(connection, 1_000) if move.model == name]
        statistics = _read_statistics(connection, model)
        has_outcomes = canary_statistics.has_outcomes(connection, name)
    if as_json:
        print_json(_document(model) | statistics | {"moves": list(map(_describe_move, moves))})
    else:
        _print_model(model, moves, statistics)
        if has_outcomes:
            sys.stdout.write(
                f"    outcomes  its verdicts compared with outcomes: r4p models outcomes {name}\n"
            )


@main.command("calibrators")
def list_calibrators(
    *,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """List the calibrators in use and the last refused ones, each with the reason, the newest first."""
    with _open_database() as database, transaction(database) as connection:
        newest = calibrators.list_newest(connection)
    if as_json:
        print_json(
            [asdict(report) | {"created_at": report.created_at.isoformat()} for report in newest]
        )
    else:
        Console().print(
            _build_calibrator_table(newest) if newest else "There is no calibrator yet."
        )


@main.command(context_settings=PASSED_ON)
def outcomes(context: typer.Context) -> None:
    """Compare a model's verdicts with the outcomes of the patches; for a shadow, also with the judge's verdicts."""
    processes.exec_training(["outcomes", *context.args], command_name="r4p models outcomes")


@main.command()
def register(
    run: Annotated[
        Path, Argument(metavar="RUN", help="Folder of a run that `r4p train evaluate` measured.")
    ],
    base: Annotated[
        str | None, Option(help="Served name of the base; R4P_MODEL by default.")
    ] = None,
    _data: DataOption = None,
) -> None:
    """Register the trained adapter of a run as a model, and print the model's name."""
    served = base or load(EngineSettings).model
    if served is None:
        raise typer.BadParameter("set R4P_MODEL or --base to the served name of its base model")
    with _open_database() as database, transaction(database) as connection:
        name = registration.register_run(connection, run, served)
        model = models.find_by_name(connection, name)
    sys.stdout.write(f"{name} ({model.state}: {model.why})\n")


@main.command()
def promote(
    name: Name,
    to: Annotated[Alias, Option(help="Role that the model gets.")] = Alias.CHAMPION,
    share: Annotated[
        float, Option(min=0.0, max=1.0, help="Share of the issues that a canary judges.")
    ] = CANARY_SHARE,
    *,
    by_laxer_rules: Annotated[
        bool,
        Option(
            "--by-laxer-rules",
            help="Promote although its gate asked less than the R4P_GATE_… settings.",
        ),
    ] = False,
    _data: DataOption = None,
) -> None:
    """Load a model into every model server, check its answers, and give it a role."""
    check(EngineSettings, GateSettings, DatabaseSettings)
    settings, rules = load(EngineSettings), load(GateSettings).rules
    terms = PromotionRules(settings.verifier, rules, by_laxer_rules=by_laxer_rules)
    with _open_database() as database:
        servers = promotion.list_replicas(settings)
        promoted = promotion.promote(database, servers, name, to, share=share, terms=terms)
    sys.stdout.write(f"{name} is the {to} now: {promoted.report}\n")


@main.command()
def rollback(
    alias: Annotated[Alias, Option("--of", help="Role to roll back.")] = Alias.CHAMPION,
    why: Annotated[str, Option(help="Reason, kept with the model.")] = "rolled back by hand",
    _data: DataOption = None,
) -> None:
    """Reject the present model of a role, and let the previous champion judge again."""
    with _open_database() as database:
        servers = promotion.find_replicas(load(EngineSettings))
        rejected, champion = promotion.roll_back(database, servers, alias, why)
    judge = champion or "the model of the settings"
    sys.stdout.write(f"{rejected} is rejected; {judge} judges\n")


@contextmanager
def _open_database() -> Iterator[Engine]:
    """Open the database. An expected error ends the command with one line and exit code 1."""
    try:
        with open_database() as database:
            yield database
    except (UnknownModel, NotPromoted, NotRegistered, ModelError) as error:
        stop("models", 1, str(error))


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


def _read_statistics(connection: Connection, model: Model) -> dict[str, Any]:
    """Read its statistics as a judge beside the others, or as a shadow."""
    name = model.adapter.name
    own, others = canary_statistics.read_statistics(
        connection, name, model.changed_at or model.created_at
    )
    statistics = {"since": asdict(own), "others_since": asdict(others)} if own.judged else {}
    shadow = canary_statistics.measure_agreement(connection, name)
    return statistics | ({"as_shadow": asdict(shadow)} if shadow.judged else {})


def _describe_move(move: Move) -> dict[str, str | None]:
    return {"alias": move.alias.value, "why": move.why, "at": move.moment.isoformat()}


def _build_table(rows: list[Model]) -> Table:
    table = Table(title="Trained models", title_justify="left", show_edge=False)
    for heading in ("Name", "State", "Base", "Since", "Why"):
        table.add_column(heading, overflow="fold")
    for model in rows:
        share = f" ({model.share:.0%})" if model.share is not None else ""
        since = _format_day(model.changed_at or model.created_at)
        table.add_row(
            model.adapter.name,
            f"{model.state}{share}",
            model.adapter.base,
            since,
            _escape(model.why),
        )
    return table


def _build_calibrator_table(rows: list[CalibratorReport]) -> Table:
    table = Table(title="Calibrators", title_justify="left", show_edge=False)
    for heading in ("Judge", "Installation", "State", "Issues", "Since", "Why"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        judge, scope = _escape(f"{row.verifier} {row.model}"), str(row.installation or "shared")
        since = _format_day(row.created_at)
        table.add_row(judge, scope, row.state, str(row.issues), since, _escape(row.why))
    return table


def _print_model(model: Model, moves: list[Move], statistics: dict[str, Any]) -> None:
    console = Console()
    lines = {
        label: ", ".join(f"{name} {value}" for name, value in values.items())
        for label, values in statistics.items()
    }
    for label, value in (_document(model) | lines).items():
        if label not in {"gate", "evaluation"} and value is not None:
            console.print(f"{label:>12}  {_escape(str(value))}", highlight=False)
    for finding in model.gate.get("findings", ()):
        mark = "yes" if finding["passed"] else "NO"
        text = f"{mark:>12}  {_escape(finding['check'])}: {_escape(finding['said'])}"
        console.print(text, highlight=False)
    for decision in model.gate.get("earlier") or ():
        console.print(
            f"{'earlier':>12}  the gate: {decision['outcome']}; {_escape(str(decision['why']))}",
            highlight=False,
        )
    for move in moves:
        console.print(
            f"{_format_day(move.moment):>12}  {move.alias}: {_escape(move.why)}", highlight=False
        )


def _escape(text: str) -> str:
    return text.replace("[", "\\[")


def _format_day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
