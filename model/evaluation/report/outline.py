"""Build the sections of an evaluation report in the order of the page (pure).

Each section answers one question about the judged groups. Sections without an answer say what is missing.
"""

from collections.abc import Sequence

from model.evaluation.report.content import Section
from model.evaluation.report.sections.attacks import AttackRun, build_attacks_section
from model.evaluation.report.sections.breakdown import (
    build_lines_section,
    build_repository_section,
    build_similarity_section,
)
from model.evaluation.report.sections.comparison import (
    build_differences_section,
    build_group_wise_section,
)
from model.evaluation.report.sections.error_types import build_errors_section
from model.evaluation.report.sections.headline import (
    build_headline_section,
    build_metrics_section,
    build_runs_section,
)
from model.evaluation.report.sections.reliability import build_reliability_section
from model.evaluation.report.sections.repeatability import build_deviation_section
from model.evaluation.report.sections.seat_bias import build_seats_section
from model.evaluation.report.sections.selection_gain import build_selection_section
from model.evaluation.report.sections.timing import build_timing_section
from model.evaluation.report.series import GroupSet

_SECTIONS = (
    build_runs_section,
    build_headline_section,
    build_metrics_section,
    build_differences_section,
    build_group_wise_section,
    build_errors_section,
    build_lines_section,
    build_repository_section,
    build_similarity_section,
    build_deviation_section,
    build_seats_section,
    build_reliability_section,
    build_selection_section,
    build_timing_section,
)


def build_sections(
    sets: Sequence[GroupSet], attacked: Sequence[AttackRun] = ()
) -> tuple[Section, ...]:
    """Build all sections. The section on attacks appears only after attack runs."""
    last = (build_attacks_section(attacked),) if attacked else ()
    return (*(section(sets) for section in _SECTIONS), *last)
