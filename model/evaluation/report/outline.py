"""The sections of a report, in the order of the page (pure)."""

from collections.abc import Sequence

from model.evaluation.report.content import Section
from model.evaluation.report.sections.attacks import AttackRun, attacks
from model.evaluation.report.sections.breakdown import by_lines, by_repository, by_similarity
from model.evaluation.report.sections.comparison import differing, group_wise
from model.evaluation.report.sections.error_types import errors
from model.evaluation.report.sections.headline import headline, metrics, runs
from model.evaluation.report.sections.reliability import reliability
from model.evaluation.report.sections.repeatability import repeated
from model.evaluation.report.sections.seat_bias import seats
from model.evaluation.report.sections.selection_gain import choosing
from model.evaluation.report.sections.timing import timing
from model.evaluation.report.series import GroupSet

_SECTIONS = (
    runs,
    headline,
    metrics,
    differing,
    group_wise,
    errors,
    by_lines,
    by_repository,
    by_similarity,
    repeated,
    seats,
    reliability,
    choosing,
    timing,
)


def sections(sets: Sequence[GroupSet], attacked: Sequence[AttackRun] = ()) -> tuple[Section, ...]:
    """All of them, in the order of the page; that on attacks where there were any."""
    last = (attacks(attacked),) if attacked else ()
    return (*(section(sets) for section in _SECTIONS), *last)
