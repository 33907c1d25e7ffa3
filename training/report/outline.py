"""Build the page of a training run: its sections in order (pure)."""

from model.evaluation.report.content import Report, format_count
from model.evaluation.report.series import clean_name
from training.report.comparison import build_comparison_section, build_gate_section
from training.report.curves import build_curves_section
from training.report.overview import build_data_section, build_overview_section
from training.report.run_reader import TrainingRun


def build_page(run: TrainingRun) -> Report:
    """Build the page: the result of the run first, then its course."""
    return Report(
        f"Training run {clean_name(run.name)}",
        (f"{format_count(len(run.steps), 'optimiser step')}. {_describe_gate(run)}".strip(),),
        run.notes,
        (
            build_gate_section(run),
            build_comparison_section(run),
            build_curves_section(run),
            build_data_section(run),
            build_overview_section(run),
        ),
    )


def _describe_gate(run: TrainingRun) -> str:
    return f"Gate: {run.gate['outcome']}." if "outcome" in run.gate else "Not measured yet."
