"""`r4p train evaluate`: whether what a run made may come into use."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress

from app.learning.gate_rules import Rules
from model.commands import key_file
from model.commands.exit_codes import STDERR, Exit, stop
from model.errors import BadEngine, EngineError, ModelError
from training.datasets.dataset import BadDataset
from training.evaluation.evaluation_replies import Hearing
from training.gate.gate_decision import Gate, Outcome
from training.runs.run_folder import BadRun

if TYPE_CHECKING:
    from training.gate.run_evaluation import Server, Wanted

CODES: Final = {Outcome.PASSED: 0, Outcome.FAILED: 3, Outcome.TOO_FEW: 4}
"""Exit codes by what the gate says; 2: a folder or the engine can't be used, 5: the engine is down, and nothing was decided."""

_PLAIN = Rules()
_Url = Annotated[
    str | None,
    typer.Option(help="A vLLM that serves the base; without one, both judge in this process."),
]
_Base = Annotated[str | None, typer.Option("--model", help="The base's served name.")]
_Champion = Annotated[
    str | None, typer.Option(help="The champion's served name; the base unless told.")
]
_KeyFile = Annotated[Path | None, typer.Option(help="Holds the API key and nothing else.")]
_LearntFrom = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="What it learnt from, where that is another dataset."),
]
_Splits = Annotated[
    list[str] | None, typer.Option("--split", help="Of the dataset; test and repositories.")
]
_Tokens = Annotated[int | None, typer.Option(min=1, help="Of a reply at most.")]
_Margin = Annotated[float, typer.Option(min=0, max=1, help="Worse by less than this is no worse.")]
_Least = Annotated[int, typer.Option(min=2, help="Issues of a set that can decide.")]


def evaluate(  # noqa: PLR0913 - one for each option
    run: Annotated[Path, typer.Option(metavar="DIR", help="The run's folder.")],
    data: Annotated[Path, typer.Option("--dataset", metavar="DIR", help="To measure on.")],
    learnt_from: _LearntFrom = None,
    engine_url: _Url = None,
    model: _Base = None,
    champion: _Champion = None,
    api_key_file: _KeyFile = None,
    verifier: Annotated[str, typer.Option(help="As whom both answer, such as yes-no.")] = "r4p",
    split: _Splits = None,
    votes: Annotated[int, typer.Option(min=1, help="Votes on each group.")] = 4,
    limit: Annotated[int | None, typer.Option(min=1, help="Groups of a split.")] = None,
    reply_tokens: _Tokens = None,
    margin: _Margin = _PLAIN.margin,
    least_issues: _Least = _PLAIN.least_issues,
    must_be_better: Annotated[bool, typer.Option(help="Ask for a whole interval above 0.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The gate on standard output.")] = False,
) -> None:
    """Measure what a run made beside the champion, and decide whether it may come into use.

    Exit code 0: it may; 3: it may not; 4: too few issues to decide by; 5: nobody to ask for now.
    """
    from training.gate.run_evaluation import Wanted

    server = _server(engine_url, model, champion, api_key_file)
    wanted = Wanted(
        run=run,
        data=data,
        learnt_from=learnt_from,
        server=server,
        splits=tuple(split or ()),
        verifier=verifier,
        limit=limit,
        reply_tokens=reply_tokens,
        hearing=Hearing(votes, together=8 if server else 1),
        rules=Rules(margin=margin, least_issues=least_issues, must_be_better=must_be_better),
    )
    decided = _measured(wanted)
    STDERR.print(f"measured beside {champion or model or 'the base, in this process'}")
    _tell(decided, as_json=as_json)
    raise typer.Exit(CODES[decided.outcome])


def _server(
    url: str | None, model: str | None, champion: str | None, where: Path | None
) -> "Server | None":
    from training.gate.run_evaluation import Server

    if not url:
        return None
    if not model:
        stop("train evaluate", Exit.USAGE, "--engine-url needs --model, the base's served name")
    try:
        key = key_file.read(where) if where else None
    except BadEngine as error:
        stop("train evaluate", Exit.USAGE, str(error))
    return Server(url, model, champion, key)


def _measured(wanted: "Wanted") -> Gate:
    from training.gate.run_evaluation import evaluate as measure

    with Progress(console=STDERR, transient=True) as progress:
        bars = {who: progress.add_task(who, total=None) for who in ("candidate", "champion")}

        def tell(who: str, done: int, of: int) -> None:
            progress.update(bars[who], completed=done, total=of)

        try:
            return measure(wanted, tell)
        except (BadRun, BadDataset) as error:
            stop("train evaluate", Exit.USAGE, str(error))
        except BadEngine as error:
            again = "nothing is decided; put that right, measure it again, then r4p models register"
            stop("train evaluate", Exit.USAGE, f"{error}; {again} {wanted.run}")
        except EngineError as error:
            stop("train evaluate", Exit.BACKEND_DOWN, str(error))
        except ModelError as error:
            stop("train evaluate", Exit.USAGE, f"{error}; nothing is decided")


def _tell(decided: Gate, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(decided.document(), indent=2) + "\n")
    for one in decided.findings:
        STDERR.print(f"{'yes' if one.passed else 'NO':>4}  {one.check}: {one.said}")
    STDERR.print(f"the gate: {decided.outcome}")
