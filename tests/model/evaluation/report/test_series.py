"""Run files become series: who is who, on which groups, and what they are called."""

from dataclasses import replace

from model.domain import EngineInfo
from model.evaluation.evaluation_document import build_document
from model.evaluation.report.series import build_sets, clean_name, format_counts
from tests.model.evaluation.report.builders import build_group, build_run


def change_key(judged, **changed):
    """The same, said by somebody else."""
    return [replace(one, key=replace(one.key, **changed)) for one in judged]


def list_labels(*files):
    return [[series.label for series in one.series] for one in build_sets(files)]


def test_files_are_grouped_into_sets_and_verifiers_keep_their_colour():
    found = build_sets(
        [
            ("b.r4p.jsonl", build_run()),
            ("a.consensus.jsonl", [*build_run("consensus"), *build_run("consensus-strict")]),
            ("a.r4p.jsonl", build_run(issues=3)),
            ("alone.jsonl", build_run("yes-no")),
        ]
    )
    assert [one.name for one in found] == ["a", "alone", "b"]
    assert [series.label for series in found[0].series] == ["consensus", "consensus-strict", "r4p"]
    assert found[0].series[2].colour == found[2].series[0].colour
    assert len({series.colour for one in found for series in one.series}) == 4
    assert found[0].largest.label == "consensus"
    assert found[2].series[0].document == build_document(build_run())


def test_group_judged_twice_counts_once():
    (one,) = build_sets([("a.r4p.jsonl", build_run()), ("a.again.jsonl", build_run())])
    assert [len(series.judged) for series in one.series] == [8]
    assert one.size == "8 issues, 8 groups, 32 patches."


def test_label_tells_runs_of_a_verifier_apart():
    other = EngineInfo("local_transformers", "larger", "f0")
    worded = EngineInfo("local_transformers", "tiny", "f1")
    assert list_labels(("a.r4p.jsonl", build_run())) == [["r4p"]]
    assert list_labels(("a.r4p.jsonl", [*build_run(votes=1), *build_run(votes=3)])) == [
        ["r4p, 1 votes", "r4p, 3 votes"]
    ]
    assert list_labels(("a.r4p.jsonl", [*build_run(), *change_key(build_run(), engine=other)])) == [
        ["r4p, larger", "r4p, tiny"]
    ]
    assert list_labels(
        ("a.r4p.jsonl", [*build_run(), *change_key(build_run(), engine=worded)])
    ) == [["r4p, prompt f0", "r4p, prompt f1"]]


def test_slugs_are_unique_file_names():
    files = [
        (f"{name}.r4p.jsonl", build_run(issues=1)) for name in ("a b", "a/b", "a:b", "..", "Ä")
    ]
    slugs = [one.slug for one in build_sets(files)]
    assert sorted(slugs) == ["a-b", "a-b.2", "a-b.3", "groups", "groups.2"]


def test_untrusted_name_is_short_and_escaped():
    assert clean_name("octo/\u202eapp\n") == "octo/⟦U+202E⟧app"
    assert clean_name("x" * 100) == "x" * 59 + "…"


def test_equal_counts_are_merged():
    assert format_counts([("a", "2 issues"), ("b", "2 issues")]) == "2 issues."
    assert format_counts([("a", "2"), ("b", "3"), ("c", "2")]) == "a, c: 2; b: 3."


def test_series_numbers_the_issue_of_each_patch():
    judged = [build_group("a"), build_group("b")]
    (one,) = build_sets([("s.r4p.jsonl", judged)])
    assert list(one.series[0].issue) == [0] * 4 + [1] * 4
