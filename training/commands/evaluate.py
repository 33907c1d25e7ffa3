"""`r4p train evaluate`: decide whether a trained model may replace the champion."""

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
from training.evaluation.evaluation_replies import ReplySettings
from training.gate.gate_decision import GateDecision, GateOutcome
from training.runs.run_folder import BadRun

if TYPE_CHECKING:
    from training.gate.run_evaluation import EvaluationRequest, EvaluationServer

CODES: Final = {GateOutcome.PASSED: 0, GateOutcome.FAILED: 3, GateOutcome.TOO_FEW: 4}
"""Exit codes by outcome of the gate. 2: a folder or the engine cannot be used. 5: the engine is down, and nothing is decided."""

_PLAIN = Rules()
_Url = Annotated[
    str | None,
    typer.Option(
        help="Address of a vLLM that serves the base; without one, both models run in this process."
    ),
]
_Base = Annotated[str | None, typer.Option("--model", help="Served name of the base.")]
_Champion = Annotated[
    str | None, typer.Option(help="Served name of the champion; the base by default.")
]
_KeyFile = Annotated[
    Path | None, typer.Option(help="File that holds the API key and nothing else.")
]
_LearntFrom = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Dataset of the training, if it is another one.")
]
_Splits = Annotated[
    list[str] | None,
    typer.Option(
        "--split", help="Split of the dataset to measure on; test and repositories by default."
    ),
]
_Tokens = Annotated[int | None, typer.Option(min=1, help="Most tokens of a reply.")]
_Margin = Annotated[
    float,
    typer.Option(min=0, max=1, help="How much worse the model may be and still count as no worse."),
]
_Least = Annotated[int, typer.Option(min=2, help="Fewest issues with which a set decides.")]


def evaluate(  # noqa: PLR0913 - one parameter per option of the command
    run: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.")],
    data: Annotated[Path, typer.Option("--dataset", metavar="DIR", help="Dataset to measure on.")],
    learnt_from: _LearntFrom = None,
    engine_url: _Url = None,
    model: _Base = None,
    champion: _Champion = None,
    api_key_file: _KeyFile = None,
    verifier: Annotated[str, typer.Option(help="Verifier of both models, such as yes-no.")] = "r4p",
    split: _Splits = None,
    votes: Annotated[int, typer.Option(min=1, help="Number of votes on each group.")] = 4,
    limit: Annotated[int | None, typer.Option(min=1, help="Most groups of a split.")] = None,
    reply_tokens: _Tokens = None,
    margin: _Margin = _PLAIN.margin,
    least_issues: _Least = _PLAIN.least_issues,
    must_be_better: Annotated[
        bool, typer.Option(help="Require a gain whose whole interval lies above 0.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the decision of the gate as JSON.")
    ] = False,
) -> None:
    """Measure a trained model beside the champion, and decide whether it may judge.

    Exit codes: 0 it may, 3 it may not, 4 too few issues, 5 engine down.
    """
    from training.gate.run_evaluation import EvaluationRequest

    server = _build_server(engine_url, model, champion, api_key_file)
    request = EvaluationRequest(
        run=run,
        data=data,
        learnt_from=learnt_from,
        server=server,
        splits=tuple(split or ()),
        verifier=verifier,
        limit=limit,
        reply_tokens=reply_tokens,
        reply_settings=ReplySettings(votes, concurrency=8 if server else 1),
        rules=Rules(margin=margin, least_issues=least_issues, must_be_better=must_be_better),
    )
    decision = _measure(request)
    STDERR.print(f"measured beside {champion or model or 'the base, in this process'}")
    _print_decision(decision, as_json=as_json)
    raise typer.Exit(CODES[decision.outcome])


def _build_server(
    url: str | None, model: str | None, champion: str | None, where: Path | None
) -> "EvaluationServer | None":
    from training.gate.run_evaluation import EvaluationServer

    if not url:
        return None
    if not model:
        stop("train evaluate", Exit.USAGE, "--engine-url needs --model, the base's served name")
    try:
        key = key_file.read_key(where) if where else None
    except BadEngine as error:
        stop("train evaluate", Exit.USAGE, str(error))
    return EvaluationServer(url, model, champion, key)


def _measure(request: "EvaluationRequest") -> GateDecision:
    from training.gate.run_evaluation import evaluate_run as measure

    with Progress(console=STDERR, transient=True) as progress:
        bars = {role: progress.add_task(role, total=None) for role in ("candidate", "champion")}

        def tell(role: str, done: int, total: int) -> None:
            progress.update(bars[role], completed=done, total=total)

        try:
            return measure(request, tell)
        except (BadRun, BadDataset) as error:
            stop("train evaluate", Exit.USAGE, str(error))
        except BadEngine as error:
            again = "nothing is decided; put that right, measure it again, then r4p models register"
            stop("train evaluate", Exit.USAGE, f"{error}; {again} {request.run}")
        except EngineError as error:
            stop("train evaluate", Exit.BACKEND_DOWN, str(error))
        except ModelError as error:
            stop("train evaluate", Exit.USAGE, f"{error}; nothing is decided")


def _print_decision(decision: GateDecision, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(decision.document(), indent=2) + "\n")
    for finding in decision.findings:
        STDERR.print(f"{'yes' if finding.passed else 'NO':>4}  {finding.check}: {finding.said}")
    STDERR.print(f"the gate: {decision.outcome}")
