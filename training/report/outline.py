"""The sections of a run's page, in their order (pure)."""

from model.evaluation.report.content import Report, many
from model.evaluation.report.series import shown
from training.report.comparison import comparison, gate
from training.report.curves import curves
from training.report.overview import data, overview
from training.report.run_reader import RunFolder


def made(run: RunFolder) -> Report:
    """The page: what became of the run first, how it went after."""
    return Report(
        f"Training run {shown(run.name)}",
        (f"{many(len(run.steps), 'optimiser step')}. {_verdict(run)}".strip(),),
        run.notes,
        (gate(run), comparison(run), curves(run), data(run), overview(run)),
    )


def _verdict(run: RunFolder) -> str:
    return f"Gate: {run.gate['outcome']}." if "outcome" in run.gate else "Not measured yet."
