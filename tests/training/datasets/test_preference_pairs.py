from dataclasses import replace

from tests.builders import tiny_model
from training.datasets.preference_pairs import build_preferences

GROUP = replace(tiny_model.groups(1)[0], targets=(0.9, 0.1, None, 0.6))


def test_each_correct_patch_is_paired_with_each_that_is_not():
    found = build_preferences([GROUP])
    first, second, _, fourth = GROUP.patches
    assert [(one.better, one.worse) for one in found] == [(first, second), (fourth, second)]
    assert [round(one.margin, 9) for one in found] == [0.8, 0.5]
    assert {one.issue for one in found} == {GROUP.issue}


def test_a_pair_of_several_groups_is_one_pair():
    assert len(build_preferences([GROUP, replace(GROUP, key="again")])) == 2


def test_padding_and_groups_of_one_sort_make_no_pair():
    padded = replace(GROUP, patches=(GROUP.patches[0], "", "", ""), targets=(1.0, 0.0, 0.0, None))
    assert build_preferences([padded, replace(GROUP, targets=(1.0,) * 4)]) == []
