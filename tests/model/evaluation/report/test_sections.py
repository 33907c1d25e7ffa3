"""Each section from runs whose answers are known, and in words what runs can't answer."""

import json
from dataclasses import replace

import pytest

from model.evaluation import metrics
from model.evaluation.evaluation_document import build_document
from model.evaluation.judgement_columns import build_columns
from model.evaluation.report.content import (
    Gap,
    Section,
    format_cells,
    format_count,
    format_estimate,
    format_number,
)
from model.evaluation.report.input_folder import ReportInput
from model.evaluation.report.outline import build_report
from model.evaluation.report.sections import (
    error_types,
    headline,
    reliability,
    selection_gain,
    timing,
)
from model.evaluation.report.series import read_estimate
from model.voting.selection import compute_best_at_k
from tests.model.evaluation.builders import make_judged_group, set_edits
from tests.model.evaluation.report.builders import build_group, build_run, build_set, list_rows


def build_all_sections(*runs):
    files = tuple((f"s.{at}.jsonl", judged) for at, judged in enumerate(runs))
    return build_report(ReportInput(files, (), (), ())).sections


def test_section_has_a_key_and_a_figure_or_a_reason():
    made = build_all_sections(
        build_run(votes=3), build_run("pointwise", votes=3), build_run("consensus")
    )
    assert len({one.key for one in made}) == len(made) == 15
    names = [figure.name for one in made for figure in one.figures]
    assert len(set(names)) == len(names) == 14
    assert all(one.figures or one.missing for one in made if one.key not in {"runs", "metrics"})
    for one in made:
        for figure in one.figures:
            assert "patches" in figure.caption
            assert "issues" in figure.caption
            assert len(figure.alt) > 20
        for table in one.tables:
            assert {len(row) for row in table.cells} == {sum(span for _, span in table.columns)}


def test_headline_has_numbers_of_document_constants_and_paper():
    judged = build_run()
    made = headline.build_headline_section(build_set(judged))
    told = build_document(judged)
    tables = ("coverage_at_90", "auroc", "ece"), ("accuracy", "f1", "exact_match")
    for table, shown in enumerate(tables):
        named = {row[0]: row[1:] for row in list_rows(made, table)}
        for who, source in [("r4p", told)] + [
            (name.replace("_", " "), told["constant_baselines"][name])
            for name in ("all_correct", "none_correct", "random")
        ]:
            assert named[who] == tuple(
                cell for name in shown for cell in format_cells(read_estimate(source, name))
            )
    assert named["R4P (paper)"][::2] == ("0.722", "0.633", "0.418")
    assert len(list_rows(made)) == 4  # the paper reports none of the first table's metrics
    coverage, accuracy = made.figures
    assert [axes.get_title() for axes in coverage.draw().axes] == [
        "Coverage at 90 %",
        "AUROC",
        "ECE (lower is better)",
    ]
    legends = [axes.get_legend().get_texts() for axes in accuracy.draw().axes]
    assert [[text.get_text() for text in texts] for texts in legends] == [
        ["R4P: 72.2%", "swe-gym-verifier-32b: 61.9%", "r2e-gym-verifier-14b: 60.0%"],
        ["R4P: 63.3%"],
        ["R4P: 41.8%"],
    ]


def test_metrics_equal_the_documents():
    judged = build_run()
    told = build_document(judged)
    assert list_rows(headline.build_metrics_section(build_set(judged))) == tuple(
        (name.replace("_", " "), *format_cells(read_estimate(told, name)))
        for name in metrics.METRICS
    )


def test_runs_are_listed_with_their_sizes():
    (row,) = list_rows(headline.build_runs_section(build_set(build_run(votes=3))))
    correct = str(sum(one.resolved for each in build_run(votes=3) for one in each.patches))
    assert row == (
        "s", "r4p", "local_transformers", "tiny", "3", "8", "8", "32", correct, "no",
    )  # fmt: skip
    sure = [
        replace(each, patches=tuple(replace(one, probability=0.5) for one in each.patches))
        for each in build_run()
    ]
    assert list_rows(headline.build_runs_section(build_set(sure)))[0][-1] == "yes"


def test_partial_run_is_marked_as_not_comparable():
    runs = build_run(), build_run("yes-no", issues=3)
    (one,) = found = build_set(*runs)
    (missing,) = headline.build_runs_section(found).missing
    assert missing.startswith("yes-no on s: judged 3 of the 8 groups that others judged")
    warned = "yes-no: 3 issues, 3 groups, 12 patches. Not the same groups: compare by paired"
    assert warned in one.size
    captions = [figure.caption for made in build_all_sections(*runs) for figure in made.figures]
    assert sum(warned in caption for caption in captions) == len(captions) - 1 > 6
    assert "constants, on the groups of r4p." in captions[0]
    assert headline.build_runs_section(build_set(build_run(), build_run("yes-no"))).missing == ()


def test_equal_counts_of_other_groups_are_marked():
    found = build_set(build_run(issues=1), [build_group("elsewhere", "yes-no")])
    assert "Not the same groups" in found[0].size
    assert (
        "r4p, yes-no on s: judged 1 of the 2 groups"
        in headline.build_runs_section(found).missing[0]
    )


def test_error_rates_are_counted_by_truth():
    judged = [
        make_judged_group("a", (0.9, True), (0.9, False), (0.1, False)),
        make_judged_group("b", (0.1, True), (None, False), (0.9, True)),
    ]
    assert error_types.compute_false_positive_rate(build_columns(judged)) == pytest.approx(1.5 / 3)
    assert error_types.compute_false_negative_rate(build_columns(judged)) == pytest.approx(1 / 3)
    assert list_rows(error_types.build_errors_section(build_set(judged)))[0][:2] == ("r4p", "0.500")


def test_impossible_error_has_no_rate():
    (row,) = list_rows(
        error_types.build_errors_section(build_set([make_judged_group("a", (0.9, True))]))
    )
    assert row == ("r4p", "–", "–", "0.000", "–")
    (row,) = list_rows(
        error_types.build_errors_section(build_set([make_judged_group("a", (0.9, False))]))
    )
    assert row[3:] == ("–", "–")


def test_reliability_has_the_documents_bins():
    judged = build_run()
    section = reliability.build_reliability_section(build_set(judged))
    told = build_document(judged)["reliability"]
    assert [row[1:4] for row in list_rows(section)] == [
        (str(one["patches"]), format_number(one["belief"]), format_number(one["correct"]))
        for one in told
    ]
    assert section.missing[0].startswith("r4p on s: not every patch has a calibrated probability")


def test_reliability_counts_patches_without_a_belief():
    judged = [
        replace(each, patches=(replace(each.patches[0], score=None), *each.patches[1:]))
        for each in build_run(issues=3)
    ]
    section = reliability.build_reliability_section(build_set(judged))
    assert "3 of 12 patches without an opinion stand in no bin" in section.missing[0]
    assert sum(int(row[1]) for row in list_rows(section)) == 9
    silent = [
        replace(each, patches=tuple(replace(one, score=None) for one in each.patches))
        for each in judged
    ]
    assert list_rows(reliability.build_reliability_section(build_set(silent))) == ()


def test_calibrated_run_has_no_note():
    sure = [
        replace(each, patches=tuple(replace(one, probability=one.score) for one in each.patches))
        for each in build_run()
    ]
    assert reliability.build_reliability_section(build_set(sure)).missing == ()


def test_best_at_k_equals_the_documents():
    judged = build_run()
    section = selection_gain.build_selection_section(build_set(judged))
    told = build_document(judged)["best_at_k"]
    assert [(row[1], row[3]) for row in list_rows(section)] == [
        (str(one["k"]), format_number(one["value"])) for one in told
    ]
    truths = [[(float(one.resolved), one.resolved) for one in each.patches] for each in judged]
    oracle = sum(compute_best_at_k(each, 3) for each in truths) / len(truths)
    assert list_rows(section)[2][8] == format_number(oracle)
    assert len({row[7] for row in list_rows(section)}) == 1  # a random pick gains nothing by more
    assert {row[5:7] for row in list_rows(section)} == {("–", "–")}
    assert section.missing == (f"r4p on s: {selection_gain._UNTOLD}",)


def test_majority_is_counted_in_each_draw():
    judged = [set_edits(one, "aabc") for one in build_run()]
    section = selection_gain.build_selection_section(build_set(judged))
    told = build_document(judged)["majority"]
    assert [row[5] for row in list_rows(section)] == [
        format_number(one["value"]) for one in told["best_at_k"]
    ]
    assert list_rows(section)[3][5:7] == format_cells(read_estimate(told, "best_of_group"))
    assert section.missing == ()
    (figure,) = section.figures
    (legend,) = figure.draw().legends
    assert [text.get_text() for text in legend.texts] == ["r4p", "oracle", "majority", "random"]
    assert "oracle, majority, random on the groups of r4p" in figure.caption


def test_groups_of_one_patch_are_reported():
    section = selection_gain.build_selection_section(
        build_set([make_judged_group("a", (0.9, True))])
    )
    assert section.missing[0] == "s: no group has two patches, so there is nothing to choose."


def test_time_equals_the_documents():
    judged = build_run()
    told = build_document(judged)["seconds_per_patch"]
    (row,) = list_rows(timing.build_timing_section(build_set(judged)))
    assert row == ("r4p", *(f"{told[name]:.3g}" for name in ("mean", "p50", "p95")))


def test_counts_have_a_plural():
    assert format_count(1, "patch") == "1 patch"
    assert format_count(1020, "patch") == "1,020 patches"
    assert format_count(0, "issue") == "0 issues"


def test_undefined_number_is_named():
    assert (format_number(None), format_number(-0.0001), format_number(0.12345)) == (
        "–",
        "0.000",
        "0.123",
    )
    made = error_types.build_errors_section(build_set([make_judged_group("a", (0.9, True))]))
    assert "accepts – of the incorrect" in made.figures[0].alt
    assert format_estimate(read_estimate(build_document(build_run()), "accuracy")).count("…") == 1
    assert json.dumps(made.key) == '"errors"'


def test_equal_reasons_are_merged():
    gaps = [Gap("no votes.", *where) for where in (("a", "x"), ("b", "x"), ("a", "y"))]
    assert Section("k", "K", gaps).missing == ("a on x, y: no votes.", "b on x: no votes.")
    gaps += [Gap("no votes.", "b", "y"), Gap("Nothing.")]
    assert Section("k", "K", gaps).missing == ("Nothing.", "a, b on x, y: no votes.")
