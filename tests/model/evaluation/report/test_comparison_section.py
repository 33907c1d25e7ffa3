"""Comparisons of verifiers in the report: paired differences, and group-wise against pointwise."""

from dataclasses import replace

from model.evaluation import metrics
from model.evaluation.judgement_columns import build_columns
from model.evaluation.report.content import format_number
from model.evaluation.report.sections import comparison
from tests.model.evaluation.report.builders import build_group, build_run, build_set, list_rows


def test_differences_are_paired_on_common_groups():
    one, other = build_run(issues=8), build_run("pointwise", issues=5)
    section = comparison.build_differences_section(build_set(one, other))
    first = list_rows(section)[0]
    assert first[:4] == ("pointwise − r4p", "accuracy", "5", "20")
    right = [metrics.compute_accuracy(build_columns(judged[:5])) for judged in (other, one)]
    assert first[4] == format_number(right[0] - right[1])
    assert section.missing == ()


def test_caption_counts_groups_of_each_pair():
    section = comparison.build_differences_section(
        build_set(build_run(issues=3), build_run("pointwise"), build_run("consensus"))
    )
    assert "consensus − pointwise: 8 issues" in section.figures[0].caption
    assert "consensus − r4p, pointwise − r4p: 3 issues" in section.figures[0].caption


def test_verifiers_without_common_groups_are_reported():
    section = comparison.build_differences_section(
        build_set(build_run(), [build_group("elsewhere", "pointwise")])
    )
    assert section.figures == section.tables == ()
    assert section.missing == (
        "s: no two verifiers judged the same groups, so there is nothing to compare.",
    )


def test_group_wise_is_compared_with_pointwise_of_the_same_model():
    same = comparison.build_group_wise_section(
        build_set(build_run(), build_run("pointwise"), build_run("consensus"))
    )
    assert [row[0] for row in list_rows(same)] == ["r4p", "pointwise", "r4p − pointwise"]
    assert same.missing == ()
    other = [
        replace(one, key=replace(one.key, engine=replace(one.key.engine, model="larger")))
        for one in build_run("pointwise")
    ]
    unlike = comparison.build_group_wise_section(build_set(build_run(), other))
    assert unlike.figures == ()
    assert unlike.missing[0].startswith("s: no run of r4p and pointwise with one model")
    twice = comparison.build_group_wise_section(
        build_set(build_run(votes=1), build_run(votes=2), build_run("pointwise"))
    )
    assert [one.name for one in twice.figures] == ["group-wise-s", "group-wise-s-2"]
