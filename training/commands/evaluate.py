"""`r4p train evaluate`: decide whether a trained model may replace the champion."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress
from typer import Option

from app.learning.gate_rules import Rules
from model.commands import key_file
from model.commands.exit_codes import STDERR, Exit, exit_on_error, print_json, stop
from model.commands.options import accept_options
from model.errors import BadEngine, EngineError, ModelError
from training.datasets.dataset import BadDataset
from training.evaluation.evaluation_replies import ReplySettings
from training.gate.gate_decision import GateDecision, GateOutcome
from training.runs.run_folder import BadRun

if TYPE_CHECKING:
    from training.gate.run_evaluation import EvaluationRequest, EvaluationServer

CODES: Final = {GateOutcome.PASSED: 0, GateOutcome.FAILED: 3, GateOutcome.TOO_FEW: 4}
"""Exit codes by outcome of the gate. 2: a folder or the engine cannot be used. 5: the engine is down, and nothing is decided."""

_NAME = "train evaluate"
_PLAIN = Rules()


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Options of `r4p train evaluate`."""

    run: Annotated[Path, Option(metavar="DIR", help="Folder of the run.")]
    dataset: Annotated[Path, Option(metavar="DIR", help="Dataset to measure on.")]
    learnt_from: Annotated[
        Path | None, Option(metavar="DIR", help="Dataset of the training, if it is another one.")
    ] = None
    engine_url: Annotated[
        str | None,
        Option(
            help="Address of a vLLM that serves the base; without one, both models run in this process."
        ),
    ] = None
    model: Annotated[str | None, Option(help="Served name of the base.")] = None
    champion: Annotated[
        str | None, Option(help="Served name of the champion; the base by default.")
    ] = None
    api_key_file: Annotated[
        Path | None, Option(help="File that holds the API key and nothing else.")
    ] = None
    verifier: Annotated[str, Option(help="Verifier of both models, such as yes-no.")] = "r4p"
    split: Annotated[
        list[str] | None,
        Option(help="Split of the dataset to measure on; test and repositories by default."),
    ] = None
    votes: Annotated[int, Option(min=1, help="Number of votes on each group.")] = 4
    limit: Annotated[int | None, Option(min=1, help="Most groups of a split.")] = None
    reply_tokens: Annotated[int | None, Option(min=1, help="Most tokens of a reply.")] = None
    margin: Annotated[
        float,
        Option(min=0, max=1, help="How much worse the model may be and still count as no worse."),
    ] = _PLAIN.margin
    least_issues: Annotated[int, Option(min=2, help="Fewest issues with which a set decides.")] = (
        _PLAIN.least_issues
    )
    must_be_better: Annotated[
        bool, Option(help="Require a gain whose whole interval lies above 0.")
    ] = False
    as_json: Annotated[bool, Option("--json", help="Print the decision of the gate as JSON.")] = (
        False
    )

    def build_server(self) -> "EvaluationServer | None":
        """Return the vLLM server of both models, from these options; None without `--engine-url`. Raises BadEngine."""
        from training.gate.run_evaluation import EvaluationServer

        if not self.engine_url:
            return None
        if not self.model:
            raise BadEngine("--engine-url needs --model, the base's served name")
        key = key_file.read_key(self.api_key_file) if self.api_key_file else None
        return EvaluationServer(self.engine_url, self.model, self.champion, key)


@accept_options(GateOptions)
def evaluate(options: GateOptions) -> None:
    """Measure a trained model and the champion on a dataset, and decide whether the model may judge.

    Exit codes: 0 it may, 3 it may not, 4 too few issues, 5 engine down.
    """
    from training.gate.run_evaluation import EvaluationRequest

    with exit_on_error(_NAME):
        server = options.build_server()
    request = EvaluationRequest(
        run=options.run,
        data=options.dataset,
        learnt_from=options.learnt_from,
        server=server,
        splits=tuple(options.split or ()),
        verifier=options.verifier,
        limit=options.limit,
        reply_tokens=options.reply_tokens,
        reply_settings=ReplySettings(options.votes, concurrency=8 if server else 1),
        rules=Rules(
            margin=options.margin,
            least_issues=options.least_issues,
            must_be_better=options.must_be_better,
        ),
    )
    decision = _measure(request)
    beside = options.champion or options.model or "the base, in this process"
    STDERR.print(f"measured beside {beside}")
    _print_decision(decision, as_json=options.as_json)
    raise typer.Exit(CODES[decision.outcome])


def _measure(request: "EvaluationRequest") -> GateDecision:
    from training.gate.run_evaluation import evaluate_run as measure

    with Progress(console=STDERR, transient=True) as progress:
        bars = {role: progress.add_task(role, total=None) for role in ("candidate", "champion")}

        def tell(role: str, done: int, total: int) -> None:
            progress.update(bars[role], completed=done, total=total)

        try:
            return measure(request, tell)
        except (BadRun, BadDataset) as error:
            stop(_NAME, Exit.USAGE, str(error))
        except BadEngine as error:
            again = "nothing is decided; put that right, measure it again, then r4p models register"
            stop(_NAME, Exit.USAGE, f"{error}; {again} {request.run}")
        except EngineError as error:
            stop(_NAME, Exit.BACKEND_DOWN, str(error))
        except ModelError as error:
            stop(_NAME, Exit.USAGE, f"{error}; nothing is decided")


def _print_decision(decision: GateDecision, *, as_json: bool) -> None:
    if as_json:
        print_json(decision.document())
    for finding in decision.findings:
        STDERR.print(f"{'yes' if finding.passed else 'NO':>4}  {finding.check}: {finding.answer}")
    STDERR.print(f"the gate: {decision.outcome}")
