"""Breakdowns in the report by edited lines, similarity of rivals, and repository."""

from dataclasses import replace

from model.evaluation.report.sections import breakdown
from tests.model.evaluation.builders import make_judged_group
from tests.model.evaluation.report.builders import build_group, build_run, build_set, list_rows


def test_bins_of_edited_lines_have_their_bounds():
    judged = build_run()
    lines = (0, 3, 6, 11, 26)
    patches = [
        replace(one, edited_lines=count)
        for one, count in zip(judged[0].patches, lines, strict=False)
    ]
    whole = [replace(judged[0], patches=(*patches, replace(patches[0], edited_lines=26)))]
    section = breakdown.build_lines_section(build_set(whole))
    assert [row[:2] for row in list_rows(section)] == [
        ("0–2", "1"), ("3–5", "1"), ("6–10", "1"), ("11–25", "1"), ("26+", "1"),
    ]  # fmt: skip
    assert section.missing == ()


def test_patches_without_lines_or_rivals_are_in_no_bin_with_a_note():
    alone = replace(
        make_judged_group("a", (0.9, True)),
        patches=(replace(make_judged_group("a", (0.9, True)).patches[0], edited_lines=None),),
    )
    lines = breakdown.build_lines_section(build_set([alone]))
    assert [row[1] for row in list_rows(lines)] == ["0"] * 5
    assert lines.missing == ("s: 1 patch without a number of lines: no unified diff.",)
    similar = breakdown.build_similarity_section(build_set([alone]))
    assert similar.missing == ("s: 1 patch without a rival, and so without a similarity.",)


def test_similarity_bins_use_the_groups_similarity():
    section = breakdown.build_similarity_section(build_set(build_run(issues=5)))
    assert [row[1] for row in list_rows(section)] == ["4"] * 5
    assert section.missing == ()


def test_repositories_are_sorted_by_size_and_small_ones_pooled():
    judged = [build_group(f"i{at}", repo=f"octo/{at:02}") for at in range(14)]
    judged.append(build_group("more", repo="octo/13"))
    section = breakdown.build_repository_section(build_set(judged))
    assert [row[:2] for row in list_rows(section)][:2] == [("octo/13", "8"), ("octo/00", "4")]
    assert list_rows(section)[-1][:2] == ("2 others", "8")
    few = breakdown.build_repository_section(build_set(judged[:2]))
    assert [row[0] for row in list_rows(few)] == ["octo/00", "octo/01"]
