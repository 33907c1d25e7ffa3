"""Run files become series: who is who, on which groups, and what they are called."""

from dataclasses import replace

from model.domain import EngineInfo
from model.evaluation.evaluation_document import build_document
from model.evaluation.report.series import build_sets, clean_name, format_counts
from tests.model.evaluation.report.builders import group, run


def by(judged, **changed):
    """The same, said by somebody else."""
    return [replace(one, key=replace(one.key, **changed)) for one in judged]


def labels(*files):
    return [[series.label for series in one.series] for one in build_sets(files)]


def test_files_of_one_set_stand_together_and_a_verifier_keeps_its_colour():
    found = build_sets(
        [
            ("b.r4p.jsonl", run()),
            ("a.consensus.jsonl", [*run("consensus"), *run("consensus-strict")]),
            ("a.r4p.jsonl", run(issues=3)),
            ("alone.jsonl", run("yes-no")),
        ]
    )
    assert [one.name for one in found] == ["a", "alone", "b"]
    assert [series.label for series in found[0].series] == ["consensus", "consensus-strict", "r4p"]
    assert found[0].series[2].colour == found[2].series[0].colour
    assert len({series.colour for one in found for series in one.series}) == 4
    assert found[0].largest.label == "consensus"
    assert found[2].series[0].document == build_document(run())


def test_a_group_that_was_judged_twice_counts_once():
    (one,) = build_sets([("a.r4p.jsonl", run()), ("a.again.jsonl", run())])
    assert [len(series.judged) for series in one.series] == [8]
    assert one.size == "8 issues, 8 groups, 32 patches."


def test_a_label_says_what_tells_runs_of_a_verifier_apart():
    other = EngineInfo("local_transformers", "larger", "f0")
    worded = EngineInfo("local_transformers", "tiny", "f1")
    assert labels(("a.r4p.jsonl", run())) == [["r4p"]]
    assert labels(("a.r4p.jsonl", [*run(votes=1), *run(votes=3)])) == [
        ["r4p, 1 votes", "r4p, 3 votes"]
    ]
    assert labels(("a.r4p.jsonl", [*run(), *by(run(), engine=other)])) == [
        ["r4p, larger", "r4p, tiny"]
    ]
    assert labels(("a.r4p.jsonl", [*run(), *by(run(), engine=worded)])) == [
        ["r4p, prompt f0", "r4p, prompt f1"]
    ]


def test_slugs_are_fit_for_file_names_and_never_collide():
    files = [(f"{name}.r4p.jsonl", run(issues=1)) for name in ("a b", "a/b", "a:b", "..", "Ä")]
    slugs = [one.slug for one in build_sets(files)]
    assert sorted(slugs) == ["a-b", "a-b.2", "a-b.3", "groups", "groups.2"]


def test_a_name_from_outside_is_short_and_shows_what_is_hidden_in_it():
    assert clean_name("octo/\u202eapp\n") == "octo/⟦U+202E⟧app"
    assert clean_name("x" * 100) == "x" * 59 + "…"


def test_counts_are_told_once_where_they_are_alike():
    assert format_counts([("a", "2 issues"), ("b", "2 issues")]) == "2 issues."
    assert format_counts([("a", "2"), ("b", "3"), ("c", "2")]) == "a, c: 2; b: 3."


def test_a_series_knows_the_issue_of_each_patch():
    judged = [group("a"), group("b")]
    (one,) = build_sets([("s.r4p.jsonl", judged)])
    assert list(one.series[0].issue) == [0] * 4 + [1] * 4
