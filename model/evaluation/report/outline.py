"""Build the page of an evaluation report, with its sections in their order.

Each section answers one question about the judged groups. Sections without an answer say what is missing.
"""

from model.errors import UnknownVerifier
from model.evaluation import judge_catalog, run_name
from model.evaluation.report.content import Report
from model.evaluation.report.input_folder import ReportInput
from model.evaluation.report.sections import (
    attacks,
    best_of,
    breakdown,
    comparison,
    error_types,
    headline,
    pairs,
    reliability,
    repeatability,
    seat_bias,
    selection_gain,
    tests,
    timing,
)
from model.evaluation.report.series import Series, build_sets

_SECTIONS = (
    headline.build_runs_section,
    headline.build_headline_section,
    headline.build_metrics_section,
    pairs.build_pairs_section,
    comparison.build_differences_section,
    comparison.build_group_wise_section,
    error_types.build_errors_section,
    breakdown.build_lines_section,
    breakdown.build_repository_section,
    breakdown.build_similarity_section,
    repeatability.build_deviation_section,
    seat_bias.build_seats_section,
    reliability.build_reliability_section,
    selection_gain.build_selection_section,
    timing.build_timing_section,
)


def build_report(folder: ReportInput) -> Report:
    """Build the evaluation report for the content of a folder of run files.

    The sections on re-judged Best@K, on tests and on attacks are there only if the folder has them.
    """
    sets = build_sets(folder.runs)
    cautions = (
        f"{group_set.name}, {series.label}: {caution}"
        for group_set in sets
        for series in group_set.series
        if (caution := _get_caution(series))
    )
    names = ", ".join(group_set.name for group_set in sets) or "see below"
    last = [best_of.build_best_of_section(folder.best_of)] if folder.best_of else []
    last += [tests.build_tests_section(sets)] if tests.has_tests(sets) else []
    last += [attacks.build_attacks_section(folder.attacks)] if folder.attacks else []
    return Report(
        "How right the verifiers are",
        [f"Measured offline on patches whose truth is known: {names}."],
        [*folder.notes, *cautions],
        [*(build_section(sets) for build_section in _SECTIONS if sets), *last],
    )


def _get_caution(series: Series) -> str | None:
    """Return the warning that `r4p evaluate` printed; None for a verifier of another version."""
    verifier = run_name.strip_suffixes(series.key.verifier)
    try:
        return judge_catalog.build_caution(verifier, series.judged)
    except UnknownVerifier:
        return None
